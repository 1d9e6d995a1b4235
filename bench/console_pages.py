"""`python -m bench.console_pages`: how long the console takes for each page on PostgreSQL, with
10,000 accounts, 50 carriers and ten million messages. Exit status 1 when a page's 95th percentile
is over 100 ms.

The pages are asked for in this process, as those of `bench.pages` are: what is measured is the
server's part.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bench.databases import postgres_databases
from bench.pages import AIM_MS, Measured, asked_often
from heliograph import accounts, users
from heliograph.api.app import acceptor_for
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.console.pages import PAGES as CONSOLE_PAGES
from heliograph.database import migrate
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database, metadata
from heliograph.messages.queue import FairQueue
from heliograph.portal.page_request import CONSOLE, Service
from heliograph.portal.pages import PAGES
from heliograph.portal.portal import ROOTS, Portal
from heliograph.users import OperatorRole, Role, passkeys
from heliograph.wallet import SALES_ID
from tests.support.api.service import Loop
from tests.support.console.operators import come_in, waiting_sender
from tests.support.factories import SECRET_KEY, open_account, open_carrier, open_route
from tests.support.portal.visitor import EMAIL, SITE, Visitor

ACCOUNTS: Final = 10_000
CARRIERS: Final = 50
ROUTES: Final = 1_000
WAITING_SENDERS: Final = 500
QUEUED: Final = 200_000
DAYS: Final = 30
OF_SEND: Final = 50  # messages
# an id of this number, of this time (in ms) and with this place in it, as version 7 of RFC 9562 is
_OF_ACCOUNT: Final = "('00000000-0000-7000-8000-' || lpad(to_hex({n}), 12, '0'))::uuid"
_ID: Final = (
    "(lpad(to_hex({ms}), 12, '0') || '7000' || '8' || lpad(to_hex({place}), 15, '0'))::uuid"
)
_SENT_MS: Final = "(:begun + n * :step)"
_SENDER: Final = _OF_ACCOUNT.format(n="1 + n % :accounts")

_SENDS: Final = f"""
    INSERT INTO sends (id, account_id, sandbox, type, sender, text, encoding, segments,
        message_count, expires_at_ms, credits_required, credits_used, credits_remaining,
        created_at_ms)
    SELECT {_ID.format(ms=_SENT_MS, place="n * 100")}, {_SENDER}, false,
        CASE WHEN n % 10 = 0 THEN 'otp' ELSE 'sms' END, 'SHOP' || (1 + n % :accounts),
        'Your order is on its way', 'GSM-7', 1, {OF_SEND}, {_SENT_MS} + {DAY_MS}, {OF_SEND},
        {OF_SEND}, 1000000, {_SENT_MS}
    FROM generate_series(0::bigint, :sends - 1) AS n"""
_MESSAGES: Final = f"""
    INSERT INTO messages (id, send_id, account_id, sandbox, recipient, country_code, carrier_id,
        status, segments, credits, error_code, sent_at_ms, delivered_at_ms, failed_at_ms)
    SELECT {_ID.format(ms=_SENT_MS, place="n * 100 + k")},
        {_ID.format(ms=_SENT_MS, place="n * 100")}, {_SENDER}, false,
        233200000000 + (n * {OF_SEND} + k) % 9000000, (ARRAY['GH', 'NG', 'KE'])[1 + n % 3],
        2 + n % {CARRIERS},
        CASE WHEN k % 25 = 0 THEN 'failed' WHEN k % 40 = 1 THEN 'sent' ELSE 'delivered' END,
        1, 1, CASE WHEN k % 25 = 0 THEN 'undeliverable' END, {_SENT_MS} + 1000,
        CASE WHEN k % 25 = 0 OR k % 40 = 1 THEN NULL ELSE {_SENT_MS} + 1000 + k * 100 END,
        CASE WHEN k % 25 = 0 THEN {_SENT_MS} + 5000 END
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n,
        generate_series(1, {OF_SEND}) AS k"""
_ENTRIES: Final = f"""
    INSERT INTO ledger_entries (id, account_id, counterpart_id, type, currency, amount_minor,
        credits, balance_after_minor, credits_after, description, reference, created_at_ms)
    SELECT {_ID.format(ms=_SENT_MS, place="n")}, {_SENDER}, :counterpart, 'sms_charge', 'GHS', 0,
        -{OF_SEND}, 0, 1000000, '{OF_SEND} messages', 'snd_' || n, {_SENT_MS}
    FROM generate_series(0::bigint, :sends - 1) AS n"""
_QUEUE: Final = f"""
    INSERT INTO queue (carrier_id, rank_us, first_id, count, send_id, segments, prefix, attempt,
        not_before_ms, expires_at_ms)
    SELECT 2 + n % {CARRIERS}, 100000000000000 + n, {_ID.format(ms=":now", place="n")}, 1,
        {_ID.format(ms=":now", place="n")}, 1, '233', 1, 0, :now + {DAY_MS}
    FROM generate_series(1::bigint, {QUEUED}) AS n"""
# which row of a table is copied, where it has others already
_OF_AMINA: Final = {
    "accounts": "id = CAST(:amina AS uuid)",
    "wallets": "account_id = CAST(:amina AS uuid)",
}
_SENDS_AT_ONCE: Final = 20_000  # a million messages


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.console_pages", description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000_000)
    parser.add_argument("--accounts", type=int, default=ACCOUNTS)
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="heliograph-bench-") as folder,
        postgres_databases(Path(folder)) as databases,
        databases.empty() as url,
    ):
        migrate.upgrade(url)
        db, run = Database(url), Loop()
        try:
            began_s = time.monotonic()
            # without the limits that the service's own connections have
            plain = sa.create_engine(
                url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
            )
            amina = _fill(db, plain, options.messages, options.accounts)
            plain.dispose()
            print(f"filled in {time.monotonic() - began_s:.0f} s", flush=True)
            measured = _measured(db, run, amina)
        finally:
            db.close()
            run.close()
    for page in sorted(measured, key=lambda page: -page.p95_ms):
        print(f"{page.p95_ms:8.1f} {page.median_ms:8.1f} {page.octets:9,}  {page.path}")
    return int(any(page.p95_ms > AIM_MS for page in measured))


def _fill(db: Database, plain: sa.Engine, messages: int, count: int) -> str:
    """Fills the database, and returns the account that all others are copies of."""
    amina = open_account(db, "amina", credits=1_000_000)
    with db.write() as tx:
        now_ms = clock.now_ms()
        owner = users.add(tx, EMAIL, now_ms=now_ms)
        users.set_role(tx, owner.id, amina, Role.OWNER, now_ms=now_ms)
    for number in range(CARRIERS):
        open_carrier(db, f"carrier-{number}")
    for number in range(ROUTES):
        open_route(
            db,
            f"carrier-{number % CARRIERS}",
            f"carrier-{(number + 1) % CARRIERS}",
            prefix=str(2_000 + number),
        )
    sends = messages // OF_SEND
    now_ms = clock.now_ms()
    given = {
        "accounts": count,
        "counterpart": SALES_ID,
        "begun": now_ms - DAYS * DAY_MS,
        "now": now_ms,
        "sends": sends,
        "step": DAYS * DAY_MS // max(sends, 1),
    }
    with plain.connect() as connection:
        _copy_account(connection, amina, given)
        for first in range(0, sends, _SENDS_AT_ONCE):
            last = min(first + _SENDS_AT_ONCE, sends) - 1
            connection.execute(sa.text(_MESSAGES), {**given, "first": first, "last": last})
        for statement in (_SENDS, _ENTRIES, _QUEUE):
            connection.execute(sa.text(statement), given)
        connection.execute(sa.text("ANALYZE"))
    return amina


def _copy_account(connection: Connection, amina: str, given: dict[str, object]) -> None:
    """Makes the other accounts, each with a wallet, a sender ID and a member."""
    own = _OF_ACCOUNT.format(n="n")
    copies = {
        "accounts": {"id": own, "name": "'shop ' || n"},
        "wallets": {"account_id": own},
        "senders": {
            "id": own,
            "account_id": own,
            "sender": "'SHOP' || n",
            "folded": "'shop' || n",
            "skeleton": "'shop' || n",
            "status": f"CASE WHEN n <= {WAITING_SENDERS} THEN 'submitted' ELSE 'approved' END",
        },
        "users": {"id": own, "email": "'owner' || n || '@example.com'"},
        "members": {"user_id": own, "account_id": own},
    }
    for name, values in copies.items():
        columns = [column.name for column in metadata.tables[name].columns]
        asked = ", ".join(values.get(column, f"t.{column}") for column in columns)
        connection.execute(
            sa.text(
                f"INSERT INTO {name} ({', '.join(columns)}) SELECT {asked}"
                f" FROM (SELECT * FROM {name} WHERE {_OF_AMINA.get(name, 'true')}) AS t,"
                " generate_series(1, CAST(:accounts AS bigint)) AS n"
            ),
            {"amina": amina, "accounts": given["accounts"]},
        )


def _measured(db: Database, run: Loop, amina: str) -> list[Measured]:
    cache = ConfigCache(db)
    run(cache.refresh())
    acceptor = acceptor_for(db, cache, lambda carriers: None, FairQueue())
    portal = Portal(
        Service(db, SECRET_KEY, acceptor, passkey_site=passkeys.site_of(SITE)),
        None,
        (*PAGES, *CONSOLE_PAGES),
        (*ROOTS, CONSOLE),
    )
    visitor = Visitor(db, portal, run)
    try:
        come_in(visitor, db, OperatorRole.ADMIN)
        known = _records(db, amina)
        return [asked_often(visitor, path, path.removeprefix(CONSOLE)) for path in _paths(known)]
    finally:
        visitor.close()
        run(portal.close())
        run(cache.close())


def _records(db: Database, amina: str) -> dict[str, str]:
    """Returns a record for each parameter of a path."""
    with db.read() as tx:
        message = tx.execute(
            sa.text("SELECT id FROM messages ORDER BY id DESC LIMIT 1")
        ).scalar_one()
        account = accounts.text_id(accounts.by_id(tx, amina))
    return {
        "{message}": ids.text_of_raw("msg", message.hex),
        "{account}": account,
        "{carrier}": "carrier-7",
        "{sender}": waiting_sender(db, amina),
    }


def _paths(known: dict[str, str]) -> list[str]:
    """Returns all pages of the console but files, and its searches."""
    paths = []
    for page in CONSOLE_PAGES:
        path = page.path
        for parameter, value in known.items():
            path = path.replace(parameter, value)
        is_file = path.endswith(("/export", "/file", "/entries", "/statement"))
        if not page.is_form and "{" not in path and not is_file:
            paths.append(path)
    searches = (
        "/now?span=week",
        "/accounts?q=shop+99",
        "/accounts?q=owner99",
        "/accounts?q=nobody",
        "/messages?q=233200000001",
        f"/messages?q={known['{message}']}",
        "/routes?number=233201234567",
        "/money?q=shop+99",
        "/log?q=none",
    )
    return [*paths, *(CONSOLE + each for each in searches)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
