"""An admin makes somebody an operator, lets the person in, and takes all roles away, in a real
browser.
"""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.console.first_visit import sign_in_operator
from tests.support.portal.browsing import at_both_widths, form_with, opened, picture


@at_both_widths
def test_one_person_is_let_in_and_operators_are_made_and_taken_away(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    navigation = page.get_by_role("navigation")
    navigation.get_by_role("link", name="People").click()
    picture(page, "console-people")
    page.get_by_role("link", name="Operators").click()
    expect(page.get_by_role("heading", name="Operators")).to_be_visible()
    add = form_with(page, "Add the operator")
    add.get_by_label("Email address").fill("yaw@example.com")
    add.get_by_label("Role").select_option("finance")
    add.get_by_label("Reason").fill("does the books")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="I have handed it on").click()
    expect(page.get_by_text("not set up yet")).to_be_visible()
    picture(page, "console-operators")
    page.get_by_role("link", name="Change kofi@example.com").click()
    removal = form_with(page, "Take the role admin away")
    removal.get_by_label("Reason").fill("by mistake")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("must stay admin")
    picture(page, "console-operator-last-admin")
    page.get_by_role("link", name="What else kofi@example.com has").click()
    picture(page, "console-person-operator")
    navigation.get_by_role("link", name="People").click()
    page.get_by_label("Email address or id").fill("yaw@example.com")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="yaw@example.com", exact=True).click()
    picture(page, "console-person")
    page.get_by_role("link", name="Give a sign-in link").click()
    picture(page, "console-person-link")
    page.get_by_label("Reason").fill("has lost the mail")
    page.keyboard.press("Enter")
    expect(page.locator("#secret")).to_be_visible()
    page.get_by_role("link", name="I have handed it on").click()
    page.get_by_role("link", name="Take all roles away").click()
    picture(page, "console-person-disable")
    page.get_by_label("Reason").fill("has left")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Removed")
    expect(page.get_by_text("no role")).to_be_visible()
    navigation.get_by_role("link", name="Log").click()
    expect(page.get_by_text("Took all of somebody's roles away").first).to_be_visible()
    picture(page, "console-log-of-people")
