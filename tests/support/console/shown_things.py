"""Makes one of each thing that the console shows, with texts that were written by accounts,
carriers, operators and strangers, and gives these texts others, past all that checks them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from heliograph import accounts, otp
from heliograph.accounts.tables import account_history
from heliograph.accounts.tables import accounts as account_rows
from heliograph.alerts.tables import alert_recipients, alert_tellings, alerts
from heliograph.audit.tables import ledger_proof_findings, ledger_proofs
from heliograph.base import clock, ids
from heliograph.base.short_texts import printable
from heliograph.campaigns.tables import campaigns
from heliograph.carriers.tables import carriers, links
from heliograph.console.seen_pages.seen_portal import SEEN
from heliograph.contacts.tables import opt_out_changes
from heliograph.database.database import Database
from heliograph.inbound.tables import inbound, keywords
from heliograph.keys.tables import api_keys
from heliograph.messages.tables import (
    carrier_refs,
    inflight,
    messages,
    operator_decisions,
    queue,
    sends,
    unmatched_receipts,
)
from heliograph.opt_outs.tables import suppressions
from heliograph.plugin.tables import sites
from heliograph.portal.page_request import CONSOLE
from heliograph.portal.portal import Portal
from heliograph.pricing.tables import rate_sheets
from heliograph.senders.tables import (
    reserved_senders,
    sender_documents,
    sender_history,
    senders,
)
from heliograph.users.tables import operator_log
from heliograph.users.tables import users as user_rows
from heliograph.wallet import ledger
from heliograph.wallet.tables import ledger_entries
from heliograph.webhooks.tables import webhook_endpoints
from tests.support.alerted import OPERATOR_MAIL, added
from tests.support.api.inbound_texts import store_inbound
from tests.support.console.messages import stored_message
from tests.support.console.operators import (
    account_in_sandbox,
    attached,
    member_of,
    opted_out,
    own_keyword,
    own_number,
    uploaded_sheet,
    waiting_sender,
)
from tests.support.factories import PHONE, open_carrier
from tests.support.portal.routes import customer_of, things_of

PLAIN = "plain"
RANGE = "23320123"
CARRIER = "mtn"
SENDER_LENGTH = 15  # everywhere, because a page compares those of messages and receipts
# what the console shows that is not its own
SHOWN: dict[sa.Table, tuple[str, ...]] = {
    account_history: ("reason", "by"),
    account_rows: ("name",),
    alert_recipients: ("address",),
    alert_tellings: ("address", "failure"),
    alerts: ("title", "found", "remedy"),
    api_keys: ("name", "prefix"),
    campaigns: ("name", "sender"),
    carrier_refs: ("ref", "printed", "sender", "receipt_error"),
    carriers: ("state_detail",),
    inbound: ("sender", "recipient", "text", "keyword"),
    keywords: ("keyword", "reply"),
    ledger_entries: ("description", "reference"),
    ledger_proof_findings: ("what",),
    ledger_proofs: ("asked_by",),
    links: ("state_detail",),
    messages: ("error_message",),
    opt_out_changes: ("by_name",),
    operator_decisions: ("decided_by", "reason"),
    operator_log: ("email", "record", "before", "after", "reason"),
    rate_sheets: ("name", "email", "reason"),
    reserved_senders: ("sender", "reason"),
    sender_documents: ("name",),
    sender_history: ("reason", "by"),
    senders: ("sender", "purpose"),
    sends: ("sender", "reference"),
    sites: ("site_url", "site_name", "platform", "plugin_version"),
    suppressions: ("sender",),
    unmatched_receipts: ("ref", "receipt_error", "sender"),
    user_rows: ("email",),
    webhook_endpoints: ("url",),
}
# pages of the account that waits: nothing is owed of it, so it can be closed
OF_WAITING = (
    f"{CONSOLE}/approvals/accounts/{{account}}",
    f"{CONSOLE}/accounts/{{account}}/close",
)
FILES = (
    *("/export", "/file", "/entries", "/statement", "/statement.pdf"),
    *("/documents/{document}", "/money/days"),
)


class ShownThings(NamedTuple):
    """Holds what paths of the console name, by the names of their parameters."""

    account: str
    sender: str
    message: str
    queued: str
    document: str
    carrier: str
    carrier_id: int
    sheet: str
    recipient: str
    receipt: str
    number: str
    user: str
    inbound: str
    keyword: str
    waiting_account: str
    key: str
    endpoint: str
    campaign: str


def made(db: Database, amina_id: str) -> ShownThings:
    """Makes one of each thing. amina has most of them."""
    own = things_of(db, amina_id, customer_of(db, amina_id))
    sender = waiting_sender(db, amina_id)
    document = attached(db, amina_id, sender).text_id
    waiting, message = account_in_sandbox(db), stored_message(db, amina_id, reference=PLAIN)
    queued, _ = (_queued(db, amina_id) for _ in range(2))
    told, sheet = added(db, OPERATOR_MAIL).recipient, uploaded_sheet(db)
    carrier_id = open_carrier(db, CARRIER)
    receipt = _about_carriers(db, carrier_id, message)
    _about_operators(db, amina_id, told.id)
    number, member = own_number(db, amina_id), member_of(db, amina_id)
    keyword = own_keyword(db, amina_id)
    opted_out(db, amina_id, PHONE, PLAIN)
    with db.write() as tx:
        ledger.grant(tx, amina_id, 1, PLAIN, PLAIN, now_ms=clock.now_ms())
        text = store_inbound(tx, amina_id, PLAIN, keyword=PLAIN)
        otp.block(tx, amina_id, RANGE, clock.now_ms())
        return ShownThings(
            account=accounts.text_id(accounts.by_id(tx, amina_id)),
            sender=sender,
            message=message,
            queued=queued,
            document=document,
            carrier=CARRIER,
            carrier_id=carrier_id,
            sheet=sheet,
            recipient=told.text_id,
            receipt=receipt,
            number=number,
            user=member,
            inbound=text,
            keyword=keyword,
            waiting_account=accounts.text_id(accounts.by_id(tx, waiting)),
            key=own.key,
            endpoint=own.endpoint,
            campaign=own.campaign,
        )


def _queued(db: Database, account_id: str) -> str:
    """Stores a message that stands in the queue, and returns its id in text form."""
    message = stored_message(db, account_id, reference=PLAIN)
    raw = ids.raw_of_text("msg", message)
    with db.write() as tx:
        found = sa.select(messages.c.send_id).where(messages.c.id == raw)
        run = {"first_id": raw, "send_id": tx.execute(found).scalar_one(), "count": 1}
        tx.execute(queue.insert().values(_row(queue, **run, segments=1, carrier_id=1)))
    return message


def _about_carriers(db: Database, carrier_id: int, message: str) -> str:
    """Stores a receipt that matches nothing, and lets a message be in doubt about which something
    was decided before. Returns the id of the receipt.
    """
    now_ms, raw = clock.now_ms(), ids.raw_of_number(ids.new_number())
    message_id = ids.raw_of_text("msg", message)
    receipt = {"ref": PLAIN, "receipt_state": "DELIVRD", "receipt_error": PLAIN, "sender": PLAIN}
    decision = {"decision": "sent", "decided_by": PLAIN, "reason": PLAIN, "decided_at_ms": now_ms}
    with db.write() as tx:
        tx.execute(
            unmatched_receipts.insert().values(
                id=raw,
                carrier_id=carrier_id,
                **receipt,
                recipient=233201234567,
                raw=b"",
                received_at_ms=now_ms,
            )
        )
        tx.execute(
            operator_decisions.insert().values(
                id=_new_id(),
                carrier_id=carrier_id,
                **decision,
                message_id=message_id,
                parts=1,
            )
        )
        doubt = {"state": "in_doubt", "parts": 1, "since_ms": now_ms, "expires_at_ms": now_ms}
        submitted = _row(inflight, message_id=message_id, carrier_id=carrier_id, **doubt)
        tx.execute(inflight.insert().values({**submitted, "prefix": ""}))
        tx.execute(messages.update().values(carrier_id=carrier_id))
        known = _row(carrier_refs, carrier_id=carrier_id, message_id=message_id, parts=1)
        tx.execute(carrier_refs.insert().values(known))
        tx.execute(reserved_senders.insert().values(_row(reserved_senders, skeleton="bank")))
    return ids.text_of_raw("rcp", raw)


def _about_operators(db: Database, account_id: str, recipient_id: str) -> None:
    """Stores what operators did, alerts of which they were told, and proofs of the ledger."""
    now_ms = clock.now_ms()
    ended = {"began_at_ms": now_ms, "opened_at_ms": now_ms}
    with db.write() as tx:
        for alert in (ended, {**ended, "over_at_ms": now_ms}):
            row = _row(alerts, kind="disk", **alert)
            told = {"recipient_id": recipient_id, "event": "opened", "failure": PLAIN}
            tx.execute(alerts.insert().values(row))
            tx.execute(
                alert_tellings.insert().values(_row(alert_tellings, alert_id=row["id"], **told))
            )
        proof = _row(
            ledger_proofs,
            asked_at_ms=now_ms,
            begun_at_ms=now_ms,
            ended_at_ms=now_ms,
            is_proven=False,
        )
        found = _row(ledger_proof_findings, proof_id=proof["id"], account_id=account_id)
        tx.execute(ledger_proofs.insert().values(proof))
        tx.execute(ledger_proof_findings.insert().values(found))
        logged = _row(operator_log, account_id=account_id, before=PLAIN, after=PLAIN)
        tx.execute(operator_log.insert().values({**logged, "record": PLAIN, "reason": PLAIN}))
        status = _row(account_history, account_id=account_id, status="active", at_ms=now_ms)
        tx.execute(account_history.insert().values({**status, "reason": PLAIN}))
        sender = sa.select(senders.c.id).where(senders.c.status == "submitted").limit(1)
        step = _row(sender_history, sender_id=tx.execute(sender).scalar_one(), at_ms=now_ms)
        tx.execute(sender_history.insert().values({**step, "status": "submitted", "reason": PLAIN}))


def _new_id() -> str:
    return ids.raw_of_number(ids.new_number())


def _row(table: sa.Table, **given: Any) -> dict[str, Any]:
    """Returns a row that says `PLAIN` or 0 where it must say something and is not given it."""
    values = dict(given)
    for column in table.columns:
        if column.name in values or column.nullable:
            continue
        if column.name == "id" or column.name.endswith("_id"):
            values[column.name] = _new_id()
        else:
            values[column.name] = 0 if isinstance(column.type, sa.Integer) else PLAIN
    return values


def forms_of_console(portal: Portal, things: ShownThings) -> set[str]:
    """Returns where the forms of the console go, but those of the portals that it shows."""
    return {path for method, path in _paths(portal, things) if method == "POST"}


def pages_of(portal: Portal, things: ShownThings) -> list[str]:
    """Returns the paths of all pages of the console, but files and the portals that it shows."""
    found = [
        f"{CONSOLE}/messages/{things.queued}",
        f"{CONSOLE}/messages/match?receipt={things.receipt}&message={things.message}",
        f"{CONSOLE}/messages/receipts?carrier={things.carrier_id}",
        f"{CONSOLE}/messages/in-doubt?carrier={things.carrier_id}",
        f"{CONSOLE}/messages?q={things.message}",
        f"{CONSOLE}/abuse/unblock?account={things.account}&place={RANGE}",
        f"{CONSOLE}/routes?to=233201234567&account={things.account}",
        f"{CONSOLE}/accounts/{things.account}/close",
        f"{CONSOLE}/approvals/reserved?name=bank",
        f"{CONSOLE}/approvals/reserved/release?sender=bank",
        f"{CONSOLE}/numbers?of={things.account}",
        f"{CONSOLE}/numbers/keywords?account={things.account}",
        f"{CONSOLE}/messages/inbound?account={things.account}",
        f"{CONSOLE}/phones?phone={PHONE}&account={things.account}",
        f"{CONSOLE}/phones/opt-outs?account={things.account}",
        f"{CONSOLE}/phones/opt-outs/lift?account={things.account}&phone={PHONE}",
        f"{CONSOLE}/phones/erase?account={things.account}&phone={PHONE}",
        f"{CONSOLE}/log?account={things.account}",
        f"{CONSOLE}/accounts?q={things.account}",
        f"{CONSOLE}/people?q={things.user}",
    ]
    return found + [path for method, path in _paths(portal, things) if method == "GET"]


def _paths(portal: Portal, things: ShownThings) -> Iterator[tuple[str, str]]:
    for route in portal.routes:
        path, method = route.path, "POST" if "POST" in (route.methods or ()) else "GET"
        is_ours = path.startswith(CONSOLE) and not path.startswith(SEEN)
        if not is_ours or (method == "GET" and path.endswith(FILES)):
            continue
        if path in OF_WAITING:
            path = path.replace("{account}", things.waiting_account)
        yield method, path.format(**things._asdict())


def store(db: Database, texts: Sequence[str], shift: int) -> None:
    """Gives each of these texts to another row: the next ones, with the next `shift`."""
    with db.write() as tx:
        for table, columns in SHOWN.items():
            key = list(table.primary_key.columns)
            rows = tx.execute(sa.select(*key).order_by(*key)).all()
            # from the last one on: no two rows have the same text at any moment
            for place, row in reversed(list(enumerate(rows))):
                text = texts[(place + shift) % len(texts)]
                text = text.replace("\0", "?") if db.postgresql else text
                values = {name: _cut(text, table.c[name]) for name in columns}
                of_row = [table.c[name] == value for name, value in row._asdict().items()]
                tx.execute(table.update().where(*of_row).values(values))


def _cut(text: str, column: sa.Column[Any]) -> str:
    """Returns as much of a text as fits. A sender is printable wherever it comes in."""
    if column.name == "sender":
        return printable(text)[:SENDER_LENGTH].rstrip(" ")
    return text[: column.type.length] if isinstance(column.type, sa.String) else text
