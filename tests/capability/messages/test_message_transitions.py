"""The database changes the state of a message or of a segment as the tables of transitions say, and
ignores whatever else it is told.
"""

from itertools import product

import pytest
import sqlalchemy as sa

from heliograph.messages.carrier import inflight_sql
from heliograph.messages.carrier.inflight_sql import OrphanScope, ToSubmit, TryAt
from heliograph.messages.carrier.messages_sql import SettledMessage, store_messages
from heliograph.messages.states import FAILED, IN_DOUBT, MESSAGE, SEGMENT, SUBMITTING
from heliograph.messages.tables import inflight, messages
from tests.support.capability.sending import WORKER, House
from tests.support.factories import awaited, phones

ANOTHER = WORKER + 1
OTHER_CARRIER = 9_999


def _settled(message_id: str, status: str) -> SettledMessage:
    error = "unknown" if status == FAILED else None
    return SettledMessage(
        id=message_id,
        status=status,
        parts_accepted=1,
        parts_delivered=0,
        error_code=error,
        error_message=error,
        refunded=0,
        sent_at_ms=None,
        delivered_at_ms=None,
        failed_at_ms=None,
    )


@awaited
async def test_a_message_comes_to_the_states_that_its_table_allows_and_to_no_other(
    house: House,
) -> None:
    pairs = list(product(MESSAGE.states, MESSAGE.states))
    await house.send(phones(len(pairs)))
    ids = [message.id for message in house.messages()]
    with house.db.write() as tx:
        for message_id, (was, _) in zip(ids, pairs, strict=True):
            tx.execute(
                sa.update(messages)
                .where(messages.c.id == message_id)
                .values(status=was, error_code="unknown" if was == FAILED else None)
            )
    async with house.db.hot() as hot:
        await store_messages(
            hot, [_settled(each, to) for each, (_, to) in zip(ids, pairs, strict=True)]
        )
    stored = [message.status for message in house.messages()]
    assert stored == [to if MESSAGE.allows(was, to) else was for was, to in pairs]
    assert set(stored) == set(MESSAGE.states)


@pytest.mark.parametrize("was", SEGMENT.states)
@pytest.mark.parametrize("to", SEGMENT.states)
@awaited
async def test_a_segment_comes_to_the_states_that_its_table_allows_and_to_no_other(
    house: House, was: str, to: str
) -> None:
    """Every statement that writes the state is tried."""
    await house.submitted(phones(2))
    first, second = (message.id for message in house.messages())
    with house.db.write() as tx:
        tx.execute(sa.update(inflight).values(state=was))
        tx.execute(sa.update(inflight).where(inflight.c.message_id == second).values(worker=99))
    async with house.db.hot() as hot:
        if to == IN_DOUBT:
            await inflight_sql.DOUBT.rows(hot, [TryAt(first, 1, 1, WORKER, 7)])
            await inflight_sql.DOUBT_ORPHANS.rows(hot, OrphanScope(WORKER, None, OTHER_CARRIER, 7))
        elif to == SUBMITTING:
            for message_id, worker in ((first, WORKER), (second, 99)):
                await inflight_sql.SUBMIT.rows(hot, [ToSubmit(message_id, 1, worker, 7)])
        else:  # nothing writes it but the claim, which leaves a row that is there as it is
            [row] = await hot.fetch("SELECT count(*) AS n FROM inflight")
            assert row[0] == 2
    with house.db.read() as tx:
        stored = set(tx.execute(sa.select(inflight.c.state)).scalars())
    assert stored == {to if SEGMENT.allows(was, to) else was}
