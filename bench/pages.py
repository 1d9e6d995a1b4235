"""`python -m bench.pages` measures how long the portal takes for each page of an account that has a
million messages, a million contacts, a campaign to a million numbers of a file, and 10,000 keys
with a week of requests, on PostgreSQL. Its exit status is 1 when a page's 95th percentile is over
100 ms. Files, and pages of those who are not signed in, are not among them.

The pages are asked for in this process, as the tests ask for them: what is measured is the server's
part, without a network. The processor time of a page is that of this process and of its connections
on PostgreSQL; it says more than the clock on a machine that does something else.
"""

import argparse
import sys
import tempfile
import time
from io import StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bench.databases import postgres_databases
from bench.page_costs import AIM_MS, COLUMNS, PageCost, cost_of
from heliograph import campaigns
from heliograph.api.app import acceptor_for
from heliograph.base import clock, ids
from heliograph.contacts import OPERATOR, ContactOwner
from heliograph.contacts.csv_file import Sheet
from heliograph.contacts.import_file import Import
from heliograph.database import migrate
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database, metadata
from heliograph.messages.queue import FairQueue
from heliograph.messages.reports.count_rollups import RollupCounter, mark_again
from heliograph.portal.page_request import YOU, Service
from heliograph.portal.pages import OF_ACCOUNT, PAGES
from heliograph.portal.portal import Portal
from heliograph.processes.exclusive import tune_collector
from heliograph.users import passkeys
from heliograph.wallet import ledger
from heliograph.webhooks.events import EVENT_PREFIX
from tests.support.api.service import Loop
from tests.support.capability.campaigns import write_down, write_down_file
from tests.support.console.operators import attached, waiting_sender
from tests.support.factories import SECRET_KEY, open_account, open_route
from tests.support.portal.routes import customer_of, things_of
from tests.support.portal.visitor import EMAIL, SITE, Visitor, home_of
from tests.support.portal.webhook_pages import exhaust, happens

OF_SEND: Final = 50
FILES: Final = ("/export", "/file")  # how the paths of files end
DAY_MS: Final = 86_400_000
DAYS: Final = 30
KEYS: Final = 10_000
REQUESTS: Final = 600_000
INBOUND: Final = 100_000
SITE_LOGS: Final = 100_000
EVENTS: Final = 1_000
WRITER: Final = "233201234567"
AUDIENCES: Final[list[dict[str, Any]]] = [{}, {"tags": ["vip"]}, {"tags": ["few"]}]  # of drafts
# in the statements: an id of this time and this place, as a version 7 of RFC 9562 has it
_ID: Final = (
    "(lpad(to_hex({ms}), 12, '0') || '7000' || '8' || lpad(to_hex({place}), 15, '0'))::uuid"
)
_SENT_MS: Final = "(:begun + n * :step)"
_GROUP: Final = "CASE WHEN n % 10 = 1 THEN CAST(:sent_group AS int) END"  # of a campaign

_SENDS: Final = f"""
    INSERT INTO sends (id, account_id, sandbox, type, sender, text, encoding, segments,
        message_count, expires_at_ms, credits_required, credits_used, credits_remaining,
        created_at_ms, group_id)
    SELECT {_ID.format(ms=_SENT_MS, place="n * 100")}, :account, false,
        CASE WHEN n % 10 = 0 THEN 'otp' ELSE 'sms' END, 'AMINA', 'Your order is on its way',
        'GSM-7', 1, {OF_SEND}, {_SENT_MS} + {DAY_MS}, {OF_SEND}, {OF_SEND}, 1000000, {_SENT_MS},
        {_GROUP}
    FROM generate_series(0::bigint, :sends - 1) AS n"""
_MESSAGES: Final = f"""
    INSERT INTO messages (id, send_id, account_id, sandbox, recipient, country_code, carrier_id,
        status, segments, credits, error_code, sent_at_ms, delivered_at_ms, failed_at_ms, group_id)
    SELECT {_ID.format(ms=_SENT_MS, place="n * 100 + k")},
        {_ID.format(ms=_SENT_MS, place="n * 100")}, :account, false,
        233200000000 + (n * {OF_SEND} + k) % 9000000,
        (ARRAY['GH', 'NG', 'KE'])[1 + n % 3], 1,
        CASE WHEN k % 25 = 0 THEN 'failed' WHEN k % 40 = 1 THEN 'sent' ELSE 'delivered' END,
        1, 1, CASE WHEN k % 25 = 0 THEN 'undeliverable' END, {_SENT_MS} + 1000,
        CASE WHEN k % 25 = 0 OR k % 40 = 1 THEN NULL ELSE {_SENT_MS} + 1000 + k * 100 END,
        CASE WHEN k % 25 = 0 THEN {_SENT_MS} + 5000 END, {_GROUP}
    FROM generate_series(0::bigint, :sends - 1) AS n, generate_series(1, {OF_SEND}) AS k"""
_ENTRIES: Final = f"""
    INSERT INTO ledger_entries (id, account_id, counterpart_id, type, currency, amount_minor,
        credits, balance_after_minor, credits_after, description, reference, created_at_ms)
    SELECT {_ID.format(ms=_SENT_MS, place="n")}, :account, :counterpart, 'sms_charge', 'GHS', 0,
        -{OF_SEND}, 0, 1000000, '{OF_SEND} messages', 'snd_' || n, {_SENT_MS}
    FROM generate_series(0::bigint, :sends - 1) AS n"""
_KEYS: Final = f"""
    INSERT INTO api_keys (id, account_id, name, sandbox, prefix, sha256, permissions, tier,
        created_at_ms)
    SELECT {_ID.format(ms=":begun + n", place="n")}, :account, 'key ' || n, false,
        'sk_live_0000', sha256(n::text::bytea), 'sms.send', 'standard', :begun + n
    FROM generate_series(1::bigint, {KEYS}) AS n"""
_REQUESTS: Final = f"""
    INSERT INTO request_log (id, account_id, key_id, sandbox, method, endpoint, http_status, code,
        reason, took_ms)
    SELECT {_ID.format(ms=":begun + n * 1000", place="n")}, :account,
        {_ID.format(ms=":begun + n % 10000", place="n % 10000")}, false, 'POST', '/sms/send',
        CASE WHEN n % 7 = 0 THEN 400 ELSE 200 END,
        CASE WHEN n % 7 = 0 THEN 'INVALID_REQUEST' END,
        CASE WHEN n % 7 = 0 THEN 'no_valid_recipient' END, 12
    FROM generate_series(1::bigint, {REQUESTS}) AS n"""

# of 40,000 phones; every fourth text is of one phone, and so are the newest ones
_INBOUND: Final = f"""
    INSERT INTO inbound (id, carrier_id, account_id, sandbox, sender, recipient, text, encoding,
        parts, parts_received, repeats, received_at_ms)
    SELECT {_ID.format(ms="(:begun + n * :step)", place="n")}, 1, :account, false,
        CASE WHEN n % 4 = 0 OR n > {INBOUND} - 4000 THEN '{WRITER}'
            ELSE (233200000000 + (n * 7919) % 40000 * 25)::text END,
        '4567', 'Is it open on Sunday?', 'GSM-7', 1, 1, 0, :begun + n * :step
    FROM generate_series(1::bigint, {INBOUND}) AS n"""


_TALLY: Final = """
    INSERT INTO tallies (group_id, slot, queued, sent, delivered, failed, segments, credits)
    SELECT group_id, 0, 0, count(*) FILTER (WHERE status = 'sent'),
        count(*) FILTER (WHERE status = 'delivered'), count(*) FILTER (WHERE status = 'failed'),
        count(*), count(*)
    FROM messages WHERE group_id = :sent_group GROUP BY group_id"""
_TOTAL: Final = f"""
    UPDATE campaigns SET recipients_total = :sends / 10 * {OF_SEND}
    WHERE group_id = :sent_group"""
_SITE_LOGS: Final = f"""
    INSERT INTO site_logs (id, site_id, event, recipient, message_type, status, created_at_ms)
    SELECT {_ID.format(ms="(:begun + n * :step)", place="n")},
        (SELECT id FROM sites WHERE account_id = :account), 'order.paid', '{WRITER}', 'sms',
        CASE WHEN n % 9 = 0 THEN 'failed' ELSE 'sent' END, :begun + n * :step
    FROM generate_series(1::bigint, {SITE_LOGS}) AS n"""


class Things(NamedTuple):
    """Holds the account (raw id), and what paths name: the parameters of paths that lead to it, and
    the id of a campaign that was sent to many.
    """

    account: str
    known: dict[str, str]
    sent: str


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--contacts", type=int, default=1_000_000)
    parser.add_argument("--numbers", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="heliograph-bench-") as folder,
        postgres_databases(Path(folder)) as databases,
        databases.empty() as url,
    ):
        migrate.upgrade(url)
        db, run = Database(url), Loop()
        try:
            account = open_account(db, "amina", credits=1_000_000)
            open_route(db)
            began_s = time.monotonic()
            # without the limits that the service's own connections have
            plain = sa.create_engine(
                url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
            )
            things = _add_things(db, run, account)
            _fill(db, plain, account, options)
            print(f"filled in {time.monotonic() - began_s:.0f} s", flush=True)
            costs = _measured(db, plain, run, things)
            plain.dispose()
        finally:
            db.close()
            run.close()
    print(COLUMNS)
    for cost in sorted(costs, key=lambda cost: -cost.measured.p95_ms):
        print(cost.line)
    return int(any(cost.measured.p95_ms > AIM_MS for cost in costs))


def _add_things(db: Database, run: Loop, account: str) -> Things:
    """Gives the account one of each thing that a page is about."""
    there = things_of(db, account, customer_of(db, account))
    waiting = waiting_sender(db, account)
    sent = write_down(db, account)
    given = {"status": "completed", "started_at_ms": clock.now_ms()}
    with db.write() as tx:
        rows = metadata.tables["campaigns"]
        tx.execute(rows.update().where(rows.c.id == sent.id).values(given))
    run(happens(db, account, EVENTS))
    exhaust(db)
    with db.read() as tx:
        event = tx.execute(sa.text("SELECT id FROM webhook_events LIMIT 1")).scalar_one()
    known = there._replace(
        sender=waiting,
        document=attached(db, account, waiting).text_id,
        event=ids.text_of_raw(EVENT_PREFIX, event.hex),
        phone=WRITER,
    )
    return Things(account, known._asdict(), campaigns.text_id(sent))


def _fill(db: Database, plain: sa.Engine, account: str, options: argparse.Namespace) -> None:
    sends = options.messages // OF_SEND
    now_ms = clock.now_ms()
    begun_ms = now_ms - DAYS * DAY_MS
    given = {
        "account": account,
        "counterpart": ledger.SALES_ID,
        "begun": begun_ms,
        "sends": sends,
        "step": DAYS * DAY_MS // max(sends, 1),
    }
    with plain.connect() as connection:
        group = sa.text("SELECT group_id FROM campaigns WHERE status = 'completed'")
        given["sent_group"] = connection.execute(group).scalar_one()
        for statement in (_SENDS, _MESSAGES, _TALLY, _TOTAL, _ENTRIES, _KEYS):
            connection.execute(sa.text(statement), given)
        connection.execute(sa.text(_REQUESTS), {**given, "begun": now_ms - 7 * DAY_MS})
        for statement, rows in ((_INBOUND, INBOUND), (_SITE_LOGS, SITE_LOGS)):
            step_ms = DAYS * DAY_MS // rows
            connection.execute(sa.text(statement), {**given, "step": step_ms})
    done = Import(db, ContactOwner(account, sandbox=False), OPERATOR)
    lines = ["phone,name,email,tags\n"]
    lines += [
        f"{233_200_000_000 + k},Customer {k},c{k}@example.com,{_tag(k)}\n"
        for k in range(options.contacts)
    ]
    for _ in done.run(Sheet(StringIO("".join(lines)), None, "GH").rows()):
        pass
    for fields in AUDIENCES:
        write_down(db, account, message="Hi {name|friend}, we open at nine.", **fields)
    write_down_file(db, account, (233_200_000_000 + k * 7 for k in range(options.numbers)))
    with db.write() as tx:
        mark_again(tx, 0, now_ms)
    counter = RollupCounter(db)
    counter.count_due(now_ms)  # which only looks at the large quarters
    counter.count_due(now_ms + DAY_MS)
    with plain.connect() as connection:
        connection.execute(sa.text("ANALYZE"))


def _tag(place: int) -> str:
    """Returns the tag of a contact: every ninth is `vip`, and ten of a million are `few`."""
    return "few" if place % 100_000 == 77 else "vip" if place % 9 == 0 else ""


def _measured(db: Database, plain: sa.Engine, run: Loop, things: Things) -> list[PageCost]:
    cache = ConfigCache(db)
    run(cache.refresh())
    portal = Portal(
        Service(
            db,
            SECRET_KEY,
            acceptor_for(db, cache, lambda carriers: None, FairQueue()),
            passkey_site=passkeys.site_of(SITE),
        )
    )
    visitor = Visitor(db, portal, run)
    try:
        visitor.sign_in(EMAIL, things.account)
        with db.read() as tx:
            paths = _paths(tx, home_of(db, things.account), things)
        tune_collector()  # as a server does before it is asked
        return [cost_of(visitor, plain, path, _name_of(path)) for path in paths]
    finally:
        visitor.close()
        run(portal.close())
        run(cache.close())


def page_paths() -> list[str]:
    """Returns the paths of all pages of an account and of its owner, but files. Parameters stand in
    braces.
    """
    every = [page.path for page in PAGES if not page.is_form]
    return [
        path for path in every if path.startswith((OF_ACCOUNT, YOU)) and not path.endswith(FILES)
    ]


def _paths(tx: Connection, home: str, things: Things) -> list[str]:
    """Returns all pages of the account and of its owner, but files, and searches in long lists."""
    message = tx.execute(sa.text("SELECT id FROM messages ORDER BY id DESC LIMIT 1")).scalar_one()
    contact = tx.execute(sa.text("SELECT id FROM contacts LIMIT 1")).scalar_one()
    known = things.known | {
        "message": ids.text_of_raw("msg", message.hex),
        "contact": ids.text_of_raw("con", contact.hex),
    }
    drafts = [
        f"/campaigns/{campaigns.text_id(draft)}{page}"
        for draft in campaigns.page(tx, limit=len(AUDIENCES) + 1, account_id=things.account)
        for page in ("", "/launch")
    ]
    filters = (
        "/messages?status=failed",
        "/messages?recipient=233200000001",
        "/messages?status=queued",  # of which there is none: it looks as far as it ever does
        "/messages?sender=nobody",
        "/messages?type=otp",
        "/conversations?limit=200",
        "/conversations/233200000025",
        "/contacts?q=customer+99",
        "/contacts?q=vip",
        "/requests?show=failures",
        "/reports?days=90",
        "/money?type=sms_charge",
        "/contacts/tags?q=vip&all=yes&tag=gold&way=add",
        f"/campaigns/{things.sent}",
        f"/messages?campaignId={things.sent}&status=failed",
        f"/sites/{known['site']}?show=events",
    )
    paths = [path.format(**known) for path in page_paths()]
    return [*paths, *(home + each for each in (*drafts, *filters))]


def _name_of(path: str) -> str:
    if "/accounts/" not in path:
        return path
    return path.partition("/accounts/")[2].partition("/")[2] or "overview"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
