"""Lets an operator come in for the first time, in a real browser, as the handbook says."""

from pathlib import Path

from playwright.sync_api import Page, expect

from heliograph.base import clock
from tests.support.api.server import Server
from tests.support.capability.commands import runner
from tests.support.console.operators import OPERATOR
from tests.support.portal.authenticator import code_of


def sign_in_operator(page: Page, server: Server, tmp_path: Path) -> None:
    """Makes an operator with the command, signs in by its link, and sets up an app."""
    run = runner(server.cast.amina.db.url, tmp_path)
    made = run("user", "add", OPERATOR, "--operator", "admin", "--json").json
    page.goto(server.url + made["link"][made["link"].index("/portal/") :])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Go to your sign-in").click()
    page.get_by_role("button", name="Set it up").click()
    secret = page.locator("#secret").inner_text()
    page.get_by_label("The 6 digits that the app then shows").fill(code_of(secret, clock.now_ms()))
    page.keyboard.press("Enter")
    page.get_by_role("link", name="I have kept them").click()
    page.get_by_role("link", name="The operator's console").click()
    expect(page.get_by_role("heading", name="Now", exact=True)).to_be_visible()
