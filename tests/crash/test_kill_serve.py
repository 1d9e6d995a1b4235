"""`kill -9` of a server under load, again and again: what it answered 200 to is stored, goes out, and is paid for once."""

import itertools
import os
import random
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
from tests.crash.processes import ServerProcess
from tests.crash.remembering_smsc import remembering_smsc
from tests.factories import SENDER, issue_key, open_account, open_carrier

ROUNDS = int(os.environ.get("HELIOGRAPH_TEST_CRASH_ROUNDS", "20"))
WINDOW = 20
CLIENTS = 4
SETTLED_WITHIN_S = 60.0
RECEIPTS_COME_WITHIN_S = 3.0  # those that the carrier kept while the server was down settle the doubts about what it got


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
            server = ServerProcess(url, tmp_path)
            server.wait_until_ready()
            load = Load(server.address, key, numbers)
            load.start()
            time.sleep(chance.uniform(0.1, 0.8))  # the moment is the test
            server.process.kill()
            server.process.wait()
            load.join()
            assert not load.refused, load.refused[:3]
            accepted += load.accepted
        assert len(accepted) > ROUNDS, "the server was killed before it did anything"
        server = ServerProcess(url, tmp_path)
        try:
            server.wait_until_ready()
            _wait_until_settled(db)
        finally:
            assert server.end() == 0
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
