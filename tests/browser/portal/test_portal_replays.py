"""A developer has more events delivered again than are put back at once, in a real browser."""

from playwright.sync_api import Browser, expect

from heliograph.base import clock, ids
from heliograph.base.clock import HOUR_MS
from heliograph.webhooks import endpoints
from heliograph.webhooks.replay import REPLAYED_AT_ONCE
from heliograph.webhooks.states import EXHAUSTED
from heliograph.webhooks.tables import webhook_deliveries, webhook_events
from tests.support.api.cast import Actor
from tests.support.api.server import Server
from tests.support.capability.webhooks import endpoint
from tests.support.portal.browsing import at_both_widths, opened, picture, sign_in_owner
from tests.support.wire.webhook_receiver import OK, receiver_in_a_thread, says

LEFT = 1  # after the first time


def given_up(actor: Actor, endpoint_id: str) -> None:
    """Stores one event more than is put back at once, made an hour ago, and given up since."""
    at_ms = clock.now_ms() - HOUR_MS
    found = [ids.raw_of_number(ids.new_number(at_ms)) for _ in range(REPLAYED_AT_ONCE + LEFT)]
    event = {
        "account_id": actor.account_id,
        "sandbox": False,
        "kind": "message.sent",
        "body": "{}",
        "created_at_ms": at_ms,
    }
    delivery = {"endpoint_id": endpoint_id, "outcome": EXHAUSTED, "tries": 9, "at_ms": at_ms}
    with actor.db.write() as tx:
        tx.execute(webhook_events.insert(), [{**event, "id": each} for each in found])
        tx.execute(webhook_deliveries.insert(), [{**delivery, "event_id": each} for each in found])


@at_both_widths
def test_more_events_than_are_delivered_again_at_once_are_told_of(
    browser: Browser, server: Server, width: int
) -> None:
    amina = server.cast.amina
    with receiver_in_a_thread(says(OK)) as receiver:
        made, _ = endpoint(amina.db, amina.account_id, receiver.url())
        given_up(amina, made.id)
        page = opened(browser, width)
        sign_in_owner(page, server)
        page.goto(
            f"{server.url}/portal/accounts/{amina.text_id}/webhooks/{endpoints.text_id(made.id)}"
        )
        again = page.locator("button[value=replay_since]")
        again.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".toast")).to_have_text(
            "The oldest are on their way: repeat it for the rest"
        )
        picture(page, "webhook-replayed-first")
        again.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".toast")).to_have_text("On its way")
        page.context.close()
        with amina.db.write() as tx:
            endpoints.remove(tx, endpoints.text_id(made.id), now_ms=clock.now_ms())
