"""An operator sets what an account may store, pays its wallet out, and closes it for good, in a
real browser.
"""

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.support.api.server import Server
from tests.support.capability.commands import runner
from tests.support.console.first_visit import sign_in_operator
from tests.support.portal.browsing import at_both_widths, opened, picture


def set_quotas(page: Page) -> None:
    """Sets a quota on the page of the account's storage, with a mistake first."""
    page.get_by_role("link", name="Storage", exact=True).click()
    page.get_by_label("Logs of site plugins").fill("much")
    page.get_by_label("Reason").fill("contract 12")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Logs of site plugins")).to_have_attribute("aria-invalid", "true")
    picture(page, "console-storage-refused")
    page.get_by_label("Logs of site plugins").fill("200MB")
    page.get_by_role("button", name="Set the quotas").click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.get_by_label("Logs of site plugins")).to_have_value("200MB")
    picture(page, "console-storage")


@at_both_widths
def test_an_account_is_paid_out_and_closed_for_good(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    run = runner(server.cast.amina.db.url, tmp_path)
    name = f"Kofi Prints {width}"
    country = ("--country", "GH", "--currency", "GHS")
    made = run("account", "create", name, *country, "--credits", 20, "--balance", 5, "--json")
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    page.goto(f"{server.url}/console/accounts/{made.json['id']}")
    set_quotas(page)
    page.get_by_role("link", name=name).click()
    page.get_by_role("link", name=f"See what closing {name} takes").click()
    expect(page.get_by_role("heading", name=f"{name} cannot be closed yet")).to_be_visible()
    expect(page.get_by_text("Its wallet holds 20 SMS credits and 5.00 GHS")).to_be_visible()
    picture(page, "console-closing-owed")
    page.get_by_role("link", name="Pay its wallet out").click()
    pays = page.locator("form").filter(has=page.get_by_role("button", name="Pay out"))
    pays.get_by_label("Reason").fill("paid by bt-120")
    picture(page, "console-pay-out")
    pays.get_by_role("button", name="Pay out 20 SMS credits, 5.00 GHS").click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    page.get_by_role("link", name="The account").click()
    page.get_by_role("link", name=f"See what closing {name} takes").click()
    expect(page.get_by_role("heading", name=f"Close {name} for good?")).to_be_visible()
    picture(page, "console-closing")
    page.get_by_label("Reason").fill("contract ended")
    page.get_by_role("button", name=f"Close {name} for good").click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.locator("h1").get_by_text("closed")).to_be_visible()
    page.get_by_role("link", name="What operators changed").click()
    expect(page.get_by_text("Closed an account for good").first).to_be_visible()
    expect(page.get_by_text("logs: 200MB").first).to_be_visible()
    picture(page, "console-log-of-closing")
    shown = run("account", "show", made.json["id"], "--json").json
    assert (shown["status"], shown["status_by"]) == ("closed", "kofi@example.com")
