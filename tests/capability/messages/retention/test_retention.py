"""Texts and numbers are erased after their days, and not while they are needed; what proves the
books goes on proving them.
"""

from pathlib import Path

import pytest
import sqlalchemy as sa

from heliograph import campaigns, plugin, webhooks
from heliograph.audit.audit import audit
from heliograph.audit.events import verify_events
from heliograph.base import clock, ids, metrics
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import InsufficientCredits
from heliograph.campaigns.advance import Advancer
from heliograph.campaigns.states import WrongState
from heliograph.campaigns.tables import campaigns as campaign_table
from heliograph.carriers import ReceiptState
from heliograph.contacts import stored_import
from heliograph.database import pruning as batches
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.database.pruning import ROWS_AT_ONCE
from heliograph.jobs import pruning, retention
from heliograph.messages.accept import Chunker
from heliograph.messages.read.message import as_record, message_of
from heliograph.messages.reports.count_rollups import mark_again
from heliograph.messages.retention.retention import (
    NOTHING,
    TEXTS,
    RetentionTimes,
    first_kept,
    read_retention,
)
from heliograph.messages.tables import messages, operator_decisions, sends
from heliograph.wallet import ledger
from heliograph.webhooks.tables import webhook_events
from tests.support.capability.campaigns import (
    add_contacts,
    now,
    write_down,
    write_down_file,
    written,
)
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint
from tests.support.crash.processes import ServerProcess
from tests.support.factories import PHONE, awaited, phones
from tests.support.polling import wait_until

WEEK = read_retention(7, None)
AFTER_A_WEEK_MS = 7 * DAY_MS + 1_000


async def delivered(house: House, to: str = PHONE, **more: object) -> None:
    link = await house.submitted(to, **more)  # type: ignore[arg-type]
    link.receive(link.answer(*link.open.values())[0], to, ReceiptState.DELIVRD)
    await link.turn.run_once()


def texts(house: House) -> list[tuple[int | None, str | None]]:
    """Returns number and text of each message."""
    with house.db.read() as tx:
        query = sa.select(messages.c.recipient, sends.c.text).join_from(
            messages, sends, sends.c.id == messages.c.send_id
        )
        return [(row[0], row[1]) for row in tx.execute(query.order_by(messages.c.id))]


def assert_proven(house: House) -> None:
    house.assert_sound()
    with house.db.read() as tx:
        read_one_snapshot(tx)
        assert (verify_events(tx, clock.now_ms()), audit(tx).findings) == ([], [])


@awaited
async def test_texts_and_numbers_go_after_their_days_and_all_else_stays_as_it_was(
    house: House,
) -> None:
    endpoint(house.db, house.amina_id, age_ms=DAY_MS)
    await delivered(house, reference="order-17")
    clock.move(by_ms=60_000)
    await delivered(house, to="233201234568")
    row = house.messages()[0]
    with house.db.write() as tx:
        tx.execute(
            operator_decisions.insert().values(
                id=row.id,
                message_id=row.id,
                carrier_id=1,
                parts=1,
                decision="sent",
                decided_by="amina",
                reason=f"they said {PHONE} has it",
                decided_at_ms=1,
            )
        )
        before = as_record(
            message_of(tx, house.amina_id, ids.text_of_raw("msg", row.id), sandbox=False)
        )
    clock.move(by_ms=AFTER_A_WEEK_MS - 60_000)
    await retention.retain(house.db, WEEK)
    assert texts(house) == [(None, None), (233201234568, "hello")]
    with house.db.read() as tx:
        assert as_record(
            message_of(tx, house.amina_id, ids.text_of_raw("msg", row.id), sandbox=False)
        ) == before | {"message": None, "recipient": None}
        assert tx.execute(sa.select(operator_decisions.c.reason)).scalars().all() == [""]
    assert_proven(house)


@awaited
async def test_what_is_queued_in_flight_or_in_doubt_keeps_its_text_however_old_it_is(
    house: House,
) -> None:
    """The server stood still for longer than the days: what it left behind is settled first."""
    await house.send(phones(3), text="x" * 200)
    link = house.turn(window=2)
    await link.turn.run_once()
    # behind those in the same queue: younger than they are
    await delivered(house, to="233201234568")
    clock.move(by_ms=AFTER_A_WEEK_MS)
    before = texts(house)
    await retention.retain(house.db, WEEK)
    assert texts(house) == before
    link.answer(*link.open.values())
    while link.open or await_more(house):
        await link.turn.run_once()
        link.answer(*link.open.values())
    await retention.retain(house.db, WEEK)
    assert set(texts(house)) == {(None, None)}
    assert_proven(house)


def await_more(house: House) -> bool:
    return any(row.status == "queued" for row in house.messages())


@awaited
async def test_a_late_receipt_finds_its_message_without_the_number(house: House) -> None:
    link = await house.submitted()
    (ref,) = link.answer(*link.open.values())
    await link.turn.run_once()
    await retention.retain(house.db, RetentionTimes(-1_000, None))
    assert texts(house) == [(None, None)]
    link.receive(ref, PHONE, ReceiptState.DELIVRD)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"]
    assert_proven(house)


@awaited
async def test_batches_are_small_and_a_batch_that_is_lost_is_done_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    with house.db.write() as tx:
        ledger.grant(tx, house.amina_id, 3 * ROWS_AT_ONCE, "more", now_ms=clock.now_ms())
    for first in range(0, 2 * ROWS_AT_ONCE + 300, 500):
        await house.send(phones(500, first=first))
    with house.db.write() as tx:
        for table in ("queue", "inflight"):
            tx.execute(sa.text(f"DELETE FROM {table}"))
        tx.execute(
            messages.update().values(status="sent", parts_accepted=1, sent_at_ms=clock.now_ms())
        )
    total = house.count(messages)
    left: list[int] = []
    monkeypatch.setattr(batches, "PAUSES", 0)
    monkeypatch.setattr(
        metrics.ERASED,
        "inc",
        lambda rows: left.append(house.count(messages, messages.c.recipient.is_not(None))),
    )
    clock.move(by_ms=AFTER_A_WEEK_MS)
    house.db.fates = ["", "", "lost"]  # the process is killed in its second batch
    with pytest.raises(Exception, match="gone"):
        await retention.retain(house.db, WEEK)
    await retention.retain(house.db, WEEK)
    assert left == [total - ROWS_AT_ONCE, *range(total - 2 * ROWS_AT_ONCE, 0, -ROWS_AT_ONCE), 0]
    with house.db.read() as tx:
        assert first_kept(tx, TEXTS) > NOTHING


@awaited
async def test_events_and_logs_are_kept_no_longer_than_texts(house: House) -> None:
    texts_ms = 7 * DAY_MS
    kept_by = pruning.tables(texts_ms)
    assert {kept.table for kept in kept_by if kept.ms == texts_ms and not kept.is_counts} == {
        kept.table for kept in (*webhooks.KEPT, *plugin.KEPT, *stored_import.KEPT)
    }
    endpoint(house.db, house.amina_id, age_ms=DAY_MS)
    await delivered(house)
    clock.move(by_ms=AFTER_A_WEEK_MS)
    await delivered(house)
    await pruning.prune_all(house.db, WEEK.texts_ms)
    assert house.count(webhook_events) == 2  # the younger ones
    assert_proven(house)


def test_a_server_that_is_killed_while_it_erases_is_followed_by_one_that_goes_on(
    house: House, tmp_path: Path
) -> None:
    made_ms, count = clock.now_ms() - 100 * DAY_MS, 5 * ROWS_AT_ONCE
    number = ids.new_number(made_ms)
    with house.db.write() as tx:
        tx.execute(
            sends.insert().values(
                id=ids.raw_of_number(number),
                account_id=house.amina_id,
                sandbox=True,
                type="sms",
                sender="AMINA",
                text="hello",
                encoding="GSM-7",
                segments=1,
                message_count=count,
                expires_at_ms=made_ms,
                credits_required=0,
                credits_used=0,
                credits_remaining=0,
                created_at_ms=made_ms,
            )
        )
        tx.execute(
            messages.insert(),
            [
                {
                    "id": ids.raw_of_number(number + 1 + k),
                    "send_id": ids.raw_of_number(number),
                    "account_id": house.amina_id,
                    "sandbox": True,
                    "recipient": int(PHONE),
                    "carrier_id": 1,
                    "segments": 1,
                    "status": "sent",
                    "credits": 0,
                    "parts_accepted": 1,
                    "sent_at_ms": made_ms,
                }
                for k in range(count)
            ],
        )
    with house.db.write() as tx:
        mark_again(tx, 0, clock.now_ms())  # they were stored without a turn, which marks them
    left = messages.c.recipient.is_not(None)
    killed = ServerProcess(house.db.url, tmp_path / "data")
    killed.wait_until_ready()
    wait_until(lambda: house.count(messages, left) < count, "some are deleted", within_s=60)
    killed.process.kill()
    killed.process.wait()
    assert house.count(messages, left) % ROWS_AT_ONCE == 0
    server = ServerProcess(house.db.url, tmp_path / "data")
    try:
        wait_until(lambda: house.count(messages, left) == 0, "all are deleted", within_s=60)
    finally:
        assert server.end() == 0
    assert_proven(house)
    house.db.close()


@awaited
async def test_a_campaign_that_stays_paused_is_canceled_after_the_days_of_texts_and_forgets_all(
    house: House,
) -> None:
    """This does not hold for one that has made a message since."""
    add_contacts(house.db, house.amina_id, phones(3))
    paused, late = [write_down(house.db, house.amina_id, message="Hello {phone}") for _ in range(2)]
    for campaign in (paused, late):
        campaigns.launch(house.db, campaign.id)
        with house.db.write() as tx:
            campaigns.pause(tx, campaign.id)
    clock.move(by_ms=AFTER_A_WEEK_MS)
    try:
        with house.db.write() as tx:
            campaigns.resume(tx, late.id)
        advancer = Advancer(house.db, Chunker(house.cache, house.queue), house.woken.append)
        await advancer.once()
        with house.db.write() as tx:
            campaigns.pause(tx, late.id)
        await retention.retain(house.db, WEEK)
        assert [len(written(house.db, campaign)) for campaign in (paused, late)] == [0, 3]
        await advancer.once()
        gone = now(house.db, paused)
        assert (gone.status, gone.status_reason, gone.ended_at_ms is None, gone.cursor) == (
            "canceled",
            "recipients_erased",
            False,
            0,
        )
        assert now(house.db, late).status == "paused"
    finally:
        clock.move(by_ms=-AFTER_A_WEEK_MS)


@awaited
async def test_numbers_of_a_draft_that_nobody_launches_go_after_their_days_and_it_says_so(
    house: House,
) -> None:
    """The numbers stay while a draft is scheduled, or somebody is freezing it; what a refused
    launch wrote down of contacts is written down anew.
    """
    drafts = [write_down_file(house.db, house.amina_id, phones(3)) for _ in range(2)]
    add_contacts(house.db, house.amina_id, phones(2_000))
    dear = write_down(house.db, house.amina_id)
    with pytest.raises(InsufficientCredits):
        campaigns.launch(house.db, dear.id)
    with house.db.write() as tx:
        campaigns.schedule(tx, drafts[1].id, clock.now_ms() + 30 * DAY_MS)
    await retention.retain(house.db, WEEK)
    assert [len(written(house.db, campaign)) for campaign in (*drafts, dear)] == [3, 3, 2_000]
    clock.move(by_ms=AFTER_A_WEEK_MS)
    try:
        with house.db.write() as tx:
            tx.execute(
                sa.update(campaign_table)
                .where(campaign_table.c.id == dear.id)
                .values(freezing=ids.raw_of_number(ids.new_number()))
            )
        await retention.retain(house.db, WEEK)
        assert [len(written(house.db, campaign)) for campaign in (*drafts, dear)] == [0, 3, 2_000]
        with house.db.write() as tx:
            tx.execute(
                sa.update(campaign_table)
                .where(campaign_table.c.id == dear.id)
                .values(freezing=None)
            )
        await retention.retain(house.db, WEEK)
        assert [len(written(house.db, campaign)) for campaign in (*drafts, dear)] == [0, 3, 0]
        with pytest.raises(WrongState, match="numbers were erased"):
            campaigns.launch(house.db, drafts[0].id)
        gone = now(house.db, drafts[0])
        assert (gone.status, gone.status_reason, gone.ended_at_ms is None) == (
            "canceled",
            "recipients_erased",
            False,
        )
        assert (
            campaigns.launch(
                house.db, dear.id, as_far_as_credits_reach=True
            ).campaign.recipients_total
            == 2_000
        )
    finally:
        clock.move(by_ms=-AFTER_A_WEEK_MS)
