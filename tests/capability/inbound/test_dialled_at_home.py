"""Accounts of two countries share a number, and a carrier leaves the country code out: a STOP opts
out the phone that was texted, and no other.
"""

from itertools import count
from typing import NamedTuple

import pytest
import sqlalchemy as sa

from heliograph import senders
from heliograph.base import clock
from heliograph.base.clock import HOUR_MS
from heliograph.database.hot import run_in
from heliograph.inbound import add_number
from heliograph.inbound.keywords import KeywordOwner, save_keyword_for
from heliograph.inbound.receive.record import record
from heliograph.inbound.tables import inbound
from heliograph.opt_outs import OptOutOwner
from heliograph.opt_outs.read import opt_outs_of
from tests.support.capability.inbox import Inbox, written
from tests.support.capability.sent_messages import store_sent
from tests.support.factories import open_account
from tests.support.wire.handset_texts import PHONE, SHORT_CODE

SHARED = "4568"
next_digest = count(1)
AT_HOME = "0712345678"
IN_KENYA, IN_GHANA, IN_NIGERIA = "254712345678", "233712345678", "2340712345678"


class Sharing:
    """Stands for a number that amina in Ghana and bilal in Kenya share, and what comes to it. Chidi
    in Nigeria may not send from it.
    """

    def __init__(self, inbox: Inbox, catch_all: str | None) -> None:
        self.inbox = inbox
        bilal = open_account(inbox.db, "bilal", country_code="KE")
        chidi = open_account(inbox.db, "chidi", country_code="NG")
        self.tenants = {"amina": inbox.amina_id, "bilal": bilal, "chidi": chidi}
        now_ms = clock.now_ms()
        with inbox.db.write() as tx:
            caught_by = None if catch_all is None else self.tenants[catch_all]
            add_number(tx, SHARED, "carrier", None, catch_all_id=caught_by, now_ms=now_ms)
            for account_id in (inbox.amina_id, bilal):
                senders.register(tx, account_id, SHARED, sandbox=False, now_ms=now_ms)
            basta = {"keyword": "Basta", "number": SHARED, "action": "opt_out"}
            save_keyword_for(tx, KeywordOwner(bilal, False), basta, None, now_ms)

    def texts(self, tenant: str, phone: str, ago_ms: int) -> None:
        with self.inbox.db.write() as tx:
            at_ms = clock.now_ms() - ago_ms
            store_sent(tx, self.tenants[tenant], SHARED, phone, at_ms=at_ms)

    def came(self, words: str, sender: str = AT_HOME, to: str = SHARED) -> None:
        """Brings a text. The carrier says of a sender without a 0 that it is a national number."""
        arrived = written(
            words, next(next_digest), to=to, sender=sender, is_national=sender[:1] != "0"
        )
        with self.inbox.db.write() as tx:
            carrier_id, now_ms = self.inbox.carrier_id, clock.now_ms()
            run_in(tx, lambda hot: record(hot, carrier_id, [arrived], now_ms))

    def opted_out(self) -> set[tuple[str, str]]:
        """Returns who may not text which phone."""
        with self.inbox.db.read() as tx:
            return {
                (name, phone)
                for name, account_id in self.tenants.items()
                for phone in (IN_KENYA, IN_GHANA, IN_NIGERIA)
                if opt_outs_of(tx, OptOutOwner(account_id, False), phone)
            }

    def senders(self) -> list[str]:
        query = sa.select(inbound.c.sender).order_by(inbound.c.id)
        with self.inbox.db.read() as tx:
            return [str(sender) for sender in tx.scalars(query)]


class Stop(NamedTuple):
    """Describes a STOP from AT_HOME: who had texted which phone, oldest first, and what it does."""

    catch_all: str | None
    texted: list[tuple[str, str, int]]  # with how long ago it was
    opted_out: set[tuple[str, str]]
    sender: str


STOPS = {
    "the_phone_that_was_texted_goes_before_the_catch_all": Stop(
        "amina", [("bilal", IN_KENYA, HOUR_MS)], {("bilal", IN_KENYA)}, IN_KENYA
    ),
    "a_catch_all_is_not_needed": Stop(
        None, [("bilal", IN_KENYA, HOUR_MS)], {("bilal", IN_KENYA)}, IN_KENYA
    ),
    "the_country_of_the_catch_all_counts_too": Stop(
        "chidi", [("bilal", IN_NIGERIA, HOUR_MS)], {("bilal", IN_NIGERIA)}, IN_NIGERIA
    ),
    "who_texted_abroad_is_answered_from_there": Stop(
        None, [("amina", IN_KENYA, HOUR_MS)], {("amina", IN_KENYA)}, IN_KENYA
    ),
    "the_last_of_two_phones_is_kenyan": Stop(
        "amina",
        [("amina", IN_GHANA, 2 * HOUR_MS), ("bilal", IN_KENYA, HOUR_MS)],
        {("bilal", IN_KENYA)},
        IN_KENYA,
    ),
    "the_last_of_two_phones_is_ghanaian": Stop(
        "bilal",
        [("bilal", IN_KENYA, 2 * HOUR_MS), ("amina", IN_GHANA, HOUR_MS)],
        {("amina", IN_GHANA)},
        IN_GHANA,
    ),
    "whoever_texted_long_ago_may_be_meant_too": Stop(
        "amina",
        [("bilal", IN_KENYA, 73 * HOUR_MS)],
        {("amina", IN_GHANA), ("bilal", IN_KENYA)},
        IN_GHANA,
    ),
    "nobody_was_texted": Stop("amina", [], {("amina", IN_GHANA)}, IN_GHANA),
    "nobody_was_texted_and_nobody_catches_it": Stop(None, [], set(), AT_HOME),
}


@pytest.mark.parametrize(
    ("stop", "sender"),
    [
        pytest.param(stop, sender, id=f"{name}_{sender}")
        for name, stop in STOPS.items()
        for sender in (AT_HOME, AT_HOME[1:])
        if sender == AT_HOME or stop.sender != IN_NIGERIA  # without the 0 it is another phone
    ],
)
def test_a_stop_written_as_at_home_opts_out_the_phone_that_was_texted(
    inbox: Inbox, stop: Stop, sender: str
) -> None:
    sharing = Sharing(inbox, stop.catch_all)
    for tenant, phone, ago_ms in stop.texted:
        sharing.texts(tenant, phone, ago_ms)
    sharing.came("STOP", sender)
    assert sharing.opted_out() == stop.opted_out
    assert sharing.senders() == [sender if stop.sender == AT_HOME else stop.sender]
    inbox.db.close()


@pytest.mark.parametrize("catch_all", ["amina", "bilal", None])
def test_an_own_word_is_of_the_phone_in_its_accounts_country(
    inbox: Inbox, catch_all: str | None
) -> None:
    sharing = Sharing(inbox, catch_all)
    sharing.came("basta")
    assert sharing.opted_out() == {("bilal", IN_KENYA)}
    sharing.texts("amina", IN_GHANA, HOUR_MS)  # now a message says which phone it is
    sharing.came("basta")
    assert sharing.opted_out() == {("bilal", IN_KENYA), ("bilal", IN_GHANA)}
    assert sharing.senders() == [IN_KENYA, IN_GHANA]
    inbox.db.close()


def test_a_number_that_a_carrier_calls_national_is_read_so_if_it_is_one(inbox: Inbox) -> None:
    sharing = Sharing(inbox, None)
    for sender, read in (
        ("201234567", PHONE),  # else a phone in Egypt
        (IN_KENYA, IN_KENYA),
        (IN_GHANA, IN_GHANA),
        ("4567", "4567"),
        ("AMINA", "AMINA"),
    ):
        sharing.came("hello", sender, to=SHORT_CODE)
        assert sharing.senders()[-1] == read
    sharing.came("basta", AT_HOME[1:])
    assert sharing.opted_out() == {("bilal", IN_KENYA)}
    inbox.db.close()


def test_a_sender_with_the_prefix_for_abroad_needs_no_country(inbox: Inbox) -> None:
    sharing = Sharing(inbox, None)
    sharing.texts("bilal", IN_GHANA, HOUR_MS)
    sharing.came("STOP", sender=f"00{IN_GHANA}")
    assert sharing.opted_out() == {("bilal", IN_GHANA)}
    inbox.db.close()
