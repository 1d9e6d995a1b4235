"""Whatever a record says, its page is made of the same elements, and leads to the same places:
campaigns, messages, webhooks with their deliveries, customers, and what shops told.

Each record is made by its use case. Texts that the use case takes are given to it; all of them are
then stored past what checks them.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import accounts, campaigns, plugin
from heliograph.accounts.tables import accounts as account_rows
from heliograph.base import clock, ids
from heliograph.base.errors import InvalidRequest
from heliograph.base.json import encode
from heliograph.campaigns.tables import campaigns as campaign_rows
from heliograph.database.database import Database
from heliograph.plugin.logs import ReportedEntry, store_event, store_logs
from heliograph.plugin.tables import site_events
from heliograph.webhooks import endpoints
from heliograph.webhooks.tables import (
    webhook_attempts,
    webhook_deliveries,
    webhook_queue,
)
from tests.support.api.service import Loop
from tests.support.capability.campaigns import write_down
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint, happened_to
from tests.support.factories import PHONE
from tests.support.portal.hostile import HOSTILE, structure_of
from tests.support.portal.routes import customer_of
from tests.support.portal.sent_texts import sender_of
from tests.support.portal.shown_texts import OF_RECORDS
from tests.support.portal.visitor import EMAIL, Visitor, home_of

PLAIN = "plain"
URL = "https://amina.example"


@pytest.fixture
def paths(house_at_rest: House, run_loop: Loop) -> list[str]:
    """Returns the pages of one record of each kind, which use cases have made."""
    house, db = house_at_rest, house_at_rest.db
    home, now_ms = home_of(db, house.amina_id), clock.now_ms()
    hook, _ = endpoint(db, house.amina_id)
    message = sender_of(house, run_loop)(PHONE, PLAIN, reference=PLAIN)
    tried(db, run_loop, house)
    draft = write_down(db, house.amina_id)
    customer = accounts.text_of_id(customer_of(db, house.amina_id), is_customer=True)
    with db.write() as tx:
        shop = plugin.connect(
            tx, house.amina_id, URL, plugin.SiteDetails(*[PLAIN] * 5), sandbox=False, now_ms=now_ms
        )
        entry = ReportedEntry(URL, PLAIN, PLAIN, status=PLAIN, body=PLAIN, message_id=PLAIN)
        store_logs(tx, {URL: shop}, [entry], now_ms=now_ms)
        store_event(tx, shop, PLAIN, encode({PLAIN: PLAIN}).decode(), None, now_ms=now_ms)
    return [
        f"{home}/campaigns/{campaigns.text_id(draft)}",
        f"{home}/campaigns/{campaigns.text_id(draft)}/launch",
        f"{home}/messages",
        f"{home}/messages/{message}",
        f"{home}/webhooks",
        f"{home}/webhooks/{endpoints.text_id(hook.id)}",
        f"{home}/webhooks/{endpoints.text_id(hook.id)}?show=failed",
        f"{home}/connect/{customer}",
        f"/portal/accounts/{customer}",
        f"{home}/sites/{plugin.text_id(shop)}",
        f"{home}/sites/{plugin.text_id(shop)}?show=events",
    ]


def tried(db: Database, run_loop: Loop, house: House) -> None:
    """Makes two events: one was tried once, and the other will not be tried any more."""
    run_loop(happened_to(db, house.amina_id, 2, PLAIN))
    with db.write() as tx:
        rows = tx.execute(sa.select(webhook_queue.c.endpoint_id, webhook_queue.c.event_id)).all()
        first, last = (dict(row._mapping) for row in rows[:2])
        for event in (first, last):
            tx.execute(
                webhook_attempts.insert().values(
                    id=ids.raw_of_number(ids.new_number(clock.now_ms())),
                    **event,
                    **{"try": 1, "status": 500, "reason": "status", "took_ms": 12, "answer": PLAIN},
                )
            )
        tx.execute(
            webhook_deliveries.insert().values(
                **last,
                outcome="exhausted",
                tries=9,
                status=500,
                took_ms=12,
                answer=PLAIN,
                at_ms=clock.now_ms(),
            )
        )


def store(db: Database, text: str, amina_id: str) -> None:
    """Gives this text to all that the records say, but for the name of the account itself."""
    text = text.replace("\0", "?") if db.postgresql else text
    with db.write() as tx:
        for table, columns in OF_RECORDS.items():
            given = {name: text[: length(table.c[name])] for name in columns}
            changed = table.update().values(given)
            if table is account_rows:
                changed = changed.where(table.c.id != amina_id)
            tx.execute(changed)
        tagged = encode({"kind": "tags", "tags": [text]}).decode()
        tx.execute(campaign_rows.update().values(audience=tagged))
        payload = encode({text: [text, {text: 1}]}).decode()
        tx.execute(site_events.update().values(payload=payload))


def length(column: sa.Column[Any]) -> int | None:
    return column.type.length if isinstance(column.type, sa.String) else None


def test_no_text_of_a_record_becomes_a_part_of_its_page(
    visitor: Visitor, house_at_rest: House, paths: list[str]
) -> None:
    db, amina_id = house_at_rest.db, house_at_rest.amina_id
    visitor.sign_in(EMAIL, amina_id)
    store(db, PLAIN, amina_id)
    plain = {}
    for path in paths:
        page = visitor.get(path)
        assert page.status_code == 200, path
        assert PLAIN in page.text, path
        plain[path] = structure_of(page.text)
    for text in HOSTILE:
        store(db, text, amina_id)
        for path in paths:
            page = visitor.get(path)
            assert page.status_code == 200, (path, text)
            assert structure_of(page.text) == plain[path], (path, text)
            assert "b=c" not in page.headers.get("set-cookie", "")


def test_no_text_that_the_service_takes_becomes_a_part_of_a_page(
    visitor: Visitor, house_at_rest: House, run_loop: Loop
) -> None:
    db, amina_id = house_at_rest.db, house_at_rest.amina_id
    visitor.sign_in(EMAIL, amina_id)
    home, send_text = home_of(db, amina_id), sender_of(house_at_rest, run_loop)

    def given(make: Callable[[str], str]) -> dict[str, str]:
        """Returns the pages of the records that were made with each text that is taken."""
        made = {}
        for text in (PLAIN, *(each for each in HOSTILE if "\0" not in each)):  # forms take no NUL
            with suppress(InvalidRequest):
                made[text] = make(text)
        return made

    def send(text: str) -> str:
        return f"{home}/messages/{send_text(PHONE, text)}"

    def write(text: str) -> str:
        draft = write_down(db, amina_id, message=text.replace("{", "{{").replace("}", "}}"))
        return f"{home}/campaigns/{campaigns.text_id(draft)}"

    for make, least in ((send, 25), (write, 25)):
        found = given(make)
        assert len(found) > least
        parts = {path: structure_of(visitor.get(path).text) for path in found.values()}
        known = {str(part) for part in parts[found[PLAIN]][0]}
        for text, path in found.items():  # a longer text has more rows, but no other elements
            assert {str(part) for part in parts[path][0]} <= known, text
            assert all(each.startswith(("/portal", "#")) for each in parts[path][1]), text
