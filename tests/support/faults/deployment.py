"""Runs the deployment under test: real processes on a real database, carriers behind proxies,
clients who remember what they were promised.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.tables import inflight, messages
from tests.support import plain_http, warm
from tests.support.books import assert_books_agree
from tests.support.crash.checker import unsettled
from tests.support.crash.processes import ServerProcess
from tests.support.factories import SECRET_KEY, issue_key, open_account, open_carrier
from tests.support.faults.carriers import CarrierUnderTest
from tests.support.faults.clients import Clients
from tests.support.faults.matrix import LONG
from tests.support.faults.proxy import Proxy

CREDITS: Final = 1_000_000
WITHIN_S: Final = 40.0  # what takes 1 s takes far longer on a machine that others use too
SETTLED_WITHIN_S: Final = 120.0
ALONE: Final = (("serve",),)
PARTS: Final = (("api", "--workers", "2" if LONG else "1"), ("worker",))


class Seen(NamedTuple):
    """Holds what a row of the matrix shows for one database."""

    messages: int
    lost: int
    repeated: int
    failed: int
    recovered_s: float | None
    how: str


class Deployment:
    """Runs a deployment: a test opens a `carrier`, calls `start`, sends with `clients`, does the
    fault, calls `settle`, and ends with `holds`.
    """

    def __init__(self, kind: str, url: str, redis_url: str, directory: Path) -> None:
        self.kind = kind
        self.db = Database(url)
        self.directory = directory
        self.carriers: dict[str, CarrierUnderTest] = {}
        self.servers: list[ServerProcess] = []
        # of all processes; a test adds what it likes before `start`
        self.env = {"REDIS_URL": redis_url} if kind == "postgresql" else {}
        self.seen: Seen | None = None
        self._url = url
        self._url_of_processes = url
        self._proxies: list[Proxy] = []
        self._data = directory / "data"
        self.balancer = ""  # the address of one that clients ask instead of the API itself
        self.account_id = open_account(self.db, credits=CREDITS)
        self.clients = Clients(
            lambda: self.balancer or self.api.address, issue_key(self.db, self.account_id)
        )

    # --- building it

    def carrier(
        self,
        *options: str,
        name: str = "carrier",
        prefix: str = "",
        script: str = "",
        **settings: Any,
    ) -> CarrierUnderTest:
        """Runs an SMSC with these options (`heliograph smsc --help`) and script; numbers with the
        prefix go there. `settings` are those of the carrier.
        """
        made = self.carriers[name] = CarrierUnderTest(name, self.directory, options, script)
        made.id = open_carrier(self.db, name, port=made.proxy.port, prefix=prefix, **settings)
        return made

    def database_proxy(self, *, for_all: bool = True, listens_at: str = "127.0.0.1") -> Proxy:
        """Puts a proxy between PostgreSQL and the processes that begin after this. Without
        `for_all`, the proxy is between PostgreSQL and those that are run with it.
        """
        parts = urlsplit(self._url)
        proxy = self.proxy(parts.port or 5432, parts.hostname, listens_at)
        if for_all:
            self._url_of_processes = self._through(proxy)
        return proxy

    def _through(self, proxy: Proxy) -> str:
        parts = urlsplit(self._url)
        return parts._replace(
            netloc=f"{parts.netloc.rpartition('@')[0]}@{proxy.host}:{proxy.port}".lstrip("@")
        ).geturl()

    def redis_proxy(self) -> Proxy:
        """Puts a proxy between the processes and Redis, before `start`."""
        parts = urlsplit(self.env["REDIS_URL"])
        proxy = self.proxy(parts.port or 6379, parts.hostname)
        self.env["REDIS_URL"] = parts._replace(netloc=f"127.0.0.1:{proxy.port}").geturl()
        return proxy

    def proxy(self, port: int, host: str | None = None, listens_at: str = "127.0.0.1") -> Proxy:
        """Puts a proxy in front of any server; it ends with the deployment."""
        self._proxies.append(Proxy(port, host or "127.0.0.1", listens_at).__enter__())
        return self._proxies[-1]

    def start(self, commands: Sequence[Sequence[str]] = ()) -> None:
        """Starts everything in one process on SQLite, and the API and what sends in processes of
        their own on PostgreSQL. It waits until the deployment answers.
        """
        for command in commands or (ALONE if self.kind == "sqlite" else PARTS):
            self.run(*command)
        self.api.wait_until_ready()

    def run(
        self,
        *command: str,
        database: Proxy | str | None = None,
        port: int | None = None,
        within: Sequence[str] = (),
        files: int | None = None,
        clock: Mapping[str, str] | None = None,
        **env: str,
    ) -> ServerProcess:
        """Runs one process more: `run("worker")`. Its log has its place and number for a name.
        `database` is a proxy of its own, or another URL of it. `within` is what runs it, such as
        `netns.within(cable)`, and `clock` comes from `fake_time`. `files` says how many it may have
        open at the very most.
        """
        directory = (
            self._data
            if self.kind == "sqlite"
            else self.directory / f"{command[0]}-{len(self.servers)}"
        )
        url = (
            self._through(database)
            if isinstance(database, Proxy)
            else database or self._url_of_processes
        )
        self.servers.append(
            ServerProcess(
                url, directory, command, port, within, files, **(self.env | env | dict(clock or {}))
            )
        )
        return self.servers[-1]

    @property
    def api(self) -> ServerProcess:
        """Returns the newest process that answers requests."""
        return next(server for server in reversed(self.servers) if server.name in ("serve", "api"))

    @property
    def sender(self) -> ServerProcess:
        """Returns the newest process that sends."""
        return next(
            server
            for server in reversed(self.servers)
            if server.name in ("serve", "worker", "carrier")
        )

    def move_to(self, url: str) -> None:
        """Lets what looks at the database from outside of the processes look at this one from now
        on.
        """
        self.db.close()
        self._url, self.db = url, Database(url)

    # --- looking at it

    def command(self, *words: str, status: int = 0) -> Any:
        """Returns what `heliograph … --json` prints, decoded, or None when it prints nothing."""
        done = self._run(words)
        assert done.returncode == status, f"{words}: {done.returncode}, {done.stderr}"
        return json.loads(done.stdout) if done.stdout else None

    def _run(self, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, "DATABASE_URL": self._url, "HELIOGRAPH_SECRET_KEY": SECRET_KEY}
        return warm.run([*words, "--data-dir", self._data, "--json"], env=env, timeout=120)

    def message(self, message_id: str) -> dict[str, Any]:
        """Returns what the API says of a message."""
        answer = plain_http.get(
            f"{self.api.address}/api/v1/messages/{message_id}",
            headers=self.clients.headers,
            timeout=30,
        )
        return dict(answer.raise_for_status().json()["data"])

    def count(self, status: str) -> int:
        """Returns how many messages have this status."""
        with self.db.read() as tx:
            return int(
                tx.execute(
                    sa.select(sa.func.count()).where(messages.c.status == status)
                ).scalar_one()
            )

    def in_flight(self, state: str = "submitting") -> int:
        """Returns how many segments are in this state: claimed, submitting, in_doubt."""
        with self.db.read() as tx:
            return int(
                tx.execute(
                    sa.select(sa.func.count())
                    .select_from(inflight)
                    .where(inflight.c.state == state)
                ).scalar_one()
            )

    def in_doubt(self) -> int:
        return self.in_flight("in_doubt")

    def until(
        self, condition: Callable[[], object], what: str, within_s: float = WITHIN_S
    ) -> float:
        """Waits for it, and returns how many seconds that took."""
        began_s = time.monotonic()
        while not condition():
            assert time.monotonic() - began_s < within_s, f"not within {within_s} s: {what}"
            time.sleep(0.02)
        return time.monotonic() - began_s

    # --- moving time

    def settle_doubts(self, within_s: float = WITHIN_S) -> None:
        """Settles doubts: of what the carriers took they have said what became of it; what is in
        doubt even so is old enough to be sent once more.
        """
        self.until(
            lambda: all(
                len(carrier.events("acknowledged")) >= len(carrier.submits())
                for carrier in self.carriers.values()
            ),
            "all receipts are stored",
            within_s,
        )
        self.age_doubts()

    def age_doubts(self) -> None:
        """Ages what is in doubt by as long as it takes to be sent once more (120 s): time is moved,
        not waited for.
        """
        with self.db.write() as tx:
            tx.execute(
                sa.update(inflight)
                .where(inflight.c.state == "in_doubt")
                .values(since_ms=clock.now_ms() - RESEND_AFTER_MS)
            )

    # --- its end

    def settle(self, within_s: float = SETTLED_WITHIN_S) -> float:
        """Waits until every accepted message has its last state, and returns how many seconds that
        took.
        """
        return self.until(
            lambda: not unsettled(self.db), f"all settled; {self.sender.log[-2_000:]}", within_s
        )

    def holds(
        self, *, repeated_max: int = 0, failed: int = 0, recovered_s: float | None = None, how: str
    ) -> Seen:
        """Ends each row: it settles, stops the processes in order, and has the checker look.
        `repeated_max` is the row's bound; `failed` says how many messages are to have failed;
        `recovered_s` runs from the fault's end, or from its beginning where it must be found, until
        what `how` says.
        """
        self.clients.ask_again()
        self.settle()
        self.stop()
        assert not self.clients.wrong, self.clients.wrong[:3]
        assert self.clients.accepted, "nothing was sent"
        lost, repeated = self._checked()
        seen = self.seen = Seen(
            len(self.clients.accepted), lost, repeated, self.count("failed"), recovered_s, how
        )
        assert (seen.lost, seen.failed) == (0, failed), seen
        assert seen.repeated <= repeated_max, seen
        return seen

    def _checked(self) -> tuple[int, int]:
        """Returns how many accepted messages are lost, and how many segments a carrier took again:
        as `ledger verify` has it, which fails when the carriers' logs joined to the messages leave
        anything unexplained.
        """
        assert_books_agree(self.db)
        accepted = self.directory / "accepted.txt"
        self.clients.write_accepted(accepted)
        logs = [
            word for carrier in self.carriers.values() for word in ("--smsc-log", str(carrier.log))
        ]
        told = self.command("ledger", "verify", *logs, "--accepted", str(accepted))
        assert told["messages"] == len(self.clients.accepted), "one request, two messages"
        repeated = sum(carrier.repeated() for carrier in self.carriers.values())
        assert told.get("duplicates", 0) == repeated, (
            "the checker counts otherwise than the carriers' logs do"
        )
        return told["lost"], repeated

    def stop(self) -> None:
        """Stops all processes that still run, in order; each must end well."""
        for server in reversed(self.servers):
            if server.process.poll() is None:
                assert server.end() == 0, server.log[-2_000:]

    def close(self) -> None:
        """Closes whatever is left, by force."""
        for server in self.servers:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
        for carrier in self.carriers.values():
            carrier.close()
        for proxy in self._proxies:
            proxy.__exit__()
        self.db.close()
