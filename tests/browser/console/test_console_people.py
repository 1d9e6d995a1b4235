"""An operator creates an account with its first owner, renames it, adds somebody, and changes and
removes roles, in a real browser.
"""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.console.first_visit import sign_in_operator
from tests.support.portal.browsing import at_both_widths, form_with, opened, picture


@at_both_widths
def test_an_account_and_its_people_are_looked_after(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    page.get_by_role("navigation").get_by_role("link", name="Accounts").click()
    page.get_by_role("link", name="New account").click()
    picture(page, "console-account-new")
    page.get_by_label("Name", exact=True).fill("amina")
    page.get_by_label("Country").fill("Ghana")
    page.get_by_label("Currency of its wallet").fill("GHS")
    page.get_by_label("Email address of its first owner").fill("zuri@example.com")
    page.get_by_label("Reason").fill("contract of May")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Country")).to_have_attribute("aria-invalid", "true")
    picture(page, "console-account-new-refused")
    page.get_by_label("Country").fill("GH")
    page.get_by_label("Name", exact=True).fill("Zuri Traders")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="A sign-in link for zuri@example.com")).to_be_visible()
    expect(page.locator("#secret")).to_contain_text("/portal/sign-in/")
    picture(page, "console-sign-in-link")
    page.get_by_role("link", name="I have handed it on").click()
    expect(page.get_by_role("heading", name="Zuri Traders")).to_be_visible()
    page.get_by_role("link", name="Rename Zuri Traders").click()
    page.get_by_label("Name", exact=True).fill("Zuri Traders Ltd")
    page.get_by_label("Reason").fill("a new company")
    picture(page, "console-account-name")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Zuri Traders Ltd")).to_be_visible()
    page.locator("main").get_by_role("link", name="People", exact=True).click()
    add = form_with(page, "Add to Zuri Traders Ltd")
    add.get_by_label("Email address").fill("esi@example.com")
    add.get_by_label("Role").select_option("developer")
    add.get_by_label("Reason").fill("their engineer")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="I have handed it on").click()
    expect(page.get_by_role("link", name="esi@example.com", exact=True)).to_be_visible()
    picture(page, "console-account-people")
    page.get_by_role("link", name="Change esi@example.com").click()
    role = form_with(page, "Change the role")
    role.get_by_label("Role").select_option("owner")
    role.get_by_label("Reason").fill("promoted")
    picture(page, "console-account-person")
    role.get_by_role("button", name="Change the role").click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    page.get_by_role("link", name="Change zuri@example.com").click()
    removal = form_with(page, "Remove zuri@example.com")
    removal.get_by_label("Reason").fill("has left")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Removed")
    expect(page.get_by_role("link", name="zuri@example.com", exact=True)).to_be_hidden()
