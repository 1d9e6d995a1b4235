"""The API runs in two processes, and a third one sends what it accepts, on PostgreSQL and Redis.
They are killed and stopped.
"""

import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import psutil
import psycopg
import pytest

from heliograph.database.database import Database
from tests.support import plain_http
from tests.support.crash.processes import ServerProcess
from tests.support.crash.remembering_smsc import remembering_smsc
from tests.support.factories import SENDER, issue_key, open_account, open_carrier

CLIENTS = 16
SENDS = 200
DELIVERED_WITHIN_S = 20.0
STARTED_AGAIN_WITHIN_S = 15.0


class Parts(NamedTuple):
    """Holds the parts of the service, with an account that may send."""

    url: str
    redis: dict[str, str]
    api: ServerProcess
    worker: ServerProcess
    key: str

    def send(self, number: int) -> str:
        answer = plain_http.post(
            f"{self.api.address}/api/v1/sms/send",
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=30,
            json={
                "sender": SENDER,
                "message": f"order {number}",
                "recipients": [str(233_200_000_000 + number)],
            },
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["data"]["message_id"])

    def statuses(self) -> Counter[str]:
        answer = plain_http.get(
            f"{self.api.address}/api/v1/reports?limit=1000",
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=30,
        )
        return Counter(message["status"] for message in answer.json()["data"])

    def wait_until_delivered(self, count: int) -> None:
        until_s = time.monotonic() + DELIVERED_WITHIN_S
        while self.statuses() != {"delivered": count}:
            assert time.monotonic() < until_s, f"{self.statuses()}:\n{self.worker.log[-2_000:]}"
            time.sleep(0.05)

    def accepted(self) -> float:
        text = plain_http.get(f"{self.api.address}/metrics", timeout=10).text
        return sum(
            float(value)
            for value in re.findall(
                r'^heliograph_messages_accepted_total\{mode="live"\} (\S+)$', text, re.MULTILINE
            )
        )


@pytest.fixture
def parts(new_database: Callable[[str], str], redis_url: str, tmp_path: Path) -> Iterator[Parts]:
    url = new_database("postgresql")
    db = Database(url)
    redis = {"REDIS_URL": redis_url}
    with remembering_smsc() as smsc:
        open_carrier(db, port=smsc.port)
        key = issue_key(db, open_account(db, credits=10_000))
        db.close()
        worker = ServerProcess(url, tmp_path / "worker", ["worker"], **redis)
        api = ServerProcess(url, tmp_path / "api", ["api", "--workers", "2"], **redis)
        api.wait_until_ready()
        api.wait_for_event("serving", STARTED_AGAIN_WITHIN_S, times=2)
        yield Parts(url, redis, api, worker, key)
        assert (api.end(), worker.end()) in ((0, 0), (-signal.SIGKILL, 0))


def test_two_api_processes_share_the_work_and_their_figures_add_up(parts: Parts) -> None:
    with ThreadPoolExecutor(CLIENTS) as clients:
        message_ids = list(clients.map(parts.send, range(SENDS)))
    assert len(set(message_ids)) == SENDS
    parts.wait_until_delivered(SENDS)
    assert {parts.accepted() for _ in range(10)} == {SENDS}  # whichever of them answers


def test_an_api_process_that_is_killed_is_started_again_and_the_others_go_on(parts: Parts) -> None:
    parts.send(0)
    first, second = parts.api.answering()
    first.send_signal(signal.SIGKILL)
    first.wait(10)
    for number in range(1, 20):
        parts.send(number)
    until_s = time.monotonic() + STARTED_AGAIN_WITHIN_S
    while len(parts.api.answering()) < 2 or parts.api.log.count('"serving"') < 3:
        assert time.monotonic() < until_s, parts.api.log[-2_000:]
        time.sleep(0.05)
    second.send_signal(signal.SIGKILL)
    second.wait(10)
    for number in range(20, 40):
        parts.send(number)
    parts.wait_until_delivered(40)


def test_an_api_process_that_starts_while_the_database_is_busy_is_started_until_it_can(
    parts: Parts,
) -> None:
    with psycopg.connect(parts.url) as holder:
        holder.execute("LOCK TABLE config IN ACCESS EXCLUSIVE MODE")
        killed = parts.api.answering()[0]
        killed.send_signal(signal.SIGKILL)
        killed.wait(10)
        until_s = time.monotonic() + STARTED_AGAIN_WITHIN_S
        # the one that was killed, and one that could not start
        while parts.api.log.count('"api_process_ended"') < 2:
            assert time.monotonic() < until_s, parts.api.log[-2_000:]
            time.sleep(0.05)
    parts.api.wait_until_ready()
    parts.send(0)
    parts.wait_until_delivered(1)
    assert "Traceback" not in parts.api.log


def test_api_processes_end_with_the_one_that_starts_them(parts: Parts, tmp_path: Path) -> None:
    orphans = parts.api.answering()
    parts.api.process.kill()
    parts.api.process.wait(10)
    assert psutil.wait_procs(orphans, timeout=15)[1] == []


def test_what_is_queued_leaves_at_once_though_another_process_sends_it(parts: Parts) -> None:
    parts.send(0)
    parts.wait_until_delivered(1)
    seconds = []
    with plain_http.new_client(headers={"Authorization": f"Bearer {parts.key}"}) as client:
        for number in range(1, 21):
            message_id = parts.send(number)
            accepted_s = time.monotonic()
            while (
                answer := client.get(f"{parts.api.address}/api/v1/messages/{message_id}")
            ).json()["data"]["status"] == "queued":
                assert time.monotonic() - accepted_s < 5
            assert answer.status_code == 200
            seconds.append(time.monotonic() - accepted_s)
    # found by looking, every 250 ms, it would be 0.125
    assert sorted(seconds)[len(seconds) // 2] < 0.1


def test_processes_that_cannot_be_together_say_why(
    parts: Parts, tmp_path: Path, new_database: Callable[[str], str]
) -> None:
    for command, env, why in (
        (
            ["api", "--workers", "2"],
            {"REDIS_URL": ""},
            "REDIS_URL: found no value, but 2 API processes; allowed: redis://",
        ),
        (
            ["api"],
            {"REDIS_URL": ""},
            (
                "REDIS_URL: found no value, but another API process uses this database; allowed:"
                " redis://"
            ),
        ),
        (
            ["api"],
            {"DATABASE_URL": new_database("sqlite")},
            "DATABASE_URL: found SQLite; allowed: postgresql://",
        ),
        (
            ["worker"],
            {"DATABASE_URL": new_database("sqlite")},
            "DATABASE_URL: found SQLite; allowed: postgresql://",
        ),
        (["api"], {"DATABASE_URL": f"{parts.url}_none"}, "The database refused: "),
        (
            ["carrier", "run", "carrier"],
            {"DATABASE_URL": new_database("sqlite")},
            "DATABASE_URL: found SQLite; allowed: postgresql://",
        ),
        (
            ["scheduler"],
            {"DATABASE_URL": new_database("sqlite")},
            "DATABASE_URL: found SQLite; allowed: postgresql://",
        ),
        (["carrier", "run", "none"], {}, "There is no carrier "),
        *(
            (
                each,
                {"HELIOGRAPH_SECRET_KEY": "o" * 32},
                "HELIOGRAPH_SECRET_KEY: found a key that cannot read this database's secrets",
            )
            for each in (["api"], ["worker"], ["scheduler"], ["carrier", "run", "carrier"])
        ),
        (["serve"], {}, "Another server or worker uses this database."),
    ):
        refused = ServerProcess(parts.url, tmp_path / "refused", command, **{**parts.redis, **env})
        assert refused.process.wait(30) == 1
        assert refused.log.splitlines()[-1].startswith("heliograph: " + why), refused.log


@pytest.mark.parametrize("first", ["serve", "api"])
def test_a_server_and_an_api_that_do_not_count_together_are_not_beside_each_other(
    first: str, postgresql_url: str, redis_url: str, tmp_path: Path
) -> None:
    second = {"serve": "api", "api": "serve"}[first]
    for redis_of_first in ("", redis_url):
        there = ServerProcess(postgresql_url, tmp_path / first, [first], REDIS_URL=redis_of_first)
        there.wait_until_ready()
        refused = ServerProcess(postgresql_url, tmp_path / second, [second], REDIS_URL="")
        assert refused.process.wait(30) == 1
        assert refused.log.splitlines()[-1].startswith(
            "heliograph: REDIS_URL: found no value, but another API process uses this database;"
            " allowed: "
        )
        assert there.end() == 0
