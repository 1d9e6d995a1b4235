"""Whatever programs, phones, browsers, receivers and files have said, the pages that show it are
made of the same elements, and lead to the same places: requests, the ledger, reports, handsets,
events, documents, imports, passkeys, sessions, invitations and sign-ups.

All texts are stored past what checks them.
"""

from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from heliograph import keys, users
from heliograph.base import clock, ids
from heliograph.contacts import ContactOwner, stored_import
from heliograph.contacts.stored_import import FileToImport, ImportReport
from heliograph.contacts.tables import contact_imports
from heliograph.database.database import Database
from heliograph.opt_outs.tables import suppressions
from heliograph.requests.tables import request_log
from heliograph.users import Role, members, sign_ups
from heliograph.users.sign_ins import begin_session, digest
from heliograph.users.tables import invitations, passkeys
from heliograph.users.tables import sign_ups as sign_up_rows
from heliograph.wallet import ledger
from heliograph.wallet.tables import ledger_entries
from heliograph.webhooks import endpoints
from heliograph.webhooks.events import EVENT_PREFIX
from heliograph.webhooks.tables import (
    webhook_attempts,
    webhook_queue,
)
from tests.support.api.inbound_texts import store_inbound
from tests.support.api.service import Loop
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint, happened_to
from tests.support.console.operators import attached, waiting_sender
from tests.support.factories import PHONE
from tests.support.portal.hostile import HOSTILE, structure_of
from tests.support.portal.rolled_up import rolled_up
from tests.support.portal.sent_texts import sender_of
from tests.support.portal.shown_texts import FROM_OUTSIDE, OTHER_SIDE
from tests.support.portal.visitor import EMAIL, Visitor, home_of

PLAIN = "plain"
LINK = "a-link"


@pytest.fixture
def paths(visitor: Visitor, house_at_rest: House, run_loop: Loop) -> list[str]:
    """Returns the pages that show what was said from outside. Their owner is signed in."""
    house, db = house_at_rest, house_at_rest.db
    visitor.sign_in(EMAIL, house.amina_id)
    home = home_of(db, house.amina_id)
    sender_of(house, run_loop)(PHONE, PLAIN, sandbox=True)
    sender = waiting_sender(db, house.amina_id)
    attached(db, house.amina_id, sender)
    about_users(db, house.amina_id)
    requested_and_paid(db, house.amina_id)
    rolled_up(db, house.amina_id, clock.now_ms(), sender=PLAIN, delivered=1)
    with db.write() as tx:
        store_inbound(tx, house.amina_id, PLAIN, sender=PHONE, sandbox=True)
        tx.execute(
            suppressions.insert().values(
                id=ids.raw_of_number(ids.new_number()),
                account_id=house.amina_id,
                sandbox=True,
                phone=int(PHONE),
                sender=PLAIN,
                source="keyword",
            )
        )
    return [
        *("/portal/you", f"/portal/invitation/{LINK}", f"/portal/sign-up/{LINK}"),
        *(f"{home}/{below}" for below in ("handsets", f"handsets/{PHONE}", "members", "money")),
        f"{home}/reports",
        *(f"{home}/{below}?mode=sandbox" for below in ("requests", f"conversations/{PHONE}")),
        f"{home}/senders/{sender}/documents",
        f"{home}/contacts/import",
        *(f"{home}/contacts/imports/{each}" for each in imported(db, house.amina_id)),
        f"{home}{told(db, run_loop, house.amina_id)}",
    ]


def about_users(db: Database, account_id: str) -> None:
    """Stores an invitation, a sign-up, a passkey, and a session in another browser."""
    now_ms = clock.now_ms()
    with db.write() as tx:
        user = users.find(tx, EMAIL)
        members.invite(tx, account_id, "esi@example.com", Role.VIEWER, now_ms=now_ms)
        tx.execute(invitations.update().values(sha256=digest(LINK)))
        sign_ups.ask(tx, sign_ups.SignUp("efua@example.com", PLAIN, "GH", "GHS"), now_ms=now_ms)
        tx.execute(sign_up_rows.update().values(sha256=digest(LINK)))
        begin_session(tx, user.id, seen_by=PLAIN, now_ms=now_ms)
        tx.execute(
            passkeys.insert().values(
                id=ids.raw_of_number(ids.new_number()),
                user_id=user.id,
                name=PLAIN,
                credential_id=b"1",
                credential=b"",
                signatures=0,
                made_at_ms=now_ms,
            )
        )


def requested_and_paid(db: Database, account_id: str) -> None:
    """Stores a request that has failed, and an entry of the ledger."""
    now_ms = clock.now_ms()
    with db.write() as tx:
        made = keys.issue(
            tx,
            account_id,
            name=PLAIN,
            sandbox=True,
            tier="standard",
            permissions=["sms.send"],
            now_ms=now_ms,
        )
        tx.execute(
            request_log.insert().values(
                id=ids.raw_of_number(ids.new_number(now_ms)),
                account_id=account_id,
                key_id=made.record.id,
                sandbox=True,
                method="GET",
                endpoint=PLAIN,
                http_status=404,
                code=PLAIN,
                reason=PLAIN,
                took_ms=1,
            )
        )
        ledger.grant(tx, account_id, 1, PLAIN, PLAIN, now_ms=now_ms)


def imported(db: Database, account_id: str) -> list[str]:
    """Returns the ids of an import that has ended well, and of one that was stopped."""
    owner, now_ms = ContactOwner(account_id, False), clock.now_ms()
    understood: dict[str, list[str]] = {"fields": [], "custom": [], "not_read": []}
    made = []
    with db.write() as tx:
        for why in (None, PLAIN):
            sheet = FileToImport(b"phone\n", None, {}, 0, understood)
            made.append(stored_import.begin(tx, owner, sheet, PLAIN, now_ms=now_ms))
            runs = contact_imports.update().where(contact_imports.c.ended_at_ms.is_(None))
            tx.execute(runs.values(ended_at_ms=now_ms, bad=1, repeated=1, why=why))
    return made


def told(db: Database, run_loop: Loop, account_id: str) -> str:
    """Tells an endpoint of an event, without success. Returns the path of the event's page."""
    hook, _ = endpoint(db, account_id)
    run_loop(happened_to(db, account_id, 1, PLAIN))
    with db.write() as tx:
        row = tx.execute(sa.select(webhook_queue.c.endpoint_id, webhook_queue.c.event_id)).one()
        tx.execute(
            webhook_attempts.insert().values(
                id=ids.raw_of_number(ids.new_number(clock.now_ms())),
                **row._asdict(),
                **{"try": 1, "status": 500, "reason": PLAIN, "took_ms": 12, "answer": PLAIN},
            )
        )
    event = ids.text_of_raw(EVENT_PREFIX, row.event_id)
    return f"/webhooks/{endpoints.text_id(hook.id)}/events/{event}"


def store(db: Database, text: str) -> None:
    """Gives this text to all that is shown."""
    text = text.replace("\0", "?") if db.postgresql else text
    report = ImportReport(
        {"fields": [text], "custom": [text], "not_read": [text]}, [(2, text)], [3]
    )
    with db.write() as tx:
        for table, columns in FROM_OUTSIDE.items():
            tx.execute(
                table.update().values({name: text[: length(table.c[name])] for name in columns})
            )
        for column in OTHER_SIDE:
            tx.execute(column.table.update().values({column.name: text[:15]}))
        tx.execute(contact_imports.update().values(told=msgspec.json.encode(report).decode()))
        granted = {"description": text[:255], "reference": text[:128]}
        rows = ledger_entries.c
        tx.execute(ledger_entries.update().where(rows.reference.is_not(None)).values(granted))
        stopped = contact_imports.c.why.is_not(None)
        tx.execute(contact_imports.update().where(stopped).values(why=text))


def length(column: sa.Column[Any]) -> int | None:
    return column.type.length if isinstance(column.type, sa.String) else None


@pytest.mark.usefixtures("mailbox")  # without mail nobody signs up
def test_no_text_from_outside_becomes_a_part_of_its_page(
    visitor: Visitor, house_at_rest: House, paths: list[str]
) -> None:
    db = house_at_rest.db
    store(db, PLAIN)
    plain = {}
    for path in paths:
        page = visitor.get(path)
        assert page.status_code == 200, path
        assert PLAIN in page.text, path
        plain[path] = structure_of(page.text)
    for text in HOSTILE:
        store(db, text)
        for path in paths:
            page = visitor.get(path)
            assert page.status_code == 200, (path, text)
            assert structure_of(page.text) == plain[path], (path, text)
            assert "b=c" not in page.headers.get("set-cookie", "")
