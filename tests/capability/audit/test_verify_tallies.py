"""The proof of the tallies finds each figure of a campaign that its messages do not add up to."""

import pytest
import sqlalchemy as sa

from heliograph import campaigns
from heliograph.audit.tallies import verify_tallies
from heliograph.base import clock
from heliograph.base.paging import first_id_of
from heliograph.carriers import SubmitOutcome
from heliograph.messages.retention.retention import MESSAGES, store_first_kept
from heliograph.messages.tables import tallies
from tests.support.capability.campaigning import sent
from tests.support.capability.sending import House
from tests.support.factories import awaited

TAMPERED = {
    "queued": (1, 2),
    "sent": (0, -1),
    "delivered": (1, 0),
    "failed": (1, 3),
    "segments": (3, 4),
    "credits": (2, 3),
}


@pytest.mark.parametrize("figure", TAMPERED)
@awaited
async def test_a_tally_that_is_not_what_its_messages_add_up_to_is_found(
    house: House, figure: str
) -> None:
    """Of three texts, one is delivered, one is refused and paid back, and one is queued."""
    made = await sent(house, people=3)
    link = house.turn()
    await link.turn.run_once()
    first, second, _ = link.open.values()
    link.receive(link.answer(first)[0], None)
    link.answer(second, outcome=SubmitOutcome.REFUSED, command_status=0x0B)
    await link.turn.run_once()
    house.assert_sound()
    is_, says = TAMPERED[figure]
    with house.db.write() as tx:
        tx.execute(
            sa.update(tallies)
            .where(tallies.c.slot == sa.select(sa.func.min(tallies.c.slot)).scalar_subquery())
            .values({figure: tallies.c[figure] + says - is_})
        )
    with house.db.read() as tx:
        told = verify_tallies(tx)
    assert told == [
        (
            house.amina_id,
            (
                f"the tallies of {campaigns.text_id(made.campaign)} say {figure} {says} (its"
                f" messages add up to {is_})"
            ),
        )
    ]


@awaited
async def test_messages_of_a_campaign_without_tallies_are_found_unless_some_may_have_been_deleted(
    house: House,
) -> None:
    await sent(house, people=3)
    with house.db.write() as tx:
        tx.execute(sa.delete(tallies))
    with house.db.read() as tx:
        [(_, what)] = verify_tallies(tx)
    assert what.endswith(
        " say queued 0 (its messages add up to 3), segments 0 (its messages add up to 3),"
        " credits 0 (its messages add up to 3)"
    )
    async with house.db.hot() as hot:
        await store_first_kept(hot, MESSAGES, first_id_of(clock.now_ms() + 1))
    with house.db.read() as tx:
        assert verify_tallies(tx) == []
