"""Reads what the forms about people have shown and written down."""

import re

import httpx

from heliograph import users
from heliograph.database.database import Database

YAW = "yaw@example.com"
WHY = {"reason": "they asked by phone"}


def link_in(page: httpx.Response) -> str:
    """Returns the secret of the sign-in link that a page shows."""
    found = re.search(r'id="secret"[^>]*>[^<]*/portal/sign-in/([^<]+)<', page.text)
    assert found is not None, page.text
    return found[1]


def user_named(db: Database, email: str) -> users.User:
    """Returns the user with this address."""
    with db.read() as tx:
        return users.find(tx, email)
