"""Kannel, a gateway that others wrote and many run, is a client of our SMSC: what it sends arrives,
and it calls its users back.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from bench import kannel
from bench.reading import Conditions
from tests.support import plain_http
from tests.support.services.kannel import ADVICE, find_kannel
from tests.support.wire.smsc_process import SmscProcess, running

# what Kannel's dlr-url is told, as %d
DELIVERED, NOT_DELIVERED, ACCEPTED, REFUSED, EXPIRED = 1, 2, 8, 16, 34
TEXT = "Grüße, your order is on its way"
WITHIN_S = 30.0


class Callbacks:
    """Keeps what Kannel reports: (recipient, state) of every call, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.news = threading.Condition()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        callbacks = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                query = parse_qs(urlsplit(self.path).query)
                with callbacks.news:
                    callbacks.calls.append((query["to"][0], int(query["state"][0])))
                    callbacks.news.notify_all()
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        return Handler

    def until(self, count: int, state: int) -> list[tuple[str, int]]:
        """Waits for so many calls with this state. Returns all calls."""
        with self.news:
            assert self.news.wait_for(
                lambda: sum(call[1] == state for call in self.calls) >= count, WITHIN_S
            ), self.calls
            return list(self.calls)


@pytest.fixture
def callbacks() -> Iterator[Callbacks]:
    sink = Callbacks()
    thread = threading.Thread(target=sink.server.serve_forever)
    thread.start()
    yield sink
    sink.server.shutdown()
    thread.join()
    sink.server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if find_kannel() is None:
        raise RuntimeError(ADVICE)  # a failure, not a skip
    return tmp_path


def send(gateway: kannel.Gateway, callbacks: Callbacks, recipient: str) -> None:
    url = f"http://127.0.0.1:{callbacks.server.server_port}/?to={recipient}&state=%d"
    query = {
        "username": "bench",
        "password": "bench",
        "from": "AMINA",
        "to": recipient,
        "text": TEXT,
        "charset": "UTF-8",
        "dlr-mask": str(DELIVERED | NOT_DELIVERED | ACCEPTED | REFUSED),
    }
    whole = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    answer = plain_http.get(
        f"http://127.0.0.1:{gateway.http_port}/cgi-bin/sendsms?{whole}"
        f"&dlr-url={quote(url, safe='')}",
        timeout=WITHIN_S,
    )
    assert answer.status_code == 202, answer.text


def in_kannel(folder: Path, smsc: SmscProcess) -> AbstractContextManager[kannel.Gateway]:
    return kannel.running(
        Conditions(folder, seconds=0, warm_up_s=0, limit_s=0, fill_s=0), smsc.port
    )


def test_what_it_sends_arrives_and_its_users_are_called_back(
    folder: Path, callbacks: Callbacks
) -> None:
    with running(folder) as smsc, in_kannel(folder, smsc) as gateway:
        smsc.until(1, "bind")
        recipients = [
            "233201234567",
            "233201234568",
            "233201234000",
            "233201234001",
            "233201234002",
        ]
        for recipient in recipients:
            send(gateway, callbacks, recipient)
        callbacks.until(2, DELIVERED)
        callbacks.until(1, NOT_DELIVERED)
        callbacks.until(1, EXPIRED)
        calls = callbacks.until(1, REFUSED)
        assert Counter(calls) == Counter(
            [
                *((recipient, ACCEPTED) for recipient in recipients if recipient != "233201234001"),
                ("233201234001", REFUSED),
                ("233201234567", DELIVERED),
                ("233201234568", DELIVERED),
                ("233201234000", NOT_DELIVERED),
                ("233201234002", EXPIRED),
            ]
        )
        told = smsc.events("submit_sm")
        assert {line["recipient"] for line in told} == set(recipients)
        assert {line["text_sha256"] for line in told} == {sha256(TEXT.encode()).hexdigest()}
        assert {line["status"] for line in smsc.until(4, "acknowledged")} == {0}


def test_it_gets_through_a_broken_connection(folder: Path, callbacks: Callbacks) -> None:
    (folder / "script").write_text("after 2 submits: drop\n")
    with (
        running(folder, "--script", str(folder / "script")) as smsc,
        in_kannel(folder, smsc) as gateway,
    ):
        smsc.until(1, "bind")
        for number in range(4):
            send(gateway, callbacks, f"23320123456{number}")
        calls = callbacks.until(4, DELIVERED)
        assert {recipient for recipient, state in calls if state == DELIVERED} == {
            f"23320123456{number}" for number in range(4)
        }
        assert len(smsc.events("bind")) == 2
        assert [line["chaos"] for line in smsc.events("submit_sm")].count(["drop"]) == 1
