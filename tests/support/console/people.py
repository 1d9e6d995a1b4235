"""Reads what the forms about people have shown and written down."""

import re
from collections.abc import Sequence

import httpx

from heliograph import users
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.users import OperatorEntry

YAW = "yaw@example.com"
WHY = {"reason": "they asked by phone"}
LATEST = PageWanted(20, None)


def logged(db: Database) -> Sequence[OperatorEntry]:
    """Returns what the operators' log has, newest first."""
    with db.read() as tx:
        return [each.entry for each in users.operator_entries(tx, LATEST)]


def link_in(page: httpx.Response) -> str:
    """Returns the secret of the sign-in link that a page shows."""
    found = re.search(r'id="secret"[^>]*>[^<]*/portal/sign-in/([^<]+)<', page.text)
    assert found is not None, page.text
    return found[1]


def user_named(db: Database, email: str) -> users.User:
    """Returns the user with this address."""
    with db.read() as tx:
        return users.find(tx, email)
