"""A part of a page that asks for itself gets no answer while it shows what there is already."""

import re

import httpx

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.portal.page_request import SHOWN_HEADER
from heliograph.users import Role
from tests.support.api.inbound_texts import store_inbound
from tests.support.portal.visitor import Visitor

PHONE = "233201234567"


def shown_in(page: httpx.Response) -> dict[str, str]:
    """Returns the header by which a part of the page asks for itself."""
    found = re.search(r'data-shown="([0-9a-f]{16})"', page.text)
    assert found is not None, page.text
    return {SHOWN_HEADER: found[1]}


def test_a_part_gets_no_answer_until_something_is_new_or_a_minute_older(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    stranger.sign_in("kofi@example.com", amina_id, Role.VIEWER)
    for path in ("/handsets", f"/handsets/{PHONE}", f"/conversations/{PHONE}?mode=sandbox"):
        clock.move(60_000 - clock.now_ms() % 60_000)  # so that no minute ends meanwhile
        first = visitor.get(home + path)
        same = visitor.get(home + path, headers=shown_in(first))
        assert (same.status_code, same.content) == (204, b"")
        assert visitor.get(home + path).status_code == 200, "who loads the page gets it"
        assert stranger.get(home + path, headers=shown_in(first)).status_code == 200
        with db.write() as tx:
            store_inbound(tx, amina_id, f"new at {path}", sender=PHONE, sandbox=True)
        newer = visitor.get(home + path, headers=shown_in(first))
        assert f"new at {path}" in newer.text
        assert visitor.get(home + path, headers=shown_in(newer)).status_code == 204
        clock.move(60_000)
        older = visitor.get(home + path, headers=shown_in(newer))
        assert "1 min ago" in older.text


def test_a_part_hears_that_its_session_has_ended(visitor: Visitor, home: str) -> None:
    shown = shown_in(visitor.get(f"{home}/handsets"))
    visitor.post("/portal/sign-out")
    assert visitor.get(f"{home}/handsets", headers=shown).headers["hx-refresh"] == "true"
