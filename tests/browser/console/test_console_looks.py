"""An operator sees an account's portal as its owner does, in a real browser."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.console.first_visit import sign_in_operator
from tests.support.portal.browsing import at_both_widths, opened, picture


@at_both_widths
def test_an_operator_sees_the_portal_as_its_owner_does_and_leaves_it(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    page.get_by_role("navigation").get_by_role("link", name="Accounts").click()
    page.get_by_role("link", name="amina", exact=True).first.click()
    form = page.locator("form[action$='/see']")
    form.get_by_label("Reason").fill("they cannot find their texts")
    form.get_by_role("button", name="See the portal of amina").click()
    bar = page.get_by_role("region", name="Only to look at")
    expect(bar).to_contain_text("You see the portal of amina as its owner does")
    picture(page, "console-seen-overview")
    navigation = page.get_by_role("navigation")
    navigation.get_by_role("link", name="Sender IDs").click()
    expect(bar).to_be_visible()
    registers = page.locator("main form[method=post]").last
    expect(registers).to_have_attribute("inert", "")
    picture(page, "console-seen-senders")
    navigation.get_by_role("link", name="Messages").click()
    expect(page.get_by_role("heading", name="Messages")).to_be_visible()
    picture(page, "console-seen-messages")
    page.goto(page.url.partition("/messages")[0] + "/keys/new")
    expect(page.get_by_role("heading", name="Only to look at")).to_be_visible()
    picture(page, "console-seen-refused")
    page.get_by_role("link", name="Back to the overview").click()
    bar.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("status")).to_have_text("Ended")
    page.get_by_role("link", name="What operators changed").click()
    expect(page.get_by_text("Ended the look at an account's portal").first).to_be_visible()
