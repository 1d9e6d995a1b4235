"""The receivers of docs/webhooks.md run as a reader runs them: they act on real webhooks once each,
and refuse what is not ours, or not new.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.carriers import carrier_named
from heliograph.database.database import Database
from heliograph.database.hot import run_in
from heliograph.inbound import add_number
from heliograph.inbound.receive.record import record
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.replay import replay_one
from heliograph.webhooks.sign import headers, new_secret
from heliograph.webhooks.tables import webhook_deliveries
from tests.support import plain_http
from tests.support.api.service import contract
from tests.support.capability.inbox import written
from tests.support.capability.webhooks import endpoint, events
from tests.support.crash.processes import ServerProcess
from tests.support.crash.sends import send
from tests.support.documents import files
from tests.support.factories import issue_key, open_account, open_route, phones
from tests.support.polling import wait_until
from tests.support.services import free_port
from tests.support.sources import ROOT
from tests.support.wire.handset_texts import SHORT_CODE

PAGE = ROOT / "docs" / "webhooks.md"
ANSWERED_WITHIN_S = 60.0  # by a program that the page shows
AT_ONCE = 64  # connections that the page says we may make to one endpoint
HEARD = ("message.sent", "message.delivered", "message.failed", "wallet.low_balance")
RUN = {"receiver.py": sys.executable, "receiver.js": "node"}


class Receiver(NamedTuple):
    """Is one of the page's receivers, running. `printed` is what it has said, a list of lines."""

    address: str
    output: Path
    process: "subprocess.Popen[bytes]"

    @property
    def printed(self) -> list[str]:
        return self.output.read_text().splitlines()

    def answers(self, body: bytes, sent: dict[str, str]) -> int:
        return plain_http.post(self.address, content=body, headers=sent, timeout=30).status_code


@contextmanager
def running(program: str, secret: str, port: int, directory: Path) -> Iterator[Receiver]:
    directory.mkdir(exist_ok=True)
    (directory / program).write_text(files(PAGE)[program])
    output = directory / "printed.txt"
    with output.open("ab") as log:
        process = subprocess.Popen(
            [RUN[program], program, str(port)],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={"PATH": os.environ["PATH"], "WEBHOOK_SECRET": secret},
        )
    receiver = Receiver(f"http://127.0.0.1:{port}/hook", output, process)
    try:
        wait_until(lambda: _listens(receiver), f"{program} listens: {receiver.printed}")
        yield receiver
    finally:
        process.kill()
        process.wait()


def _listens(receiver: Receiver) -> bool:
    assert receiver.process.poll() is None, receiver.printed
    try:
        return receiver.answers(b"{}", {}) == 401
    except httpx.TransportError:
        return False


def delivered(db: Database, to: WebhookEndpoint) -> int:
    """Returns how many times events were delivered, replays included."""
    columns = webhook_deliveries.c
    with db.read() as tx:
        return int(
            tx.execute(
                sa.select(sa.func.count()).where(
                    columns.endpoint_id == to.id, columns.outcome == "delivered"
                )
            ).scalar_one()
        )


@pytest.mark.parametrize("program", list(RUN))
def test_a_receiver_acts_on_each_event_once(program: str, sqlite_url: str, tmp_path: Path) -> None:
    db, port = Database(sqlite_url), free_port()
    amina_id = open_account(db)
    hears, secret = endpoint(db, amina_id, f"http://127.0.0.1:{port}/hook", sandbox=True)
    server = ServerProcess(sqlite_url, tmp_path / "data", HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK="1")
    try:
        with running(program, secret, port, tmp_path / "receiver") as receiver:
            server.wait_until_ready()
            to = [*phones(3, first=100), "233201230000"]  # the last one is not delivered
            *well, ill = send(
                server,
                issue_key(db, amina_id, sandbox=True),
                to,
                sender="SANDBOX",
                reference="order-1",
            )
            expected = [
                f"{kind} {message_id} order-1"
                for message_ids, kinds in (
                    (well, ("sent", "delivered")),
                    ([ill], ("sent", "failed")),
                )
                for message_id in message_ids
                for kind in (f"message.{kind}" for kind in kinds)
            ]
            wait_until(
                lambda: delivered(db, hears) == len(expected), f"all delivered: {receiver.printed}"
            )
            assert sorted(receiver.printed) == sorted(expected)
        # what it has acted on it knows after a restart too
        with running(program, secret, port, tmp_path / "receiver") as receiver:
            again = events(db)[0]["id"]
            with db.write() as tx:
                replay_one(tx, hears, again, now_ms=clock.now_ms())
            wait_until(
                lambda: delivered(db, hears) == len(expected),
                f"delivered again: {receiver.printed}",
            )
            assert receiver.printed[len(expected) :] == [f"repeated {again}"]
    finally:
        assert server.end() == 0
        db.close()


@pytest.mark.parametrize("program", list(RUN))
def test_a_receiver_refuses_what_is_not_from_us_or_not_from_now(
    program: str, tmp_path: Path
) -> None:
    new, old, now_s = new_secret(), new_secret(), int(time.time())
    body = json.dumps(
        {
            "id": "evt_1",
            "event": "message.sent",
            "data": {"id": "msg_1", "status": "sent", "reference": None},
        }
    ).encode()

    def signed(secret: str = new, at_s: int = now_s, former: str | None = None) -> dict[str, str]:
        return headers("evt_1", "message.sent", body, at_s, secret, former)

    with running(program, f"{new} {old}", free_port(), tmp_path / "receiver") as receiver:
        refused = {
            "nobody's": {},
            "another secret's": signed(new_secret()),
            "another id": signed() | {"webhook-id": "evt_2"},
            "an old one": signed(at_s=now_s - 400),
            "one from the future": signed(at_s=now_s + 400),
            "an old one with another time": (
                signed(at_s=now_s - 400) | {"webhook-timestamp": str(now_s)}
            ),
            "no time": signed() | {"webhook-timestamp": "now"},
            "a time beyond all": signed() | {"webhook-timestamp": "9" * 400},
            "only the other header": {
                name: value for name, value in signed().items() if name.startswith("X-")
            },
            "another version": (
                signed()
                | {"webhook-signature": signed()["webhook-signature"].replace("v1,", "v2,")}
            ),
        }
        assert {
            what: receiver.answers(body, sent) for what, sent in refused.items()
        } == dict.fromkeys(refused, 401)
        assert receiver.answers(body.replace(b"sent", b"lost"), signed()) == 401
        assert receiver.answers(b"x" * 70_000, signed()) == 413
        assert receiver.printed == []
        assert receiver.answers(body, signed()) == 204
        assert receiver.answers(body, signed(at_s=now_s - 1)) == 204
        assert receiver.answers(body, signed(old)) == 204
        assert receiver.answers(body, signed(new_secret(), former=old)) == 204
        assert [line.split()[0] for line in receiver.printed] == [
            "message.sent",
            "repeated",
            "repeated",
            "repeated",
        ]


@pytest.mark.parametrize("program", list(RUN))
def test_a_receiver_that_is_busy_turns_no_connection_away(program: str, tmp_path: Path) -> None:
    """There are as many connections as we make to one endpoint, before it takes the first
    of them.
    """
    with (
        running(program, new_secret(), free_port(), tmp_path / "receiver") as receiver,
        ExitStack() as open_ones,
    ):
        where = ("127.0.0.1", urlsplit(receiver.address).port)
        receiver.process.send_signal(signal.SIGSTOP)
        made = [
            open_ones.enter_context(socket.create_connection(where, timeout=5))
            for _ in range(AT_ONCE)
        ]
        for connection in made:
            connection.sendall(
                b"POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection:"
                b" close\r\n\r\n{}"
            )
        receiver.process.send_signal(signal.SIGCONT)
        assert {connection.makefile("rb").readline().split()[1] for connection in made} == {b"401"}


def test_the_short_checks_know_x_service_signature() -> None:
    secret, body = new_secret(), '{"a": "€"}'.encode()
    signature = headers("evt_1", "message.sent", body, 1, secret)["X-Service-Signature"]
    cases = [
        (body, signature, secret),
        (body + b" ", signature, secret),
        (body, signature[:-1], secret),
        (body, "é" * 64, secret),
        (body, signature, new_secret()),
    ]
    there: dict[str, Any] = {}
    exec(files(PAGE)["is_signed.py"], there)
    assert [there["is_signed"](*case) for case in cases] == [True, False, False, False, False]
    asked = json.dumps([[body.hex(), signature, secret] for body, signature, secret in cases])
    ask = (
        f"console.log(JSON.stringify({asked}.map(([body, ...more]) => isSigned(Buffer.from(body,"
        " 'hex'), ...more))))"
    )
    done = subprocess.run(
        ["node", "-e", files(PAGE)["is_signed.js"] + ask],
        stdout=subprocess.PIPE,
        check=True,
        timeout=ANSWERED_WITHIN_S,
    )
    assert json.loads(done.stdout) == [True, False, False, False, False]


def test_the_examples_look_like_real_events(sqlite_url: str, tmp_path: Path) -> None:
    """They do field by field, in their order, with values of the same form."""
    examples = {
        example["event"]: example
        for example in map(
            json.loads, re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
        )
    }
    db = Database(sqlite_url)
    amina_id = open_account(db, credits=100, sender="DEMO")
    endpoint(db, amina_id)
    server = ServerProcess(sqlite_url, tmp_path / "data")
    try:
        server.wait_until_ready()
        open_route(db)
        send(
            server,
            issue_key(db, amina_id),
            ["233201234567", "233201234000"],
            sender="DEMO",
            message="Your order is on its way",
            reference="order-1001",
        )
        with db.write() as tx:
            simulator = carrier_named(tx, "simulator").id
            add_number(tx, SHORT_CODE, "simulator", amina_id, now_ms=clock.now_ms())
            stop = written("STOP", 2, sender="233201234999")
            arrived = [written("Where is my order?", 1), stop]
            run_in(tx, lambda hot: record(hot, simulator, arrived, clock.now_ms()))
        heard = {*HEARD, "message.received", "contact.opted_out"}
        wait_until(lambda: {event["event"] for event in events(db)} == heard, "one of each")
        real = {
            event["event"]: event
            for event in events(db)
            if (event["event"], event["data"].get("keyword")) != ("message.received", "stop")
        }
        for kind in heard:
            contract().check_webhook(real[kind])
        assert {kind: _form(example) for kind, example in examples.items()} == {
            kind: _form(real[kind]) for kind in heard if kind != "message.sent"
        }
    finally:
        assert server.end() == 0
        db.close()


def _form(value: Any) -> Any:
    """Returns what stays of a value when its digits and ids are taken away: `evt_…`, times, and the
    types of numbers.
    """
    if isinstance(value, dict):
        return [(name, _form(inner)) for name, inner in value.items()]
    if isinstance(value, str):
        return re.sub(r"_[0-9a-z]{26}$|\d", "#", value)
    return value if isinstance(value, bool) or value is None else type(value)
