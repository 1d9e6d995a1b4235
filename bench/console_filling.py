"""Fills a PostgreSQL database with what a large service has in it, for `bench.console_pages`: every
list of the console is long, and the account `shop 1` has a tenth of all messages.
`bench.console_copy` copies it to SQLite.
"""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from bench import console_rows
from bench.console_rows import BUSY, CARRIERS, DAYS, OF_ACCOUNT, OF_SEND
from bench.received_rows import RECEIVED
from heliograph import accounts, inbound, keys, senders, users
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.database.database import Database, metadata
from heliograph.senders import reserved_names
from heliograph.users import OperatorRole, Role, operators
from heliograph.webhooks import LOW_BALANCE
from heliograph.webhooks.tables import webhook_endpoints, webhook_events, webhook_queue
from tests.support.capability.campaigns import write_down
from tests.support.capability.webhooks import endpoint
from tests.support.console.operators import attached
from tests.support.factories import SENDER, open_account, open_carrier, open_route
from tests.support.portal.routes import customer_of, things_of
from tests.support.portal.visitor import EMAIL

ACCOUNTS: Final = 10_000
ROUTES: Final = 1_000
KEYS: Final = 500  # of the busiest account; and as many campaigns
ENDPOINTS: Final = 45  # of it, beside the one that events go to
WAITING: Final = 2_000  # events for each of them, which fails
NUMBERS: Final = 1_000  # that receive texts; and as many names are reserved
WAITING_SENDERS: Final = 500
PEOPLE: Final = 500  # of the busiest account
OPERATORS: Final = 200
ACCOUNTS_OF_OWNER: Final = 1_000
_SENDS_AT_ONCE: Final = 20_000  # a million messages
# which row of a table is copied, where it has others already
_OF_AMINA: Final = {
    "accounts": "id = CAST(:amina AS uuid)",
    "wallets": "account_id = CAST(:amina AS uuid)",
}


def fill(db: Database, messages: int, accounts: int) -> None:
    """Fills the empty database."""
    amina = open_account(db, "amina", credits=1_000_000)
    with db.write() as tx:
        now_ms = clock.now_ms()
        owner = users.add(tx, EMAIL, now_ms=now_ms)
        users.set_role(tx, owner.id, amina, Role.OWNER, now_ms=now_ms)
    for number in range(CARRIERS):
        open_carrier(db, f"carrier-{number}")
    for number in range(ROUTES):
        first, second = (f"carrier-{(number + more) % CARRIERS}" for more in (0, 1))
        open_route(db, first, second, prefix=str(2_000 + number))
    sends, now_ms = messages // OF_SEND, clock.now_ms()
    given = {
        "accounts": accounts,
        "carriers": _carrier_ids(db),
        "begun": now_ms - DAYS * DAY_MS,
        "now": now_ms,
        "sends": sends,
        "step": DAYS * DAY_MS // max(sends, 1),
    }
    url = db.url.replace("postgresql:", "postgresql+psycopg:")
    # without the limits that the service's own connections have
    plain = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with plain.connect() as connection:
        _copy_account(connection, amina, accounts)
        for first_send in range(0, sends, _SENDS_AT_ONCE):
            last_send = min(first_send + _SENDS_AT_ONCE, sends) - 1
            at_once = {**given, "first": first_send, "last": last_send}
            connection.execute(sa.text(console_rows.MESSAGES), at_once)
        for rows in (*console_rows.EVERY_TABLE, RECEIVED):
            for table, (values, source) in rows.items():
                _insert(connection, table, values, source, given)
        _add_things(db)
        connection.execute(sa.text("VACUUM ANALYZE"))
    plain.dispose()


def _add_things(db: Database) -> None:
    """Gives the busiest account one of each thing that a page is about."""
    with db.write() as tx:
        named = senders.register(tx, BUSY, SENDER, sandbox=False, now_ms=clock.now_ms())
        senders.approve(tx, named.id, now_ms=clock.now_ms())
        now_ms = clock.now_ms()
        for number in range(NUMBERS):
            carrier = f"carrier-{number % CARRIERS}"
            inbound.add_number(tx, str(45_000 + number), carrier, BUSY, now_ms=now_ms)
            reserved_names.add(tx, f"BANK {number}", "a bank", now_ms=now_ms)
        for number in range(KEYS):
            name = f"till {number}"
            keys.issue(
                tx,
                BUSY,
                name=name,
                sandbox=False,
                tier="standard",
                permissions=["sms.send"],
                now_ms=now_ms,
            )
        _add_people(tx, now_ms)
    for number in range(KEYS):
        write_down(db, BUSY, name=f"offer {number}")
    things_of(db, BUSY, customer_of(db, BUSY))
    attached(db, BUSY, ids.text_of_raw("sid", BUSY))  # its first sender ID waits


def let_events_wait(db: Database) -> None:
    """Gives the busiest account endpoints that fail, for each of which events wait."""
    made = [endpoint(db, BUSY, kinds=[LOW_BALANCE])[0] for _ in range(ENDPOINTS)]
    now_ms = clock.now_ms()
    events = [ids.raw_of_number(ids.new_number(now_ms)) for _ in range(WAITING)]
    event = {"account_id": BUSY, "sandbox": False, "kind": LOW_BALANCE, "body": "{}"}
    with db.write() as tx:
        is_new = webhook_endpoints.c.id.in_([each.id for each in made])
        tx.execute(webhook_endpoints.update().where(is_new).values(failing_since_ms=1))
        rows = [{**event, "id": each, "created_at_ms": now_ms} for each in events]
        tx.execute(webhook_events.insert(), rows)
        for each in made:
            waits = {"endpoint_id": each.id, "due_at_ms": now_ms, "tries": 1}
            tx.execute(webhook_queue.insert(), [{**waits, "event_id": raw} for raw in events])


def _add_people(tx: Connection, now_ms: int) -> None:
    """Adds people to the busiest account, of whom some are operators, and makes its owner a member
    of many others.
    """
    for number in range(PEOPLE):
        person = users.add(tx, f"person{number}@example.com", now_ms=now_ms)
        users.set_role(tx, person.id, BUSY, Role.VIEWER, now_ms=now_ms)
        if number < OPERATORS:
            operators.set_role(tx, person.id, OperatorRole.AUDITOR, now_ms=now_ms)
    for account in accounts.page(tx, limit=ACCOUNTS_OF_OWNER):
        users.set_role(tx, BUSY, account.id, Role.VIEWER, now_ms=now_ms)


def _carrier_ids(db: Database) -> list[int]:
    named = sa.text("SELECT id FROM carriers WHERE name LIKE 'carrier-%' ORDER BY name")
    with db.read() as tx:
        return list(tx.execute(named).scalars())


def _copy_account(connection: Connection, amina: str, count: int) -> None:
    """Makes the other accounts, each with a wallet, a sender ID and a member."""
    own = OF_ACCOUNT.format(n="n")
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
    given = {"amina": amina, "accounts": count}
    for name, values in copies.items():
        columns = [column.name for column in metadata.tables[name].columns]
        asked = {column: values.get(column, f"t.{column}") for column in columns}
        of = _OF_AMINA.get(name, "true")
        copied = f"(SELECT * FROM {name} WHERE {of}) AS t, generate_series(1, :accounts) AS n"
        _insert(connection, name, asked, copied, given)


def _insert(
    connection: Connection,
    table: str,
    values: Mapping[str, str],
    source: str,
    given: Mapping[str, Any],
) -> None:
    """Inserts a row of these expressions for each row of the source. Of a column that must have a
    value and is given none, it is 0.
    """
    columns = metadata.tables[table].columns
    zeros = {
        column.name: "0"
        for column in columns
        if not column.nullable and isinstance(column.type, sa.Integer)
    }
    whole = {**zeros, **values}
    names = ", ".join(f'"{name}"' for name in whole)
    statement = f"INSERT INTO {table} ({names}) SELECT {', '.join(whole.values())} FROM {source}"
    connection.execute(sa.text(statement), dict(given))
