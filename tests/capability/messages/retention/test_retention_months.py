"""Whole messages go after their days, on PostgreSQL by the month; the ledger stays, and its proof
knows where the messages begin.
"""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph import wallet
from heliograph.audit.audit import audit
from heliograph.audit.charges import verify_charges
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.base.paging import first_id_of
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.jobs import retention
from heliograph.messages.groups import open_group
from heliograph.messages.retention import partitions as months
from heliograph.messages.retention.retention import MESSAGES, first_kept, read_retention
from heliograph.messages.tables import messages, operator_decisions, queue, sends, tallies
from heliograph.wallet.tables import ledger_entries
from tests.support.capability.cast import account
from tests.support.capability.charges import send
from tests.support.capability.partitions import make_partitions
from tests.support.factories import awaited

FORTY = read_retention(None, 40)


@pytest.fixture(params=["sqlite", "postgresql"])
def db(request: pytest.FixtureRequest, new_database: Callable[[str], str]) -> Iterator[Database]:
    """Yields a database of the test's own: others would miss its months."""
    database = Database(new_database(request.param))
    yield database
    database.close()


def days_ago(days: int) -> int:
    return clock.now_ms() - days * DAY_MS


@awaited
async def retained(db: Database, days: int = 40) -> None:
    try:
        await retention.retain(db, read_retention(30, days))
    finally:
        await db.close_hot()


def with_month(db: Database, at_ms: int) -> None:
    if db.postgresql:
        with db.write() as tx:
            make_partitions(tx, at_ms)


def kept(db: Database) -> list[str]:
    """Returns the ids of the sends that are there, each of which has its messages."""
    with db.read() as tx:
        of_messages = (
            tx.execute(sa.select(messages.c.send_id).distinct().order_by(messages.c.send_id))
            .scalars()
            .all()
        )
        found = list(tx.execute(sa.select(sends.c.id).order_by(sends.c.id)).scalars())
    assert of_messages == found
    return found


def assert_proven(db: Database) -> None:
    with db.read() as tx:
        read_one_snapshot(tx)
        assert (wallet.verify(tx), verify_charges(tx)) == ([], [])


def ledger(db: Database) -> list[tuple[object, ...]]:
    with db.read() as tx:
        return [
            tuple(row)
            for row in tx.execute(sa.select(ledger_entries).order_by(ledger_entries.c.id))
        ]


def test_what_is_older_than_its_days_goes_and_the_ledger_stays(db: Database) -> None:
    owner = account(db, "amina", credits=1_000)
    with_month(db, days_ago(100))
    # the first finds no month on PostgreSQL
    old = [send(db, owner.id, [(2, 0), (2, 1)], at_ms=days_ago(days)) for days in (200, 100, 75)]
    new = [send(db, owner.id, [(3, 3)], at_ms=days_ago(days)) for days in (39, 1)]
    with db.write() as tx:
        for send_id in (old[1], new[0]):
            tx.execute(
                operator_decisions.insert().values(
                    id=send_id,
                    message_id=ids.raw_of_number(int(send_id, 16) + 1),
                    carrier_id=1,
                    parts=1,
                    decision="sent",
                    decided_by="amina",
                    reason="",
                    decided_at_ms=1,
                )
            )
    before = ledger(db)
    retained(db)
    assert kept(db) == sorted(new)
    with db.read() as tx:
        assert tx.execute(sa.select(operator_decisions.c.id)).scalars().all() == [new[0]]
    assert ledger(db) == before
    assert_proven(db)
    with db.read() as tx:
        deleted = ids.raw_of_number(int(old[1], 16) + 1)
        assert audit(tx, accepted=[deleted]).figures["messages"] == len(new)
        assert not [
            finding
            for finding in audit(tx, accepted=[deleted]).findings
            if finding.where == ids.text_of_raw("msg", deleted)
        ]


def test_what_still_waits_is_kept_with_all_that_is_younger(db: Database) -> None:
    owner = account(db, "amina", credits=1_000)
    with_month(db, days_ago(100))
    old = [send(db, owner.id, [(2, 0)], at_ms=days_ago(days)) for days in (110, 100)]
    first = ids.raw_of_number(int(old[1], 16) + 1)
    waits = {
        "carrier_id": 1,
        "rank_us": 1,
        "first_id": first,
        "count": 1,
        "send_id": old[1],
        "segments": 1,
        "prefix": "",
        "attempt": 1,
        "not_before_ms": 0,
        "expires_at_ms": 1,
    }
    with db.write() as tx:
        tx.execute(queue.insert().values(waits))
    retained(db)
    assert old[1] in kept(db)
    with db.write() as tx:
        tx.execute(queue.delete())
    retained(db)
    assert kept(db) == []


def test_what_a_campaign_has_cost_is_proven_by_its_tally_when_some_of_it_is_deleted(
    db: Database,
) -> None:
    owner = account(db, "amina", credits=1_000)
    with_month(db, days_ago(100))
    campaign_id = ids.raw_of_number(ids.new_number(days_ago(101)))
    chunks = [send(db, owner.id, [(2, 0), (2, 1)], at_ms=days_ago(days)) for days in (100, 1)]
    with db.write() as tx:
        group_id = open_group(tx, owner.id, campaign_id, sandbox=False)
        tx.execute(
            tallies.insert().values(
                group_id=group_id,
                slot=0,
                queued=0,
                sent=2,
                delivered=0,
                failed=2,
                segments=4,
                credits=6,
            )
        )
        tx.execute(sends.update().values(group_id=group_id))
        tx.execute(
            ledger_entries.update()
            .where(ledger_entries.c.type.in_(("sms_charge", "sms_refund")))
            .values(reference=ids.text_of_raw("cmp", campaign_id))
        )
    assert_proven(db)
    retained(db)
    assert kept(db) == [chunks[1]]
    assert_proven(db)
    with db.write() as tx:
        tx.execute(tallies.update().values(credits=7))
    with db.read() as tx:
        assert [ids.text_of_raw("cmp", campaign_id) in what for _, what in verify_charges(tx)] == [
            True
        ]


@awaited
async def test_a_month_that_somebody_reads_goes_later_and_one_whose_drop_was_killed_too(
    new_database: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    db = Database(new_database("postgresql"))
    monkeypatch.setattr(retention, "DETACH_TRIES", 1)
    monkeypatch.setattr(retention, "DETACH_AGAIN_S", 0)
    owner = account(db, "amina", credits=1_000)
    with_month(db, days_ago(100))
    old = send(db, owner.id, [(2, 0)], at_ms=days_ago(100))
    with db.read() as tx:
        tx.execute(sa.select(messages)).all()
        await retention.retain(db, FORTY)
        assert tx.execute(sa.select(sends.c.id)).scalars().all() == [old]
    until = first_id_of(days_ago(40))
    async with db.hot() as tx:
        oldest, *_ = await months.old_months(tx, until)
        month = oldest.name
        assert oldest.is_attached
        await months.detach(tx, month)
    assert_proven(db)  # it is killed here: the month is no part any more, and there still
    async with db.hot() as tx:
        assert months.StoredMonth(month, False) in await months.old_months(tx, until)
    await retention.retain(db, FORTY)
    async with db.hot() as tx:
        assert await months.old_months(tx, until) == []
    assert kept(db) == []
    assert_proven(db)
    await db.close_hot()
    db.close()


PAID = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda paid: (max(paid), min(paid)))
HISTORY = st.lists(
    st.tuples(st.integers(0, 120), st.lists(PAID, min_size=1, max_size=4), st.booleans()),
    max_size=6,
)


def test_whatever_was_sent_the_books_agree_whatever_is_deleted(db: Database) -> None:
    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    @given(HISTORY, st.integers(40, 110))
    def holds(history: list[tuple[int, list[tuple[int, int]], bool]], days: int) -> None:
        owner = account(db, f"amina {ids.new('acc')}", credits=1_000)
        with db.read() as tx:
            gone_ms = ids.made_at_ms(int(first_kept(tx, MESSAGES), 16))
        # nobody sends in the past
        for days_old, paid, sandbox in sorted(
            sent for sent in history if days_ago(sent[0]) > gone_ms
        ):
            with_month(db, days_ago(days_old))
            send(
                db,
                owner.id,
                [(0, 0) for _ in paid] if sandbox else paid,
                at_ms=days_ago(days_old),
                sandbox=sandbox,
            )
        before = ledger(db)
        retained(db, days)
        first = first_id_of(days_ago(days))
        assert all(int(send_id, 16) >= int(first, 16) for send_id in kept(db)) or db.postgresql
        assert ledger(db) == before
        assert_proven(db)

    holds()
