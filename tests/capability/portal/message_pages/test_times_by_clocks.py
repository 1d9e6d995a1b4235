"""The times of messages and events are by the clocks of the account, and files have them in UTC."""

import html
import re

from heliograph import accounts
from heliograph.base import clock
from heliograph.base.clock import HOUR_MS
from tests.support.api.service import Loop
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint
from tests.support.portal.sent_texts import SendText
from tests.support.portal.visitor import Visitor
from tests.support.portal.webhook_pages import happens, path_of

BY_CLOCKS = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d):\d\d:\d\d WAT")
IN_UTC = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def seen(visitor: Visitor, path: str) -> str:
    """Returns what a page shows of times: its texts, and what hovering shows."""
    page = re.sub(r'datetime="[^"]*"', "", visitor.get(path).text)
    assert visitor.page.status_code == 200
    return html.unescape(page)


def test_times_of_messages_and_events_are_those_of_the_account(
    visitor: Visitor, sent: SendText, run_loop: Loop, house: House, root: str
) -> None:
    db, amina_id = house.db, house.amina_id
    message = sent()
    made, _ = endpoint(db, amina_id)
    run_loop(happens(db, amina_id, 1))
    with db.write() as tx:
        accounts.change(tx, amina_id, time_zone="Africa/Lagos")
    in_an_hour = clock.rfc3339(clock.now_ms() + HOUR_MS)[: len("2026-01-31T09")].split("T")
    for path in (f"{root}/messages", f"{root}/messages/{message}", path_of(root, made)):
        page = seen(visitor, path)
        assert [*BY_CLOCKS.findall(page)] != [], path
        assert all([*found] == in_an_hour for found in BY_CLOCKS.findall(page)), path
        assert "just now" in page
        assert IN_UTC.findall(page) == [], path
    file = visitor.get(f"{root}/messages/export?mode=live").text
    assert IN_UTC.search(file), file
