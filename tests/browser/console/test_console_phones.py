"""An operator looks at a phone, opts it out and in again, reads what it has texted, erases it, and
gives an account a keyword, in a real browser.
"""

from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Browser, Page, expect

from heliograph.messages.tables import messages
from tests.support.api.inbound_texts import store_inbound
from tests.support.api.server import Server
from tests.support.console.first_visit import sign_in_operator
from tests.support.console.messages import stored_message
from tests.support.factories import PHONE
from tests.support.portal.browsing import at_both_widths, opened, picture

LOCAL = "020 123 4567"
SAID = "please, no more of these"


def opts_out_and_in_again(page: Page) -> None:
    """Looks at the phone, opts it out, and lifts that."""
    page.get_by_role("navigation").get_by_role("link", name="Phones").click()
    expect(page.get_by_text("Type a phone number as people write it")).to_be_visible()
    picture(page, "console-phones")
    page.get_by_label("Phone number").fill(LOCAL)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Phone number")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Only of the account").fill("amina")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=PHONE, exact=True)).to_be_visible()
    expect(page.get_by_text("This phone has opted out of nothing")).to_be_visible()
    # the browser takes both lists from their own pages
    expect(page.get_by_role("region", name="Messages")).to_contain_text(PHONE)
    expect(page.get_by_role("region", name="Texts that came in")).to_contain_text(PHONE)
    expect(page).to_have_title(f"{PHONE} · Heliograph")
    picture(page, "console-phone")
    page.get_by_role("link", name="Opt it out").click()
    page.get_by_label("Reason").fill("a letter of 3 May")
    picture(page, "console-opt-outs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Saved")
    page.get_by_role("link", name=PHONE, exact=True).click()
    expect(page.get_by_role("region", name="Opt-outs")).to_contain_text("an operator")
    page.get_by_role("button", name="Lift").click()
    expect(page.get_by_role("heading", name=f"Let amina text {PHONE} again?")).to_be_visible()
    picture(page, "console-opt-out-lift")
    page.get_by_label("Reason").fill("she wants them again")
    page.get_by_role("button", name="Let amina text it again").click()
    expect(page.get_by_role("status")).to_have_text("Removed")
    page.get_by_role("navigation").get_by_role("link", name="Log").click()
    expect(page.get_by_text("she wants them again").first).to_be_visible()
    expect(page.locator("main")).not_to_contain_text(PHONE)


def reads_and_erases(page: Page, text_path: str) -> None:
    """Reads the text that came in, and erases its phone."""
    page.get_by_role("navigation").get_by_role("link", name="Messages").click()
    page.get_by_role("link", name="Texts that came in").click()
    picture(page, "console-inbound")
    page.locator(f"a[href='{text_path}']").click()
    expect(page.locator("main")).not_to_contain_text(SAID)
    page.get_by_role("button", name="Show the text").click()
    expect(page.get_by_text(SAID)).to_be_visible()
    picture(page, "console-inbound-text")
    page.get_by_role("link", name=PHONE).click()
    page.get_by_role("link", name="Erase it").click()
    page.get_by_label("The account that it is erased from").fill("amina")
    page.get_by_role("button", name="See what goes").click()
    page.get_by_label("Type the phone number again").fill("233201234568")
    page.get_by_label("Reason, without the number").fill("a letter of 3 May")
    page.keyboard.press("Enter")
    again = page.get_by_label("Type the phone number again")
    expect(again).to_have_attribute("aria-invalid", "true")
    picture(page, "console-erasure")
    again.fill(PHONE)
    page.get_by_role("button", name=f"Erase {PHONE} from amina").click()
    expect(page.get_by_role("heading", name="Log")).to_be_visible()
    expect(page.get_by_text("Erased a phone from what an account has stored")).to_be_visible()
    page.goto(urljoin(page.url, text_path))
    expect(page.get_by_role("heading", name="From an erased number")).to_be_visible()
    expect(page.get_by_text("The text was erased")).to_be_visible()


def saves_and_removes_keyword(page: Page) -> None:
    """Gives amina a keyword, and takes it from her."""
    page.get_by_role("navigation").get_by_role("link", name="Numbers").click()
    page.get_by_role("link", name="Keywords of an account").click()
    page.get_by_label("Account").fill("amina")
    page.keyboard.press("Enter")
    expect(page.get_by_text("This account has no keyword of its own")).to_be_visible()
    page.get_by_label("Keyword", exact=True).fill("STOP")
    page.get_by_label("What it does").select_option("asks for help")
    page.get_by_label("Reason").fill("she asked for it")
    page.get_by_role("button", name="Save the keyword").click()
    expect(page.get_by_label("What it does")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Keyword", exact=True).fill("OFFERS")
    page.get_by_role("button", name="Save the keyword").click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.get_by_role("region", name="Keywords")).to_contain_text("OFFERS")
    picture(page, "console-keywords")
    page.get_by_role("link", name="Remove OFFERS").click()
    picture(page, "console-keyword")
    page.get_by_label("Reason").fill("it is over")
    page.get_by_role("button", name="Remove OFFERS").click()
    expect(page.get_by_role("status")).to_have_text("Removed")


@at_both_widths
def test_what_an_operator_does_about_a_phone(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    amina = server.cast.amina
    stored_message(amina.db, amina.account_id)
    with amina.db.write() as tx:
        tx.execute(messages.update().values(status="delivered"))
        text_id = store_inbound(tx, amina.account_id, SAID)
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    opts_out_and_in_again(page)
    reads_and_erases(page, f"/console/messages/inbound/{text_id}")
    saves_and_removes_keyword(page)
    page.context.close()
