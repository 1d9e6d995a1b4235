"""Compares the texts that a carrier's handsets wrote with those that are stored."""

from collections import Counter
from typing import Final, NamedTuple

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.inbound import add_number
from heliograph.inbound.tables import inbound
from tests.support.faults.carriers import CarrierUnderTest
from tests.support.faults.deployment import Deployment

SHORT_CODE: Final = "4567"  # where `heliograph smsc --mo-rate` writes to


class TextsSeen(NamedTuple):
    """Counts the texts of handsets. Each is of another phone, so phones tell them apart."""

    written: int
    taken: int  # the carrier was answered that they are stored
    stored: int
    lost: int  # taken, and not stored
    twice: int
    again: int  # PDUs that the carrier had sent before


def own_number(deployment: Deployment, carrier: CarrierUnderTest) -> None:
    """Gives the account the number that the carrier's handsets write to."""
    with deployment.db.write() as tx:
        add_number(tx, SHORT_CODE, carrier.name, deployment.account_id, now_ms=clock.now_ms())


def taken(carrier: CarrierUnderTest) -> Counter[str]:
    """Returns how often each phone's text was answered with ESME_ROK."""
    return Counter(
        event["sender"] for event in carrier.events("text_answered") if event["status"] == 0
    )


def stored(deployment: Deployment) -> Counter[str]:
    """Returns how many texts of each phone are stored."""
    with deployment.db.read() as tx:
        return Counter(tx.execute(sa.select(inbound.c.sender)).scalars())


def compared(deployment: Deployment, carrier: CarrierUnderTest) -> TextsSeen:
    """Returns what has become of all texts. Those that are stored must have been written, for this
    account.
    """
    written = {event["sender"] for event in carrier.events("text")}
    there, told = stored(deployment), taken(carrier)
    assert set(there) <= written, "stored, and never written"
    with deployment.db.read() as tx:
        owners = set(tx.execute(sa.select(inbound.c.account_id)).scalars())
        again = tx.execute(sa.select(sa.func.sum(inbound.c.repeats))).scalar_one()
    assert owners == {deployment.account_id}
    return TextsSeen(
        len(written),
        len(told),
        len(there),
        lost=len(set(told) - set(there)),
        twice=there.total() - len(there),
        again=int(again),
    )
