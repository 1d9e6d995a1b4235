"""Outcomes of attempts are kept in memory until they are committed, whatever happens meanwhile."""

import asyncio
from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.webhooks.deliver_sql import WaitingEvents
from heliograph.webhooks.record_attempts import AttemptResult, Recorder
from heliograph.webhooks.states import DELIVERED
from heliograph.webhooks.tables import webhook_queue
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint, happened, outcomes, waiting
from tests.support.factories import awaited

STORED_WITHIN_S = 10


@awaited
@pytest.mark.parametrize("fate", ["lost", "reply lost"])
async def test_outcomes_whose_commit_fails_are_stored_by_the_next_try(
    house: House, fate: str
) -> None:
    here, _ = endpoint(house.db, house.amina_id)
    await happened(house, 1)
    with house.db.read() as tx:
        event_id, due_at_ms = tx.execute(
            sa.select(webhook_queue.c.event_id, webhook_queue.c.due_at_ms)
        ).one()
    succeeded = AttemptResult(
        waiting=WaitingEvents(here.id, due_at_ms, event_id, 0),
        at_ms=clock.now_ms(),
        took_ms=1,
        status=200,
        reason=None,
        answer=None,
        retry_after=None,
    )
    told: list[Sequence[AttemptResult]] = []
    recorder = Recorder(house.db)
    recorder.failing_since[here.id] = None
    recording = asyncio.create_task(recorder.run(told.append))
    house.db.fates = [fate]
    recorder.add(succeeded)
    async with asyncio.timeout(STORED_WITHIN_S):
        await recorder.wait_until_empty()
    recording.cancel()
    assert told == [[succeeded]]
    assert [outcome for outcome, *_ in outcomes(house.db)] == [DELIVERED]
    assert waiting(house.db) == []
    await house.db.close_hot()
