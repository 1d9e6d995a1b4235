"""Lets a browser come into the console, and says how soon pages tell of carriers."""

from playwright.sync_api import Page, expect

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from tests.support.api.server import Server
from tests.support.console.operators import OPERATOR, link_of, made_operator
from tests.support.portal.authenticator import STEP_MS, code_of, given_codes

TOLD_WITHIN_MS = 5_000  # the page says within this time what has happened
CONNECTS_WITHIN_MS = 20_000


def sign_in_operator(
    page: Page, server: Server, db: Database, role: OperatorRole = OperatorRole.SUPPORT
) -> None:
    """Signs an operator in by a link and a code of an app, and waits for the console's first
    page.
    """
    made_operator(db, role)
    with db.write() as tx:
        secret, _ = given_codes(tx, users.find(tx, OPERATOR).id, clock.now_ms() - STEP_MS)
    page.goto(server.url + link_of(db))
    page.get_by_role("button", name="Sign in").click()
    page.locator("input.code").fill(code_of(secret, clock.now_ms()))
    page.locator("input.code").press("Enter")
    expect(page.get_by_role("heading", name="Now", exact=True)).to_be_visible()
