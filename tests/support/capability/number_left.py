"""Shows what an account's work leaves behind of a phone number, in every table that may hold
one.
"""

import hashlib
import json
from collections import Counter
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts.tables import customers, notices
from heliograph.base import clock, ids
from heliograph.campaigns.tables import campaign_recipients, campaigns
from heliograph.carriers import ReceiptState
from heliograph.contacts.tables import contacts
from heliograph.database.database import metadata
from heliograph.messages.groups import open_group
from heliograph.messages.tables import (
    carrier_refs,
    messages,
    operator_decisions,
    unmatched_receipts,
)
from heliograph.opt_outs.tables import opt_outs
from heliograph.otp.tables import otps
from heliograph.plugin.tables import site_events, site_logs, sites
from heliograph.requests.tables import idempotency_keys
from heliograph.text import parse_phone
from heliograph.text.phones_in_text import Quoted
from heliograph.webhooks.tables import webhook_attempts, webhook_deliveries, webhook_events
from tests.support.capability.sending import House
from tests.support.factories import PHONE

LOCAL = "020 123-4567"
OTHER = "233201234568"
NUMBER = int(PHONE)
Rows: TypeAlias = list[tuple[sa.Table, dict[str, Any]]]


def new_id() -> str:
    return ids.raw_of_number(ids.new_number())


def names_it(db: Any) -> Counter[str]:
    """Counts how many values of each column of the whole database have the number in them, in any
    spelling.
    """
    phone = parse_phone(PHONE)
    assert phone is not None
    quoted, found = Quoted(phone), Counter[str]()
    with db.read() as tx:
        for table in metadata.sorted_tables:
            for row in tx.execute(sa.select(table)).mappings():
                for name, value in row.items():
                    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
                    if not isinstance(table.c[name].type, sa.Uuid | sa.types.TypeDecorator) and (
                        quoted.stands_in(text) or PHONE[3:] in text
                    ):
                        found[f"{table.name}.{name}"] += 1
    return found


async def texts(house: House, account_id: str) -> None:
    """Sends texts: to the number alone, to it and another, and to another about it; and one that
    was refused.
    """
    for to, text in (
        ([PHONE], "your code"),
        ([PHONE, OTHER], "to both"),
        ([OTHER], f"call {LOCAL}"),
        ([OTHER, f"+{PHONE}9"], "hi"),
    ):
        await house.send(
            to,
            text=text,
            account_id=account_id,
            reference=f"for {PHONE}" if to == [OTHER] else None,
        )
        link = house.turn()
        await link.turn.run_once()
        for submission in list(link.open.values()):
            (ref,) = link.answer(submission, ref=f"{submission.message_id[-12:]}")
            link.receive(ref, submission.recipient, ReceiptState.DELIVRD)
        await link.turn.run_once()


def rows(house: House, account_id: str) -> None:
    """Stores what other ways leave behind of it."""
    with house.db.write() as tx:
        for table, values in (
            *_of_contacts(account_id),
            *_of_campaigns(tx, account_id),
            *_of_a_site(account_id),
            *_of_others(tx, account_id),
            *_of_messages(tx, account_id),
        ):
            tx.execute(table.insert().values(values))


def _of_contacts(account_id: str) -> Rows:
    return [
        (
            contacts,
            {
                "id": new_id(),
                "account_id": account_id,
                "sandbox": False,
                "phone": NUMBER,
                "tags": "[]",
                "custom": "{}",
                "opted_out": False,
                "searched": PHONE,
                "created_at_ms": 1,
                "updated_at_ms": 1,
            },
        ),
        (
            contacts,
            {
                "id": new_id(),
                "account_id": account_id,
                "sandbox": True,
                "phone": int(OTHER),
                "tags": "[]",
                "custom": f'{{"of":"{LOCAL}"}}',
                "opted_out": False,
                "searched": LOCAL,
                "created_at_ms": 1,
                "updated_at_ms": 1,
            },
        ),
        (opt_outs, {"account_id": account_id, "sandbox": False, "phone": NUMBER, "due_ms": 0}),
    ]


def _of_campaigns(tx: Connection, account_id: str) -> Rows:
    campaign_id = new_id()
    group_id = open_group(tx, account_id, campaign_id, sandbox=False)
    return [
        (
            campaigns,
            {
                "id": campaign_id,
                "group_id": group_id,
                "account_id": account_id,
                "sandbox": False,
                "name": "x",
                "sender": "AMINA",
                "text": f"call {PHONE}",
                "audience": "{}",
                "validity_s": 60,
                "status": "completed",
                "as_far_as_credits_reach": False,
                "recipients_total": 1,
                "opted_out": 0,
                "refused": 0,
                "cursor": NUMBER,
                "expanded": True,
                "ended_at_ms": 1,
                "created_at_ms": 1,
            },
        ),
        (campaign_recipients, {"group_id": group_id, "recipient": NUMBER, "text": f"for {LOCAL}"}),
    ]


def _of_a_site(account_id: str) -> Rows:
    site_id = new_id()
    return [
        (
            sites,
            {
                "id": site_id,
                "account_id": account_id,
                "sandbox": False,
                "site_url": "https://a.example",
                "connected_at_ms": 1,
                "updated_at_ms": 1,
            },
        ),
        (
            site_logs,
            {
                "id": new_id(),
                "site_id": site_id,
                "event": "sent",
                "recipient": LOCAL,
                "external_ref": f"for {PHONE}",
                "created_at_ms": 1,
            },
        ),
        (
            site_events,
            {
                "id": new_id(),
                "site_id": site_id,
                "event": "sold",
                "payload": json.dumps({"to": LOCAL}),
                "created_at_ms": 1,
            },
        ),
    ]


def _of_others(tx: Connection, account_id: str) -> Rows:
    now_ms = clock.now_ms()
    customer = accounts.create(
        tx, f"customer {new_id()}", "GH", parent_id=account_id, now_ms=now_ms
    )
    return [
        (
            otps,
            {
                "id": new_id(),
                "account_id": account_id,
                "sandbox": False,
                "phone": NUMBER,
                "code_hmac": b"x" * 32,
                "failures": 0,
                "created_at_ms": 1,
            },
        ),
        (
            idempotency_keys,
            {
                "account_id": account_id,
                "sandbox": False,
                "path": "POST /contacts",
                "key": "k",
                "created_at_ms": now_ms,
                "body_sha256": hashlib.sha256(b"").digest(),
                "answer": json.dumps({"data": {"phone": PHONE}}),
            },
        ),
        (
            customers,
            {
                "account_id": customer.id,
                "partner_id": account_id,
                "sandbox": False,
                "phone": PHONE,
            },
        ),
        (
            notices,
            {
                "id": new_id(),
                "account_id": account_id,
                "kind": "x",
                "text": f"about {PHONE}",
                "created_at_ms": 1,
            },
        ),
    ]


def _of_messages(tx: Connection, account_id: str) -> Rows:
    def one_of(table: sa.Table) -> str:
        query = sa.select(table.c.id).where(table.c.account_id == account_id).limit(1)
        return str(tx.execute(query).scalar_one())

    event_id, message_id = one_of(webhook_events), one_of(messages)
    return [
        (
            operator_decisions,
            {
                "id": new_id(),
                "message_id": message_id,
                "carrier_id": 1,
                "parts": 0,
                "decision": "sent",
                "decided_by": "amina",
                "reason": f"{LOCAL} has it",
                "decided_at_ms": 1,
            },
        ),
        (
            webhook_deliveries,
            {
                "endpoint_id": new_id(),
                "event_id": event_id,
                "outcome": "missed",
                "tries": 1,
                "answer": PHONE,
                "at_ms": clock.now_ms(),
            },
        ),
        (
            webhook_attempts,
            {
                "id": new_id(),
                "endpoint_id": new_id(),
                "event_id": event_id,
                "try": 1,
                "reason": "status",
                "took_ms": 1,
                "answer": f"no such {LOCAL}",
            },
        ),
    ]


def nobodys(house: House) -> None:
    """Stores receipts that found no message."""
    with house.db.write() as tx:
        tx.execute(
            carrier_refs.insert().values(
                carrier_id=1,
                ref="nobodys",
                recipient=NUMBER,
                receipt_state="DELIVRD",
                created_at_ms=1,
            )
        )
        tx.execute(
            unmatched_receipts.insert().values(
                id=new_id(),
                carrier_id=1,
                recipient=NUMBER,
                raw=f"to {PHONE}".encode(),
                received_at_ms=1,
            )
        )
