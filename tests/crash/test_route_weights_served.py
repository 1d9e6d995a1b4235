"""`heliograph serve` sends texts over two carriers which share a route by weight."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.carriers import pause_carrier
from heliograph.database.database import Database
from heliograph.messages.accept import look_up_route
from heliograph.messages.accept.pricing import STRETCH
from heliograph.messages.tables import messages
from heliograph.text import parse_phone
from tests.support.crash.processes import ServerProcess
from tests.support.crash.remembering_smsc import RememberingSmsc, remembering_smsc
from tests.support.crash.sends import send
from tests.support.factories import (
    issue_key,
    open_account,
    open_carrier,
    open_route,
    phones,
)

SINGLE = phones(40)
MANY = phones(6 * STRETCH, first=5_000)
LATER = phones(3 * STRETCH, first=9_000)
WITHIN_S = 30.0


def arrived(count: int, *smscs: RememberingSmsc) -> list[set[str]]:
    """Returns whom each of them was given, when so many texts have arrived."""
    until_s = time.monotonic() + WITHIN_S
    while sum(len(smsc.submits) for smsc in smscs) < count:
        assert time.monotonic() < until_s, [len(smsc.submits) for smsc in smscs]
        time.sleep(0.02)
    assert sum(len(smsc.submits) for smsc in smscs) == count
    return [{submit.recipient for submit in smsc.submits} for smsc in smscs]


def chosen(db: Database, number: str) -> int:
    phone = parse_phone(number)
    assert phone is not None
    with db.read() as tx:
        return look_up_route(tx, phone, None, now_ms=clock.now_ms()).carrier_id


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_carriers_share_a_route_and_one_takes_all_while_the_other_is_paused(
    kind: str, new_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = new_database(kind)
    db = Database(url)
    with remembering_smsc() as a, remembering_smsc() as b:
        ids = [
            open_carrier(db, name, port=smsc.port, prefix=None)
            for name, smsc in (("mtn-a", a), ("mtn-b", b))
        ]
        open_route(db, "mtn-a:60", "mtn-b:40", "simulator")
        key = issue_key(db, open_account(db, credits=10_000))
        server = ServerProcess(url, tmp_path)
        try:
            server.wait_until_ready()
            for phone in SINGLE:
                send(server, key, [phone])
            send(server, key, MANY)
            taken = arrived(len(SINGLE) + len(MANY), a, b)
            assert not taken[0] & taken[1], "each text went out once"
            for phone in SINGLE:
                assert phone in taken[ids.index(chosen(db, phone))]
            for first in range(0, len(MANY), STRETCH):
                stretch = set(MANY[first : first + STRETCH])
                assert stretch <= taken[ids.index(chosen(db, MANY[first]))]
            assert all(each & set(SINGLE) for each in taken), "both had a part of single sends"
            assert all(each & set(MANY) for each in taken), "both had a part of the large send"
            with db.read() as tx:
                for carrier_id, each in zip(ids, taken, strict=True):
                    found = sa.select(messages.c.recipient).where(
                        messages.c.carrier_id == carrier_id
                    )
                    assert set(map(str, tx.execute(found).scalars())) == each
            with db.write() as tx:
                pause_carrier(tx, "mtn-a")
            send(server, key, LATER)
            assert set(LATER) <= arrived(len(SINGLE) + len(MANY) + len(LATER), a, b)[1]
        finally:
            assert server.end() == 0
    db.close()
