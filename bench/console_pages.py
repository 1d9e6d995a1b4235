"""`python -m bench.console_pages` measures how long the console takes for each page, with 10,000
accounts, 50 carriers and ten million messages, on PostgreSQL. Its exit status is 1 when a page's
95th percentile is over 100 ms.

`--database sqlite` measures SQLite: the rows are made on PostgreSQL, and copied. `--database URL`
fills a database of yours once, and measures again what is in it.

The pages are asked for in this process, as those of `bench.pages` are: what is measured is the
server's part. The processor time of a page is that of this process and of its connections on
PostgreSQL; it says more than the clock on a machine that does something else.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from http import HTTPStatus
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from bench.console_copy import copy_to_sqlite
from bench.console_filling import ACCOUNTS, fill, let_events_wait
from bench.console_rows import BUSY
from bench.databases import DATABASE_FILE, postgres_databases
from bench.page_costs import AIM_MS, COLUMNS, PageCost, cost_of
from heliograph import accounts
from heliograph.api.app import acceptor_for
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.base.paging import cursor_at, first_id_of
from heliograph.console.navigation import ACCOUNTS as ACCOUNT_PAGES
from heliograph.console.pages import PAGES as CONSOLE_PAGES
from heliograph.console.seen_pages.seen_portal import FILES
from heliograph.database import migrate
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database, metadata
from heliograph.messages.queue import FairQueue
from heliograph.portal.page_request import CONSOLE, Service
from heliograph.portal.pages import PAGES
from heliograph.portal.portal import ROOTS, Portal
from heliograph.processes.exclusive import tune_collector
from heliograph.users import OperatorRole, passkeys
from heliograph.webhooks.events import EVENT_PREFIX
from heliograph.webhooks.tables import webhook_events
from tests.support.api.service import Loop
from tests.support.console.operators import sign_in_operator
from tests.support.factories import SECRET_KEY
from tests.support.portal.visitor import SITE, Visitor
from tests.support.portal.webhook_pages import exhaust, happens

KINDS: Final = ("sqlite", "postgresql")
EVENTS: Final = 1_000  # that the endpoint of the busiest account has been told of
# how the paths of files end that the console makes, beside those of an account's portal
_FILES: Final = (
    *FILES,
    *("/entries", "/statement", "/statement.pdf", "/documents/{document}"),
    f"{CONSOLE}/money/days",
)
# by parameter of a path: the table that a record is taken from, and how its text id begins
RECORDS: Final = {
    "message": ("messages", "msg"),
    "contact": ("contacts", "con"),
    "campaign": ("campaigns", "cmp"),
    "key": ("api_keys", "key"),
    "endpoint": ("webhook_endpoints", "whe"),
    "event": ("webhook_events", EVENT_PREFIX),
    "site": ("sites", "site"),
    "file": ("contact_imports", "imp"),
    "sheet": ("rate_sheets", "rsh"),
    "recipient": ("alert_recipients", "alr"),
    "receipt": ("unmatched_receipts", "rcp"),
    "number": ("numbers", "num"),
    "inbound": ("inbound", "inb"),
    "keyword": ("keywords", "kw"),
}
# the other parameters that paths have
OTHERS: Final = ("account", "carrier", "carrier_id", "customer", "month", "phone", "sender", "user")
_OF_NO_ACCOUNT: Final = ("rate_sheets", "alert_recipients", "unmatched_receipts")
_SEARCHES: Final = (
    "/now?span=week",
    "/now?span=hour",
    "/accounts?q=shop+99",
    "/accounts?q=owner99",
    "/accounts?q=nobody",
    "/messages?q=233200000001",
    "/messages?q=233999000001",
    "/messages?q=233999000001&cursor={month}",
    "/messages?q={message}",
    "/messages?q=233200000001&account={account}",
    "/messages/in-doubt?carrier={carrier_id}",
    "/messages/receipts?carrier={carrier_id}",
    "/messages/match?receipt={receipt}",
    "/messages/inbound?phone=233200000001",
    "/messages/inbound?phone=233200000001&account={account}",
    "/messages/inbound?account={account}&number=45001",
    "/messages/inbound?state=unowned",
    "/messages/inbound?state=incomplete",
    "/phones?phone=233200000001",
    "/phones?phone=233999000001",
    "/phones?phone=233200000001&account={account}",
    "/phones/opt-outs?account={account}",
    "/phones/opt-outs/lift?account={account}&phone=233200000001",
    "/phones/erase?account={account}&phone=233200000001",
    "/numbers/keywords?account={account}",
    "/abuse/unblock?account={account}&place=23320000",
    "/routes?to=233201234567&account={account}",
    "/carriers/{carrier}/figures?span=week",
    "/approvals/reserved?name=MTN",
    "/numbers?begins=45",
    "/numbers?of={account}",
    "/rates?account={account}",
    "/rates/margin?account={account}",
    "/money?account=shop+99",
    "/money/ledger?account={account}&month=2026-01&format=csv",
    "/people?q=owner99@example.com",
    "/log?account={account}",
    "/log?by=kofi1@example.com",
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.console_pages", description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000_000)
    parser.add_argument("--accounts", type=int, default=ACCOUNTS)
    parser.add_argument(
        "--database",
        metavar="sqlite|postgresql|URL",
        default="postgresql",
        help="of a URL: one to keep, filled now if it has no tables, and measured as it is if it"
        " has",
    )
    parser.add_argument("--only", default="", help="measure only pages with this in their path")
    options = parser.parse_args(arguments)
    with _database(options.database) as url:
        is_empty = not sa.inspect(_engine(url)).get_table_names()
        migrate.upgrade(url)
        if is_empty:
            began_s = time.monotonic()
            _fill(url, options.messages, options.accounts)
            print(f"filled in {time.monotonic() - began_s:.0f} s", flush=True)
        db, run = Database(url), Loop()
        try:
            _tell_events(db, run)
            costs = _measured(db, run, options.only)
        finally:
            db.close()
            run.close()
    slow = [cost for cost in costs if cost.measured.p95_ms > AIM_MS]
    print(f"{len(costs)} pages, of which {len(slow)} are over {AIM_MS} ms:")
    for cost in sorted(slow, key=lambda cost: -cost.measured.p95_ms):
        print(cost.line)
    return int(bool(slow))


@contextmanager
def _database(wanted: str) -> Iterator[str]:
    """Yields the URL of the database that is kept, or of a new one that is gone afterwards."""
    if wanted not in KINDS:
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="heliograph-bench-") as folder:
        if wanted == "sqlite":
            yield f"sqlite:///{folder}/{DATABASE_FILE}"
            return
        with _empty_postgresql(Path(folder)) as url:
            yield url


@contextmanager
def _empty_postgresql(folder: Path) -> Iterator[str]:
    with postgres_databases(folder) as databases, databases.empty() as url:
        yield url


def _fill(url: str, messages: int, accounts: int) -> None:
    """Fills the empty database. SQLite has none of the functions that make rows, so these are made
    on PostgreSQL.
    """
    is_sqlite = url.startswith("sqlite")
    with (
        tempfile.TemporaryDirectory(prefix="heliograph-bench-") as folder,
        _empty_postgresql(Path(folder)) if is_sqlite else nullcontext(url) as filled,
    ):
        if is_sqlite:
            migrate.upgrade(filled)
        with closing(Database(filled)) as db:
            fill(db, messages, accounts)
        if is_sqlite:
            copy_to_sqlite(filled, url)


def _engine(url: str) -> sa.Engine:
    return sa.create_engine(
        url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    )


def _measured(db: Database, run: Loop, only: str) -> list[PageCost]:
    cache = ConfigCache(db)
    run(cache.refresh())
    acceptor = acceptor_for(db, cache, lambda carriers: None, FairQueue())
    portal = Portal(
        Service(db, SECRET_KEY, acceptor, passkey_site=passkeys.site_of(SITE)),
        None,
        (*PAGES, *CONSOLE_PAGES),
        (*ROOTS, CONSOLE),
    )
    visitor, plain = Visitor(db, portal, run), _engine(db.url)
    try:
        with plain.connect() as connection:
            for left in ("recovery_codes", "totps"):  # of an earlier run
                connection.execute(sa.text(f"DELETE FROM {left}"))
        sign_in_operator(visitor, db, OperatorRole.ADMIN)
        known = _records(db)
        page = f"{ACCOUNT_PAGES}/{known['account']}"
        visitor.get(page)
        visitor.post(f"{page}/see", {"do": "see", "reason": "how long its pages take"})
        costs = []
        tune_collector()  # as every process that serves pages does
        print(COLUMNS)
        for path in (path.format(**known) for path in paths()):
            if only not in path:
                continue
            status = visitor.get(path).status_code
            # A page of the portal may only have a form, which no operator is shown; and what is
            # blocked is let go an hour after the database was filled.
            if status not in (HTTPStatus.OK, HTTPStatus.SEE_OTHER):
                print(f"not measured, because it answers {status}: {path}")
                continue
            costs.append(cost_of(visitor, plain, path, path.removeprefix(CONSOLE)))
            print(costs[-1].line, flush=True)
        return costs
    finally:
        plain.dispose()
        visitor.close()
        run(portal.close())
        run(cache.close())


def _tell_events(db: Database, run: Loop) -> None:
    """Tells the busiest account of events, if its endpoint has not been told of any."""
    with db.read() as tx:
        if tx.execute(sa.select(webhook_events.c.id).limit(1)).first():
            return
    run(happens(db, BUSY, EVENTS))
    exhaust(db)
    let_events_wait(db)


def _records(db: Database) -> dict[str, str]:
    """Returns a record for each parameter of a path."""
    found = {
        "carrier": "carrier-7",
        "phone": "233201234567",
        "sender": ids.text_of_raw("sid", BUSY),  # its first one
        "user": ids.text_of_raw("usr", BUSY),  # its owner
        "month": cursor_at(first_id_of(clock.now_ms() - 20 * DAY_MS)),  # the second page
    }
    with db.read() as tx:
        found["account"] = accounts.text_id(accounts.by_id(tx, BUSY))
        for parameter, (table, prefix) in RECORDS.items():
            columns = metadata.tables[table].columns
            query = sa.select(columns.id).order_by(columns.id.desc()).limit(1)
            if table not in _OF_NO_ACCOUNT:
                query = query.where(columns.account_id == BUSY)
            found[parameter] = ids.text_of_raw(prefix, tx.execute(query).scalar_one())
        carrier = sa.text("SELECT id FROM carriers WHERE name = 'carrier-7'")
        found["carrier_id"] = str(tx.execute(carrier).scalar_one())
        customer = sa.select(metadata.tables["customers"].columns.account_id).limit(1)
        raw = tx.execute(customer).scalar_one()
        found["customer"] = accounts.text_of_id(raw, is_customer=True)
    assert found.keys() == {*RECORDS, *OTHERS}
    return found


def paths() -> list[str]:
    """Returns the paths of all pages of the console but files, those of an account's portal that an
    operator looks at, and searches. Parameters stand in braces.
    """
    every = [page.path for page in CONSOLE_PAGES if not page.is_form]
    pages = [path for path in every if not path.endswith(_FILES)]
    searches = [CONSOLE + each for each in _SEARCHES]
    return [*pages, *searches]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
