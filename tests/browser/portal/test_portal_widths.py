"""No page of the portal is wider than its window, whatever long words are in it."""

from playwright.sync_api import Browser, Page, expect

from heliograph import users
from heliograph.base import clock
from heliograph.users import Role, sign_ins
from tests.support.api.server import Server
from tests.support.portal.browsing import NARROW, at_both_widths, opened, sign_in_owner
from tests.support.portal.visitor import home_of

# the parts before and after the @ are as long as they can be
LONG_EMAIL = f"{'w' * 64}@{'x' * 63}.{'y' * 63}.example"
SMALLEST = 320  # CSS pixels in which a page has to be readable without scrolling (WCAG 2.2, 1.4.10)


def _fits(page: Page) -> bool:
    is_as_wide: bool = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return is_as_wide


def _home(server: Server) -> str:
    return f"{server.url}{home_of(server.cast.amina.db, server.cast.amina.account_id)}"


def _come_in_with_a_long_address(page: Page, server: Server) -> None:
    db, account_id = server.cast.amina.db, server.cast.amina.account_id
    with db.write() as tx:
        user = users.add(tx, LONG_EMAIL, now_ms=clock.now_ms())
        users.set_role(tx, user.id, account_id, Role.OWNER, now_ms=clock.now_ms())
        secret = sign_ins.make_link(tx, user.id, now_ms=clock.now_ms())
    page.goto(f"{server.url}/portal/sign-in/{secret}")
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{server.url}/portal")


@at_both_widths
def test_a_long_address_and_a_long_name_make_no_page_wider(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    _come_in_with_a_long_address(page, server)
    assert _fits(page)
    expect(page.get_by_role("button", name="Sign out")).to_be_in_viewport()
    page.goto(f"{_home(server)}/connect/new")
    page.get_by_label("Name", exact=True).fill("F" * 100)
    page.get_by_label("Phone").fill("0201234598")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="F" * 100)).to_be_visible()
    assert _fits(page)
    page.context.close()


@at_both_widths
def test_french_buttons_below_a_list_fit_into_the_smallest_window(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, SMALLEST if width == NARROW else width)
    sign_in_owner(page, server)
    page.goto(f"{_home(server)}/contacts/new?mode=sandbox")
    page.get_by_label("Phone").fill("0201234597")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved")).to_be_visible()
    page.goto(f"{server.url}/portal/language/fr")
    page.goto(f"{_home(server)}/contacts?mode=sandbox")
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    expect(page.get_by_role("button", name="Étiqueter tous")).to_be_visible()
    assert _fits(page)
    page.context.close()
