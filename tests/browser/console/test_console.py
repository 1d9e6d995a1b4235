"""An operator comes into the console for the first time and decides, in a real browser."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from heliograph.base import clock
from tests.support.api.server import Server
from tests.support.capability.commands import runner
from tests.support.console.operators import OPERATOR, account_in_sandbox, waiting_sender
from tests.support.portal.authenticator import code_of
from tests.support.portal.browsing import at_both_widths, opened, picture


@at_both_widths
def test_an_operator_comes_in_with_a_second_step_and_decides(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    amina = server.cast.amina
    name = f"SHOP{width}"
    waiting_sender(amina.db, amina.account_id, name)
    account_in_sandbox(amina.db, f"Zola Foods {width}")
    page = opened(browser, width)
    run = runner(amina.db.url, tmp_path)
    made = run("user", "add", OPERATOR, "--operator", "admin", "--json").json
    assert made["operator"] == "admin"
    page.goto(server.url + made["link"][made["link"].index("/portal/") :])
    expect(page.get_by_role("button", name="Sign in")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Set up a second step first")).to_be_visible()
    picture(page, "console-second-step")
    page.get_by_role("link", name="Go to your sign-in").click()
    expect(page.get_by_role("heading", name="Your sign-in")).to_be_visible()
    picture(page, "console-you")
    page.get_by_role("button", name="Set it up").click()
    secret = page.locator("#secret").inner_text()
    page.get_by_label("The 6 digits that the app then shows").fill(code_of(secret, clock.now_ms()))
    page.keyboard.press("Enter")
    page.get_by_role("link", name="I have kept them").click()
    page.get_by_role("link", name="The operator's console").click()
    expect(page.get_by_role("heading", name="Now", exact=True)).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Approvals").click()
    expect(page.get_by_role("heading", name="Approvals", exact=True)).to_be_visible()
    picture(page, "console-approvals")
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", name="Or reject it")).to_be_visible()
    picture(page, "console-approval")
    page.get_by_role("button", name=f"Reject {name}").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()  # it wants a reason
    page.get_by_role("button", name=f"Approve {name}").click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.get_by_role("link", name=name)).to_have_count(0)
    page.get_by_role("link", name=f"Zola Foods {width}").click()
    expect(page.get_by_role("heading", name="Let it go live")).to_be_visible()
    picture(page, "console-live")
    page.get_by_label("Reason").fill("contract signed")
    page.get_by_role("button", name="Let it go live").click()
    expect(page.get_by_role("link", name=f"Zola Foods {width}")).to_have_count(0)
    page.get_by_role("navigation").get_by_role("link", name="Accounts").click()
    page.get_by_role("searchbox").fill("amina")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/accounts?q=amina")
    picture(page, "console-accounts")
    page.get_by_role("link", name="amina").first.click()
    expect(page.get_by_role("heading", name="Suspend it")).to_be_visible()
    picture(page, "console-account")
    page.get_by_role("link", name="Limits", exact=True).click()
    page.get_by_label("SMS credits a day (UTC)").fill("500")
    page.get_by_label("Reason").fill("a trial")
    picture(page, "console-limits")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Saved")
    page.get_by_role("navigation").get_by_role("link", name="Log").click()
    expect(page.get_by_text("contract signed").first).to_be_visible()
    picture(page, "console-log")
