"""A new sign-in leads back to what somebody has typed, in a real browser: in the portal after the
end of a session, and in the console after the ten minutes of a fresh sign-in.
"""

from playwright.sync_api import Browser, Page, expect

from heliograph import accounts, users, wallet
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from heliograph.users.sign_in import FRESH_MS
from heliograph.users.tables import user_sessions
from tests.support.api.server import Server
from tests.support.capability.campaigns import add_contacts
from tests.support.console.entering import sign_in_operator
from tests.support.console.operators import OPERATOR
from tests.support.portal.authenticator import STEP_MS, code_of, given_codes
from tests.support.portal.browsing import at_both_widths, opened, picture, sign_in_owner
from tests.support.portal.passwords import GOOD
from tests.support.portal.visitor import EMAIL

FILLED_IN = "You are signed in again. What you typed is filled in below, and was not sent yet."


def give_password(db: Database, email: str) -> None:
    with db.write() as tx:
        user = users.find(tx, email)
        users.store_password(tx, user.id, users.hash_password(GOOD), now_ms=clock.now_ms())


def type_password(page: Page) -> None:
    expect(page.get_by_text("What you typed is kept for half an hour.")).to_be_visible()
    page.get_by_label("Password").focus()
    page.keyboard.type(GOOD)
    page.keyboard.press("Enter")


@at_both_widths
def test_a_campaign_that_is_written_when_the_session_ends_is_there_after_the_sign_in(
    browser: Browser, server: Server, width: int
) -> None:
    amina = server.cast.amina
    add_contacts(amina.db, amina.account_id, [{"phone": f"2332012{width:05}"}], sandbox=True)
    page = opened(browser, width)
    sign_in_owner(page, server)
    give_password(amina.db, EMAIL)
    address = f"{server.url}/portal/accounts/{amina.text_id}/campaigns/new?mode=sandbox"
    page.goto(address)
    page.get_by_label("Name").fill("Mangoes in May")
    page.get_by_label("Tags, each").fill("gold\nsilver")
    with amina.db.write() as tx:
        tx.execute(user_sessions.update().values(expires_at_ms=clock.now_ms()))
    page.get_by_role("textbox", name="Text").focus()
    page.keyboard.type("Hi {name|friend}, the first mangoes are yours.")
    expect(page.get_by_label("Password")).to_be_visible()  # a preview was asked for
    picture(page, "kept-signed-out")
    page.get_by_label("Email address", exact=True).fill(EMAIL)
    type_password(page)
    expect(page).to_have_url(address)
    expect(page.get_by_text(FILLED_IN)).to_be_visible()
    expect(page.get_by_role("textbox", name="Name")).to_have_value("Mangoes in May")
    expect(page.get_by_label("Tags, each")).to_have_value("gold\nsilver")
    expect(page.get_by_role("textbox", name="Text")).to_have_value(
        "Hi {name|friend}, the first mangoes are yours."
    )
    picture(page, "kept-filled-in")
    page.reload()
    expect(page.get_by_text(FILLED_IN)).to_have_count(0)
    expect(page.get_by_role("textbox", name="Name")).to_have_value("Mangoes in May")
    page.context.close()


@at_both_widths
def test_a_form_of_the_console_is_filled_in_again_after_a_password_and_a_code_typed_by_hand(
    browser: Browser, server: Server, width: int
) -> None:
    amina = server.cast.amina
    page = opened(browser, width)
    sign_in_operator(page, server, amina.db, OperatorRole.FINANCE)
    give_password(amina.db, OPERATOR)
    with amina.db.write() as tx:
        user = users.find(tx, OPERATOR)
        users.two_step.turn_off(tx, user.id)
        secret, _ = given_codes(tx, user.id, clock.now_ms() - STEP_MS)
        before = wallet.wallet_of(tx, amina.account_id).figures.sms_credits
        account = accounts.text_id(accounts.by_id(tx, amina.account_id))
    address = f"{server.url}/console/money/{account}"
    page.goto(address)
    with amina.db.write() as tx:
        tx.execute(user_sessions.update().values(began_at_ms=clock.now_ms() - FRESH_MS))
    page.get_by_label("Credits", exact=True).fill("75")
    page.get_by_label("Reason").first.fill("Invoice 17")
    page.get_by_role("button", name="Grant credits").click()
    picture(page, "console-kept-confirm")
    type_password(page)
    expect(page.get_by_label("6 digits")).to_be_focused()
    page.keyboard.type(code_of(secret, clock.now_ms()))
    page.keyboard.press("Enter")
    expect(page).to_have_url(address)
    expect(page.get_by_text(FILLED_IN)).to_be_visible()
    expect(page.get_by_label("Credits", exact=True)).to_have_value("75")
    expect(page.get_by_label("Reason").first).to_have_value("Invoice 17")
    picture(page, "console-kept-filled-in")
    with amina.db.read() as tx:
        assert wallet.wallet_of(tx, amina.account_id).figures.sms_credits == before
    page.get_by_role("button", name="Grant credits").click()
    expect(page.locator(".toast")).to_have_text("Saved")
    with amina.db.read() as tx:
        assert wallet.wallet_of(tx, amina.account_id).figures.sms_credits == before + 75
    page.context.close()
