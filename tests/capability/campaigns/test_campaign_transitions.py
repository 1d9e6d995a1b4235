"""The database changes the state of a campaign as its table of transitions says, and ignores
whatever else it is told.
"""

from itertools import product

import pytest
import sqlalchemy as sa

from heliograph import campaigns
from heliograph.base import clock
from heliograph.campaigns import expand, from_file
from heliograph.campaigns.audience import forget_recipients
from heliograph.campaigns.campaign import move
from heliograph.campaigns.states import CAMPAIGN, CANCELED, PAUSED, WrongState
from heliograph.campaigns.tables import campaigns as table
from heliograph.database.database import Database
from heliograph.database.transitions import NO_ROW
from heliograph.messages.tables import groups
from tests.support.capability.campaigns import now, write_down
from tests.support.factories import awaited, open_account


def _made(db: Database, status: str) -> campaigns.Campaign:
    """Makes a campaign that is in this state, whatever led to it."""
    with db.read() as tx:
        owner = tx.execute(sa.text("SELECT id FROM accounts WHERE name = 'amina'")).scalar()
    campaign = write_down(db, str(owner).replace("-", "") if owner else open_account(db))
    with db.write() as tx:
        tx.execute(sa.update(table).where(table.c.id == campaign.id).values(status=status))
    return now(db, campaign)


def test_a_campaign_comes_to_the_states_that_its_table_allows_and_to_no_other(
    db: Database,
) -> None:
    for was, to in product(CAMPAIGN.states, CAMPAIGN.states):
        campaign = _made(db, was)
        if CAMPAIGN.allows(was, to):
            with db.write() as tx:
                assert move(tx, campaign, to).status == to
        elif not CAMPAIGN.sources(to):
            continue
        else:
            with (
                pytest.raises(WrongState, match=f"This campaign is {was}; only one"),
                db.write() as tx,
            ):
                move(tx, campaign, to)
        assert now(db, campaign).status == (to if CAMPAIGN.allows(was, to) else was)


def test_whoever_lost_the_race_is_told_what_the_campaign_is_now(db: Database) -> None:
    """An older reading says nothing of what may be done, when somebody else has changed the
    campaign since.
    """
    campaign = _made(db, "sending")
    with db.write() as tx:
        move(tx, campaign, CANCELED)
    with (
        pytest.raises(WrongState, match="This campaign is canceled"),
        db.write() as tx,
    ):
        move(tx, campaign, PAUSED)
    assert now(db, campaign).status == CANCELED


def test_a_campaign_whose_file_cannot_be_read_is_deleted_while_it_is_a_draft(db: Database) -> None:
    """Its group goes and stays with it."""
    for was in CAMPAIGN.states:
        campaign = _made(db, was)
        with db.write() as tx:
            from_file._remove(tx, campaign)
        with db.read() as tx:
            stored = [
                len(tx.execute(sa.select(key).where(key == value)).all())
                for key, value in ((table.c.id, campaign.id), (groups.c.id, campaign.group_id))
            ]
        assert stored == ([0, 0] if CAMPAIGN.allows(was, NO_ROW) else [1, 1])


@awaited
async def test_the_statements_of_campaigns_ask_the_table_too(db: Database) -> None:
    for was in CAMPAIGN.states:
        paused, *erased = (_made(db, was) for _ in range(3))
        async with db.hot() as hot:
            await expand._PAUSE.rows(
                hot,
                expand._CampaignProgress(
                    paused.id, 0, False, 0, 0, status_reason="account_suspended", waits_for=None
                ),
            )
            await forget_recipients._CANCEL_PAUSED.rows(
                hot, forget_recipients._GroupOfCampaign(erased[0].group_id)
            )
            await forget_recipients._CANCEL_DRAFT.rows(
                hot, forget_recipients._CanceledAt(erased[1].group_id, clock.now_ms())
            )
        assert now(db, paused).status == (PAUSED if CAMPAIGN.allows(was, PAUSED) else was)
        for campaign in erased:
            assert now(db, campaign).status == (CANCELED if CAMPAIGN.allows(was, CANCELED) else was)
    await db.close_hot()
