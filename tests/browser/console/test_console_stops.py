"""An operator revokes a stolen key of an account, stops its webhook endpoint and its campaign, and
sets a rate tier, in a real browser.
"""

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.support.api.server import Server
from tests.support.capability.commands import Run, runner
from tests.support.console.first_visit import sign_in_operator
from tests.support.portal.browsing import at_both_widths, opened, picture

REASON = "ticket 4711"


def decide(page: Page, button: str, said: str) -> None:
    """Gives the reason beside a button, and presses it."""
    form = page.locator("form").filter(has=page.get_by_role("button", name=button))
    form.get_by_label("Reason").fill(REASON)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text(said)


def revoke_key(page: Page, name: str) -> None:
    """Revokes a key from the list, in two clicks."""
    page.get_by_role("link", name="All keys").click()
    picture(page, "console-keys")
    page.get_by_role("link", name=f"Revoke … {name}").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    picture(page, "console-key")
    decide(page, f"Revoke {name} for good", "Revoked")
    expect(page.get_by_text("revoked", exact=True)).to_be_visible()
    picture(page, "console-keys-revoked")


def stop_endpoint(page: Page, url: str) -> None:
    """Disables and removes the account's endpoint."""
    page.get_by_role("link", name="All endpoints").click()
    picture(page, "console-webhooks")
    page.get_by_role("link", name=url).click()
    picture(page, "console-webhook")
    decide(page, "Disable the endpoint", "Saved")
    expect(page.get_by_role("button", name="Enable the endpoint")).to_be_visible()
    picture(page, "console-webhook-disabled")
    decide(page, "Remove the endpoint", "Removed")
    expect(page.get_by_text("It has no webhook endpoint.")).to_be_visible()
    picture(page, "console-webhooks-none")


def stop_campaign(page: Page, name: str) -> None:
    """Cancels a campaign that has not started, with a mistake first."""
    page.get_by_role("link", name="All campaigns").click()
    picture(page, "console-campaigns")
    page.get_by_role("link", name=name).click()
    cancel = page.get_by_role("button", name="Cancel the campaign for good")
    page.get_by_label("Reason").fill(" ")
    cancel.click()
    expect(page.get_by_label("Reason")).to_have_attribute("aria-invalid", "true")
    picture(page, "console-campaign-refused")
    decide(page, "Cancel the campaign for good", "Saved")
    expect(cancel).to_have_count(0)
    picture(page, "console-campaign")


def set_tier(page: Page, name: str) -> None:
    """Adds a rate tier."""
    page.get_by_role("navigation").get_by_role("link", name="Accounts").click()
    page.get_by_role("link", name="Rate tiers").click()
    form = page.locator("form").filter(has=page.get_by_role("button", name="Add the tier"))
    form.get_by_label("Name").fill(name)
    form.get_by_label("Requests a minute").fill("many")
    form.get_by_label("Reason").fill(REASON)
    page.keyboard.press("Enter")
    expect(form.get_by_label("Requests a minute")).to_have_attribute("aria-invalid", "true")
    picture(page, "console-tier-refused")
    form.get_by_label("Requests a minute").fill("5000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.get_by_role("cell", name=name)).to_be_visible()
    picture(page, "console-tiers")


def account_with_things(run: Run, name: str, url: str) -> str:
    """Makes an account with a key, an endpoint and a campaign, and returns its id in text form."""
    country = ("--country", "GH", "--currency", "GHS")
    account: str = run("account", "create", name, *country, "--json").json["id"]
    of = ("--account", account, "--mode", "sandbox")
    run("key", "create", *of, "--name", "Till in Osu", "--permissions", "sms.send,sms.read")
    run("webhook", "add", url, *of, "--events", "all")
    campaign = ("--sender", "SANDBOX", "--message", "Mangoes are back", "--all")
    run("campaign", "create", "Spring", *of, *campaign)
    return account


@at_both_widths
def test_what_an_account_has_made_is_stopped_by_an_operator(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    run = runner(server.cast.amina.db.url, tmp_path)
    url = "https://hooks.kofi-prints.example.com/heliograph"
    account = account_with_things(run, f"Kofi Prints {width}", url)
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    path = f"{server.url}/console/accounts/{account}"
    page.goto(path)
    revoke_key(page, "Till in Osu")
    page.goto(path)
    stop_endpoint(page, url)
    page.goto(path)
    stop_campaign(page, "Spring")
    set_tier(page, f"bulk-{width}")
    page.goto(f"{server.url}/console/log?account={account}")
    for done in ("Revoked an API key", "Removed a webhook endpoint", "Canceled a campaign"):
        expect(page.get_by_text(done).first).to_be_visible()
    [key] = run("key", "list", "--account", account, "--json").json
    assert key["revoked_at"] is not None
