"""The members of a large account are shown page by page, and each can be removed."""

import html
import re

from heliograph import users
from heliograph.base import clock
from heliograph.base.paging import LIMIT_DEFAULT
from heliograph.database.database import Database
from heliograph.users import Role, members
from tests.support.console.people import user_named
from tests.support.portal.visitor import EMAIL, Visitor


def roles(db: Database, account_id: str) -> set[str]:
    with db.read() as tx:
        return {member.user.email for member in members.of_account(tx, account_id)}


def test_a_long_list_of_members_is_shown_page_by_page(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        for place in range(LIMIT_DEFAULT + 3):
            user = users.add(tx, f"member{place}@example.com", now_ms=clock.now_ms())
            users.set_role(tx, user.id, amina_id, Role.VIEWER, now_ms=clock.now_ms())
    everybody = set(roles(db, amina_id))
    first = visitor.get(f"{home}/members").text
    [rest] = re.findall(r'rel="next" href="([^"]+)"', first)
    second = visitor.get(html.unescape(rest)).text
    assert 'rel="next"' not in second
    shown = [{email for email in everybody if f"<td>{email}" in page} for page in (first, second)]
    assert [len(emails) for emails in shown] == [LIMIT_DEFAULT, len(everybody) - LIMIT_DEFAULT]
    assert shown[0] | shown[1] == everybody
    one = min(shown[1] - {EMAIL})
    assert (
        visitor.post(
            f"{home}/members", {"do": "remove", "user": users.text_id(user_named(db, one))}
        ).status_code
        == 303
    )
    assert set(roles(db, amina_id)) == everybody - {one}
