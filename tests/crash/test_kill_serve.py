"""`kill -9` of a server under load, again and again: what it answered 200 to is stored, goes out, and is paid for once."""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from heliograph.base.db import Database
from heliograph.messages.sweep import RESEND_AFTER_MS
from heliograph.messages.tables import inflight
from tests.crash.checker import Accepted, check, unsettled
from tests.crash.remembering_smsc import remembering_smsc
from tests.factories import SECRET_KEY, SENDER, issue_key, open_account, open_carrier
from tests.services import free_port

ROUNDS = int(os.environ.get("HELIOGRAPH_CRASH_ROUNDS", "20"))
WINDOW = 20
CLIENTS = 4
READY_WITHIN_S = 30.0
SETTLED_WITHIN_S = 60.0
RECEIPTS_COME_WITHIN_S = 3.0  # those that the carrier kept while the server was down settle the doubts about what it got
HELIOGRAPH = Path(sys.executable).with_name("heliograph")


class Load:
    """Clients that send one text after the other, each to a number of its own, until the server is gone."""

    def __init__(self, url: str, key: str, numbers: "itertools.count[int]") -> None:
        self._url = url
        self._key = key
        self._numbers = numbers
        self.accepted: list[Accepted] = []
        self.refused: list[tuple[int, str]] = []
        self._threads = [threading.Thread(target=self._send_until_gone) for _ in range(CLIENTS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _send_until_gone(self) -> None:
        with httpx.Client(headers={"Authorization": f"Bearer {self._key}"}, timeout=10) as client:
            while True:
                number = next(self._numbers)
                recipient, text = str(233_200_000_000 + number), f"order {number}"
                try:
                    answer = client.post(f"{self._url}/api/v1/sms/send", headers={"Idempotency-Key": text},
                                         json={"sender": SENDER, "message": text, "recipients": [recipient]})
                except httpx.HTTPError:
                    return
                if answer.status_code == 200:
                    self.accepted.append(Accepted(answer.json()["data"]["message_id"], recipient, text))
                else:
                    self.refused.append((answer.status_code, answer.text))


def _start(url: str, data_dir: Path) -> tuple[subprocess.Popen[bytes], str]:
    port = free_port()
    with (data_dir / "serve.log").open("ab") as log:
        process = subprocess.Popen([HELIOGRAPH, "serve", "--port", str(port), "--data-dir", data_dir], stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log, env={**os.environ, "DATABASE_URL": url, "HELIOGRAPH_SECRET_KEY": SECRET_KEY})
    address = f"http://127.0.0.1:{port}"
    until_s = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            if httpx.get(f"{address}/readyz", timeout=1).status_code == 200:
                return process, address
        except httpx.HTTPError:
            if process.poll() is not None or time.monotonic() > until_s:
                raise AssertionError(f"the server did not start:\n{(data_dir / 'serve.log').read_text()[-2_000:]}") from None
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_server_killed_at_random_moments_under_load_loses_nothing_and_charges_once(
        kind: str, new_database: Callable[[str], str], tmp_path: Path) -> None:
    url = new_database(kind)
    db = Database(url)
    numbers, accepted = itertools.count(1), list[Accepted]()
    with remembering_smsc() as smsc:
        amina = open_account(db, credits=1_000_000)
        open_carrier(db, port=smsc.port, window=WINDOW)
        key = issue_key(db, amina)
        chance = random.Random(ROUNDS)  # the same moments each time, as far as a machine allows
        for _ in range(ROUNDS):
            process, address = _start(url, tmp_path)
            load = Load(address, key, numbers)
            load.start()
            time.sleep(chance.uniform(0.1, 0.8))  # the moment is the test
            process.send_signal(signal.SIGKILL)
            process.wait()
            load.join()
            assert not load.refused, load.refused[:3]
            accepted += load.accepted
        assert len(accepted) > ROUNDS, "the server was killed before it did anything"
        process, _ = _start(url, tmp_path)
        try:
            _wait_until_settled(db)
        finally:
            process.terminate()
            assert process.wait() == 0
        settled = check(db, accepted, smsc.submits, duplicates_max=ROUNDS * WINDOW)
    db.close()
    print(f"\n{kind}: {ROUNDS} kills, {len(accepted)} messages answered 200, {settled.messages} stored, {settled.submitted_again} submitted again")


def _wait_until_settled(db: Database) -> None:
    """What the carrier never got stays in doubt for 120 s and is then sent once more: that time is moved, not waited for."""
    started_s = time.monotonic()
    aged = False
    while left := unsettled(db):
        waited_s = time.monotonic() - started_s
        assert waited_s < SETTLED_WITHIN_S, f"{left} messages are still not settled"
        if waited_s > RECEIPTS_COME_WITHIN_S and not aged:
            with db.write() as tx:
                tx.execute(sa.update(inflight).where(inflight.c.state == "in_doubt").values(since_ms=inflight.c.since_ms - RESEND_AFTER_MS))
            aged = True
        time.sleep(0.1)
