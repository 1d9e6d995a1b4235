"""An operator reserves a name, asks who may register what looks like it, and releases it, in a real
browser.
"""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.console.first_visit import sign_in_operator
from tests.support.portal.browsing import at_both_widths, opened, picture


@at_both_widths
def test_a_name_is_reserved_asked_about_and_released(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    page.get_by_role("navigation").get_by_role("link", name="Approvals").click()
    page.get_by_role("link", name="Reserved names").click()
    expect(page.get_by_text("No name is reserved")).to_be_visible()
    picture(page, "console-reserved-none")
    name = page.locator("input[name=sender]")
    name.fill("a name that is too long")
    page.get_by_label("Why (for operators)").fill("the bank's own name")
    page.keyboard.press("Enter")
    expect(name).to_have_attribute("aria-invalid", "true")
    name.fill("POSTBANK")
    page.get_by_role("button", name="Reserve the name").click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.get_by_role("cell", name="the bank's own name")).to_be_visible()
    page.get_by_label("May accounts register this name?").fill("P0STBANK")
    page.keyboard.press("Enter")
    expect(page.get_by_text("it is, or looks like, POSTBANK")).to_be_visible()
    picture(page, "console-reserved")
    page.get_by_role("button", name="Release POSTBANK").first.click()
    expect(page.get_by_role("heading", name="Release POSTBANK?")).to_be_visible()
    picture(page, "console-reserved-release")
    page.get_by_label("Reason").fill("the bank registers it now")
    page.get_by_role("button", name="Release POSTBANK").click()
    expect(page.get_by_role("status")).to_have_text("Removed")
    expect(page.get_by_text("No name is reserved")).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Log").click()
    expect(page.get_by_text("the bank registers it now").first).to_be_visible()
