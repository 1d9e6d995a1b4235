"""An account is closed while its clients send: each text was accepted before and owed, or is
refused. The clients ask `heliograph serve` over HTTP.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import accounts, wallet
from heliograph.audit.charges import verify_charges
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.messages.tables import inflight, messages
from tests.support import plain_http
from tests.support.api.server import Server, serving
from tests.support.books import assert_books_agree
from tests.support.capability.commands import Run, runner
from tests.support.factories import PHONE, SENDER, issue_key, open_account

CLIENTS = 6  # of each mode
TRIES_MAX = 400
SUSPENDED_AT = 8
WITHIN_S = 30
REFUSALS = {(401, "invalid_key"), (402, "insufficient_credits"), (403, "account_suspended")}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server_and_commands(
    request: pytest.FixtureRequest,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Server, Run]]:
    url, data_dir = new_database(request.param), tmp_path_factory.mktemp("serve")
    with serving(url, data_dir) as server:
        yield server, runner(url, data_dir)


@dataclass
class Moments:
    """Holds the moments that clients and the closing of their account wait for."""

    sent: Event = field(default_factory=Event)  # the first text was accepted
    closed: Event = field(default_factory=Event)  # the account is closed
    refused: Event = field(default_factory=Event)  # its keys open nothing any more
    over: Event = field(default_factory=Event)  # clients end


def client(
    url: str, key: str, sandbox: bool, moments: Moments
) -> list[tuple[bool, int, str | None]]:
    """Sends until all is over. Returns of each text whether it was sent after the account was
    closed, the status and the reason.
    """
    body: dict[str, Any] = {
        "sender": "SANDBOX" if sandbox else SENDER,
        "message": "hello",
        "recipients": [PHONE],
    }
    found = []
    with plain_http.new_client(
        base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30
    ) as http:
        while not moments.over.is_set():
            is_late = moments.closed.is_set()
            answer = http.post("/api/v1/sms/send", json=body)
            found.append(
                (is_late, answer.status_code, answer.json().get("error", {}).get("reason"))
            )
            if answer.status_code == 200:
                moments.sent.set()
            if is_late and answer.status_code == 401:
                moments.refused.set()
    return found


@pytest.mark.parametrize("attempt", range(3))
def test_a_close_among_sends_loses_no_money_and_leaves_nothing_queued(
    server_and_commands: tuple[Server, Run], attempt: int
) -> None:
    server, run = server_and_commands
    db: Database = server.cast.amina.db
    account_id = open_account(db, f"leaving {attempt}", credits=40)
    with db.read() as tx:
        account = accounts.text_id(accounts.by_id(tx, account_id))
    api_keys = [(issue_key(db, account_id, sandbox=sandbox), sandbox) for sandbox in (False, True)]
    moments = Moments()

    with ThreadPoolExecutor(2 * CLIENTS) as threads:
        clients = [
            threads.submit(client, server.url, *api_keys[place % 2], moments)
            for place in range(2 * CLIENTS)
        ]
        try:
            tries = 0
            assert moments.sent.wait(WITHIN_S)
            while (said := run("account", "close", account)).status != 0:
                tries += 1
                assert tries < TRIES_MAX, said.err
                # clients that never pause always have something on its way
                if tries == SUSPENDED_AT:
                    run("account", "suspend", account)
                if "pay-out" in said.err:
                    run("account", "pay-out", account, "--reason", "leaving")
                run("message", "cancel", "--account", account)
            moments.closed.set()
            left = count(db, account_id)
            assert moments.refused.wait(WITHIN_S), "keys of a closed account go on working"
        finally:
            moments.over.set()
    answers = [answer for each in clients for answer in each.result()]
    late = [answer[1:] for answer in answers if answer[0]]
    accepted = sum(status == 200 for _, status, _ in answers)
    assert {answer for answer in late if answer not in REFUSALS} == set()
    assert left == count(db, account_id) == (accepted, 0)
    with db.read() as tx:
        read_one_snapshot(tx)
        assert wallet.wallet_of(tx, account_id).figures == (0, 0)
        assert [*wallet.verify(tx), *verify_charges(tx)] == []
    assert_books_agree(db)


def count(db: Database, account_id: str) -> tuple[int, int]:
    """Returns how many messages the account has, and how many of them are queued or in flight."""
    mine = messages.c.account_id == account_id
    with db.read() as tx:
        every = tx.execute(
            sa.select(sa.func.count()).select_from(messages).where(mine)
        ).scalar_one()
        queued = tx.execute(
            sa.select(sa.func.count())
            .select_from(messages)
            .where(mine, messages.c.status == "queued")
        ).scalar_one()
        in_flight = tx.execute(
            sa.select(sa.func.count())
            .select_from(inflight.join(messages, messages.c.id == inflight.c.message_id))
            .where(mine)
        ).scalar_one()
    return int(every), int(queued + in_flight)
