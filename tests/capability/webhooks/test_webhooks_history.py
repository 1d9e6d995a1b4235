"""What became of an event is told for as long as it is kept, also when the event itself is gone."""

from heliograph.database.database import Database
from heliograph.webhooks import history
from heliograph.webhooks.tables import webhook_events
from tests.support.capability.webhooks import endpoint, happened_to
from tests.support.factories import awaited, open_account
from tests.support.portal.webhook_pages import exhaust


@awaited
async def test_an_event_that_was_delivered_again_late_is_listed_after_it_was_deleted(
    db: Database,
) -> None:
    """A delivery is kept for 30 days from its end, and an event from when it was made."""
    amina_id = open_account(db)
    here, _ = endpoint(db, amina_id)
    await happened_to(db, amina_id, 1)
    await db.close_hot()
    exhaust(db)
    with db.write() as tx:
        [before] = history.events(tx, here, limit=9)
        tx.execute(webhook_events.delete())
        [after] = history.events(tx, here, limit=9)
    assert before["event"] is not None
    assert after == {**before, "event": None, "created_at": None}
