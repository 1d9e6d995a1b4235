"""An operator asks which way a text goes, adds a carrier, and grants credits, in a real browser."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.console.first_visit import sign_in_operator
from tests.support.portal.browsing import at_both_widths, opened, picture
from tests.support.services import free_port
from tests.support.wire.smsc_peer import running_smsc

PREFIX = "23354999"  # other tests send elsewhere


@at_both_widths
def test_an_operator_looks_after_carriers_routes_and_money(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    bar = page.get_by_role("navigation")
    bar.get_by_role("link", name="Carriers").click()
    name = f"gh-{width}"
    for label, text in (
        ("Name", name),
        ("Host", "127.0.0.1"),
        ("Port", str(free_port())),
        ("System id", "amina"),
        ("Password", "secret"),
        ("Reason", "contract 12"),
    ):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Try to bind").click()
    answer = page.locator("#bind-trial")
    expect(answer).to_contain_text("could not be bound: nothing listens there")
    expect(page.get_by_label("Add it all the same")).to_be_visible()
    picture(page, "console-carriers")
    with running_smsc() as smsc:
        page.get_by_label("Port", exact=True).fill(str(smsc.port))
        page.get_by_role("button", name="Try to bind").click()
        expect(answer).to_contain_text(f"127.0.0.1:{smsc.port} let amina in.")
        expect(page.get_by_label("Password")).to_have_value("secret")  # it need not be typed again
        page.get_by_role("button", name="Add the carrier").click()
        expect(page.get_by_role("heading", name=name)).to_be_visible()
        page.get_by_role("button", name="Try to bind").click()
        expect(answer).to_contain_text("let amina in.")
        picture(page, "console-carrier")
    bar.get_by_role("link", name="Routes").click()
    page.get_by_label("Prefix").fill(PREFIX)
    page.get_by_label("Carriers, the first one first").fill(f"{name}:70, simulator:30")
    page.get_by_label("Reason").fill("cheaper")
    page.get_by_role("button", name="Set the route").click()
    expect(page.get_by_role("cell", name=f"{name} 70 of 100 simulator 30 of 100")).to_be_visible()
    page.get_by_label("Which way would a text to this number go?").fill(f"{PREFIX}4567")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_text(f"A text to {PREFIX}4567 would")).to_be_visible()
    shares = f"70 of 100 go to {name}, 30 to simulator; this number goes to"
    expect(page.get_by_text(shares)).to_be_visible()
    picture(page, "console-routes")
    page.get_by_label("Prefix").fill(PREFIX)
    page.get_by_label("Reason").fill("over")
    page.get_by_role("button", name="Remove the route of this prefix").click()
    expect(page.get_by_role("cell", name=PREFIX, exact=True)).to_be_hidden()
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
