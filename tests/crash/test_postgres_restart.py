"""`serve` beside a PostgreSQL that is killed and comes back, under load: 503 at once, back without a restart, nothing lost (promise 7)."""

import itertools
import threading
import time
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from heliograph.base import migrate
from heliograph.base.db import Database
from tests.crash.checker import Accepted, check, unsettled
from tests.crash.processes import ServerProcess
from tests.crash.remembering_smsc import remembering_smsc
from tests.factories import SENDER, issue_key, open_account, open_carrier
from tests.services.postgres import PrivatePostgres

ANSWER_WITHIN_S = 2.0
BACK_WITHIN_S = 10.0
SETTLED_WITHIN_S = 60.0
WINDOW = 20
CLIENTS = 4


class Reply(NamedTuple):
    at_s: float
    took_s: float
    status: int
    retry_after: str | None


class Load:
    """Clients that go on sending, whatever is answered, until they are told to stop."""

    def __init__(self, address: str, key: str) -> None:
        self._address, self._key = address, key
        self._numbers = itertools.count(1)
        self._over = threading.Event()
        self.replies: list[Reply] = []
        self.accepted: list[Accepted] = []
        self._threads = [threading.Thread(target=self._send) for _ in range(CLIENTS)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        with httpx.Client(headers={"Authorization": f"Bearer {self._key}"}, timeout=30) as client:
            while not self._over.is_set():
                number = next(self._numbers)
                recipient, text, asked_s = str(233_200_000_000 + number), f"order {number}", time.monotonic()
                answer = client.post(f"{self._address}/api/v1/sms/send", json={"sender": SENDER, "message": text, "recipients": [recipient]})
                self.replies.append(Reply(asked_s, time.monotonic() - asked_s, answer.status_code, answer.headers.get("retry-after")))
                if answer.status_code == 200:
                    self.accepted.append(Accepted(answer.json()["data"]["message_id"], recipient, text))
                self._over.wait(0.01)  # as fast as this is load enough, and leaves the machine to others

    def wait_for(self, status: int, since_s: float, count: int, within_s: float) -> None:
        """Until so many requests made since then were answered so."""
        until_s = time.monotonic() + within_s
        while sum(reply.status == status and reply.at_s > since_s for reply in list(self.replies)) < count:
            assert time.monotonic() < until_s, f"fewer than {count} answers {status} within {within_s} s"
            time.sleep(0.02)


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_server_outlives_its_postgresql(how: str, private_postgres: PrivatePostgres, tmp_path: Path) -> None:
    migrate.upgrade(private_postgres.url)
    db = Database(private_postgres.url)
    with remembering_smsc() as smsc:
        open_carrier(db, port=smsc.port, window=WINDOW)
        key = issue_key(db, open_account(db, credits=1_000_000))
        db.engine.dispose()
        server = ServerProcess(private_postgres.url, tmp_path / "data")
        try:
            server.wait_until_ready()
            with Load(server.address, key) as load:
                load.wait_for(200, 0, 50, BACK_WITHIN_S)
                getattr(private_postgres, how)()
                gone_s = time.monotonic()
                load.wait_for(503, gone_s, 20, BACK_WITHIN_S)
                private_postgres.start()
                back_s = time.monotonic()
                submitted = len(smsc.submits)
                load.wait_for(200, back_s, 20, BACK_WITHIN_S)
            assert server.process.poll() is None
            assert {reply.status for reply in load.replies} == {200, 503}
            assert max(reply.took_s for reply in load.replies) < ANSWER_WITHIN_S
            assert all(int(reply.retry_after or 0) >= 1 for reply in load.replies if reply.status == 503)
            server.wait_for_event("server_lock_held_again", BACK_WITHIN_S)
            until_s = time.monotonic() + SETTLED_WITHIN_S
            while left := unsettled(db):
                assert time.monotonic() < until_s, f"{left} messages are still not settled"
                time.sleep(0.1)
            assert len(smsc.submits) > submitted
            check(db, load.accepted, smsc.submits, duplicates_max=WINDOW)
        finally:
            assert server.end() == 0
            db.close()
