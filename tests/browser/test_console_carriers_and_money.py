"""An operator asks which way a text goes, adds a carrier, and grants credits, in a real browser."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.console.browsing import come_in
from tests.support.portal.browsing import at_both_widths, opened, picture


@at_both_widths
def test_an_operator_looks_after_carriers_routes_and_money(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    page = opened(browser, width)
    come_in(page, server, tmp_path)
    bar = page.get_by_role("navigation")
    bar.get_by_role("link", name="Carriers").click()
    name = f"gh-{width}"
    for label, text in (
        ("Name", name),
        ("Host", "127.0.0.1"),
        ("Port", "1"),
        ("System id", "amina"),
        ("Password", "secret"),
        ("Reason", "contract 12"),
    ):
        page.get_by_label(label, exact=True).fill(text)
    picture(page, "console-carriers")
    page.get_by_role("button", name="Add the carrier").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    picture(page, "console-carrier")
    bar.get_by_role("link", name="Routes").click()
    page.get_by_label("Which way would a text to this number go?").fill("233201234567")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_text("A text to 233201234567 would")).to_be_visible()
    picture(page, "console-routes")
    bar.get_by_role("link", name="Money").click()
    picture(page, "console-money")
    page.get_by_label("Account", exact=True).fill("amina")
    page.get_by_role("button", name="Show its money").click()
    page.get_by_label("Credits", exact=True).fill("500")
    page.get_by_label("Reason (the account reads it in its ledger)").first.fill("welcome")
    page.get_by_role("button", name="Grant credits").click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.get_by_role("cell", name="welcome").first).to_be_visible()
    picture(page, "console-wallet")
