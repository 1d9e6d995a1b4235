"""Holds factories for tests of the way out: accounts that may send, routes, keys and requests. They
are plain functions, of one transaction each.
"""

import asyncio
import functools
import hashlib
import re
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ParamSpec

import psycopg
import sqlalchemy as sa
import uvloop

from heliograph import accounts, carriers, keys, senders, wallet
from heliograph.accounts.tables import accounts as accounts_table
from heliograph.base import clock, ids
from heliograph.base.json import encode
from heliograph.carriers import routing
from heliograph.database.commits import CommitProbe
from heliograph.database.database import Database
from heliograph.messages.accept.request import SendRequest, read_send_request
from heliograph.messages.tables import sends
from heliograph.otp.sealed_text import text_sealer
from heliograph.wallet import ledger

SENDER = "AMINA"
PHONE = "233201234567"
TIER = ("tests", 10_000_000)  # requests a minute: no test meets its limit by accident
SECRET_KEY = "s" * 32
TEST_S_MAX = 60.0
LEFT_S_MAX = 10.0  # for what a test has left running, which is canceled

P = ParamSpec("P")


def phones(count: int, *, first: int = 0) -> list[str]:
    """Returns so many numbers in Ghana, all different."""
    return [str(233_200_000_000 + first + k) for k in range(count)]


def open_account(
    db: Database,
    name: str = "amina",
    *,
    credits: int = 0,
    sender: str | None = SENDER,
    parent_id: str | None = None,
    country_code: str = "GH",
) -> str:
    """Opens an account with this many credits and an approved live sender, and returns its raw id.
    It is in Ghana if nothing else is said.
    """
    now_ms = clock.now_ms()
    with db.write() as tx:
        account = accounts.create(
            tx, name, country_code, parent_id=parent_id, daily_credits=None, now_ms=now_ms
        )
        wallet.open_wallet(tx, account.id, "GHS")
        if credits:
            ledger.grant(tx, account.id, credits, "to begin with", now_ms=now_ms)
        if sender is not None:
            record = senders.register(tx, account.id, sender, sandbox=False, now_ms=now_ms)
            senders.approve(tx, record.id, now_ms=now_ms)
    return account.id


def open_shops(db: Database, like: str, count: int) -> None:
    """Opens many accounts at once, as this one (raw id) is, but with nothing in them."""
    names = (ids.raw_of_number(number) for number in range(1, count + 1))
    with db.write() as tx:
        row = tx.execute(sa.select(accounts_table).where(accounts_table.c.id == like)).one()
        shops = [{**row._mapping, "id": name, "name": f"shop {name}"} for name in names]
        tx.execute(sa.insert(accounts_table), shops)


def grant(db: Database, account_id: str, credits: int) -> None:
    with db.write() as tx:
        ledger.grant(tx, account_id, credits, "more", now_ms=clock.now_ms())


def open_carrier(
    db: Database, name: str = "carrier", *, port: int = 9, prefix: str | None = "", **settings: Any
) -> int:
    """Opens an SMPP carrier on loopback, and the route of `prefix` to it (None: no route), and
    returns its id.
    """
    with db.write() as tx:
        made = carriers.add_carrier(
            tx,
            name,
            {"host": "127.0.0.1", "port": port, "system_id": "heliograph", **settings},
            "secret",
            secret_key=SECRET_KEY,
            now_ms=clock.now_ms(),
        )
        if prefix is not None:
            routing.set_route(tx, prefix, [name])
    return made.id


def open_route(db: Database, *carrier_names: str, prefix: str = "") -> None:
    with db.write() as tx:
        routing.set_route(tx, prefix, carrier_names or ["simulator"])


def issue_key(db: Database, account_id: str, *, sandbox: bool = False) -> str:
    """Issues a key with all permissions that meets no limit."""
    with db.write() as tx:
        keys.add_tier(tx, *TIER)
        return keys.issue(
            tx,
            account_id,
            name="test",
            sandbox=sandbox,
            tier=TIER[0],
            permissions=["all"],
            now_ms=clock.now_ms(),
        ).key


def send_request(
    account_id: str,
    to: str | Sequence[str] = PHONE,
    text: str = "hello",
    *,
    key: str | None = None,
    sandbox: bool = False,
    kind: str = "sms",
    key_account_id: str | None = None,
    **fields: Any,
) -> SendRequest:
    """Returns a request as POST /sms/send reads it. `key` is the Idempotency-Key, and `kind` is its
    type, which a body cannot choose.
    """
    body = {
        "sender": SENDER,
        "message": text,
        "recipients": to if isinstance(to, str) else list(to),
        **fields,
    }
    request = read_send_request(
        body, ids.new_number(), key_account_id or account_id, sandbox=sandbox
    )
    request.account_id, request.type = account_id, kind
    if key is not None:
        request.idempotency_key, request.body_sha256 = key, hashlib.sha256(encode(body)).digest()
    return request


def code_sent(db: Database, otp_id: str) -> str:
    """Returns the code of an OTP (id in text form), out of the text that is on its way to the
    carrier.
    """
    with db.read() as tx:
        stored = tx.execute(
            sa.select(sends.c.text).where(sends.c.id == ids.raw_of_text("otp", otp_id))
        ).scalar_one()
    found = re.search("[0-9]{6}", text_sealer(SECRET_KEY).unseal(stored))
    assert found is not None
    return found[0]


def unconnected() -> CommitProbe:
    """Refuses to be asked: it is for `Commits` of which none is ever unconfirmed."""
    raise AssertionError("nobody is asked")


def away() -> CommitProbe:
    """Fails as a database does that cannot be asked; it is for `Commits`."""
    raise psycopg.OperationalError("there is none")


def awaited(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Runs an `async def test_…` in the event loop that the service runs in; what it was given that
    can `close` is closed there.
    """

    @functools.wraps(test)
    def run(*args: P.args, **given: P.kwargs) -> None:
        uvloop.run(_ended(_run_and_close(test(*args, **given), list(given.values()))))

    return run


async def _ended(test: Coroutine[Any, Any, None]) -> None:
    """Runs a test within its time, and leaves no task to the end of the loop. A query that is
    canceled begins another task, in which asyncpg connects to tell PostgreSQL so. A loop that is
    closed under a connection in the making fails: "Device or resource busy".
    """
    try:
        await asyncio.wait_for(test, TEST_S_MAX)
    finally:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        until_s = time.monotonic() + LEFT_S_MAX
        while others and time.monotonic() < until_s:
            await asyncio.wait(others, timeout=LEFT_S_MAX)
            others = asyncio.all_tasks() - {asyncio.current_task()}


async def _run_and_close(test: Coroutine[Any, Any, None], given: list[Any]) -> None:
    try:
        await test
    finally:
        for value in given:
            if asyncio.iscoroutinefunction(getattr(value, "close", None)):
                await value.close()
