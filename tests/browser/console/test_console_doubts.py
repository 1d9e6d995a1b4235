"""An operator settles messages in doubt, and stops pumping, in a real browser."""

import sqlalchemy as sa
from playwright.sync_api import Browser, Page, expect

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.messages.tables import carrier_refs
from heliograph.users import OperatorRole
from tests.support import plain_http
from tests.support.api.server import Server
from tests.support.console.entering import sign_in_operator
from tests.support.console.messages import never_answered
from tests.support.console.operators import waiting_sender
from tests.support.factories import open_carrier
from tests.support.portal.browsing import at_both_widths, opened, picture
from tests.support.portal.rolled_up import rolled_up


def look_at_work(page: Page, server: Server, db: Database, carrier_id: int) -> None:
    """Opens a message in doubt, and receipts that match nothing, by the phone that each is of."""
    page.goto(f"{server.url}/console/messages/in-doubt?carrier={carrier_id}")
    page.get_by_role("link", name="233241234569", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("To 233241234569")
    receipt = {
        "carrier_id": carrier_id,
        "receipt_state": "DELIVRD",
        "created_at_ms": clock.now_ms(),
    }
    with db.write() as tx:
        tx.execute(
            sa.insert(carrier_refs),
            [
                {**receipt, "ref": "f1", "printed": "f1", "recipient": 233241234568},
                {**receipt, "ref": "f2", "printed": "f2", "recipient": None},
            ],
        )
    for ref, of_phone in (("f1", "233241234568"), ("f2", "not said")):
        page.goto(f"{server.url}/console/messages/receipts?carrier={carrier_id}")
        page.get_by_role("link", name=of_phone, exact=True).click()
        expect(page.get_by_role("heading", name=f"Receipt {ref}")).to_be_visible()
    page.goto(f"{server.url}/console/messages")


@at_both_widths
def test_messages_in_doubt_are_settled_from_the_list_and_a_range_is_blocked(
    browser: Browser, server: Server, width: int
) -> None:
    amina = server.cast.amina
    carrier_id = open_carrier(amina.db, f"volta-{width}", prefix="23324")
    for number in ("233241234567", "233241234568", "233241234569"):
        plain_http.post(
            f"{server.url}/api/v1/sms/send",
            headers={"Authorization": f"Bearer {amina.key()}"},
            json={"sender": "AMINA", "message": "Your order is on its way.", "to": number},
        ).raise_for_status()
    never_answered(amina.db, carrier_id)
    page = opened(browser, width)
    page.set_default_timeout(8_000)
    sign_in_operator(page, server, amina.db, OperatorRole.ADMIN)
    page.get_by_role("navigation", name="Pages of the console").get_by_role(
        "link", name="Messages"
    ).click()
    expect(page.get_by_role("heading", name="Messages", exact=True)).to_be_visible()
    picture(page, "console-messages")
    page.get_by_role("link", name=f"3 in doubt with volta-{width}").click()
    expect(page.get_by_role("heading", name="Messages in doubt")).to_be_visible()
    picture(page, "console-in-doubt")
    for number in ("233241234567", "233241234568"):
        page.get_by_label(f"Message to {number} of amina").check()
    page.get_by_label("What became of those that you chose").select_option("canceled")
    page.get_by_role("button", name="See what that does").click()
    expect(page.get_by_text("Credits given back")).to_be_visible()
    picture(page, "console-in-doubt-asked")
    page.get_by_label("Reason").fill("their ticket 4711")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.get_by_role("checkbox")).to_have_count(1)
    page.goto(f"{server.url}/console/messages")
    page.get_by_label("Message, send, phone number, or a carrier's id").fill("233241234567")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="233241234567", exact=True).click()
    expect(page.get_by_text("their ticket 4711")).to_be_visible()
    page.get_by_role("button", name="Show the text").click()
    expect(page.get_by_text("Your order is on its way.")).to_be_visible()
    picture(page, "console-message")
    look_at_work(page, server, amina.db, carrier_id)
    rolled_up(amina.db, amina.account_id, clock.now_ms(), sender="OTHER", sent=1_234)
    waiting_sender(amina.db, server.cast.chidi.account_id, "AM1NA")
    page.get_by_role("navigation", name="Pages of the console").get_by_role(
        "link", name="Abuse"
    ).click()
    page.get_by_role("textbox", name="Account").fill("amina")
    page.get_by_label("First 8 digits of the numbers").fill("23324123")
    page.get_by_label("Reason").fill("pumping")
    page.get_by_role("button", name="Block the range").click()
    expect(page.get_by_text("23324123…")).to_be_visible()
    picture(page, "console-abuse")
    page.get_by_role("link", name="Unblock").click()
    picture(page, "console-unblock")
    page.get_by_label("Reason").fill("a campaign of theirs")
    page.keyboard.press("Enter")
    expect(page.get_by_text("None is refused.")).to_be_visible()
    page.context.close()
