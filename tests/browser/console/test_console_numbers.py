"""An operator gives an account a number, changes what it does, and removes it, in a real
browser.
"""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.console.first_visit import sign_in_operator
from tests.support.portal.browsing import at_both_widths, opened, picture


@at_both_widths
def test_a_number_is_given_to_an_account_changed_and_removed(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    navigation = page.get_by_role("navigation")
    navigation.get_by_role("link", name="Numbers").click()
    expect(page.get_by_text("There is no number")).to_be_visible()
    picture(page, "console-numbers-none")
    page.get_by_label("Number or short code").fill("4567")
    page.get_by_label("The carrier that brings its texts").select_option("simulator")
    page.get_by_label("The account that has it").fill("nobody")
    page.get_by_label("Reason").fill("contract 12")
    page.keyboard.press("Enter")
    expect(page.get_by_label("The account that has it")).to_have_attribute("aria-invalid", "true")
    picture(page, "console-number-refused")
    page.get_by_label("The account that has it").fill("amina")
    page.get_by_role("button", name="Add the number").click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.get_by_role("heading", name="4567")).to_be_visible()
    picture(page, "console-number")
    page.get_by_label("An opt-out on it stops").select_option("texts from this number")
    change = page.locator("form").filter(has=page.get_by_role("button", name="Save"))
    change.get_by_label("Reason").fill("the account asked for it")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.locator("dd").filter(has_text="texts from this number")).to_be_visible()
    page.get_by_role("link", name="Numbers").first.click()
    expect(page.get_by_role("cell", name="texts from this number")).to_be_visible()
    picture(page, "console-numbers")
    page.get_by_role("link", name="4567").click()
    removal = page.locator("form").filter(has=page.get_by_role("button", name="Remove 4567"))
    removal.get_by_label("Reason").fill("the contract has ended")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Removed")
    expect(page.get_by_text("There is no number")).to_be_visible()
    navigation.get_by_role("link", name="Log").click()
    expect(page.get_by_text("the contract has ended").first).to_be_visible()
    picture(page, "console-log-of-numbers")
