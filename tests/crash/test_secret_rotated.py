"""docs/operations.md, "The secret key", is followed word by word, beside processes that send
one-time passwords: nobody who uses them notices.
"""

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from heliograph.base import ids
from heliograph.base.secrets import SecretKeys
from heliograph.database.database import Database
from heliograph.messages.tables import sends
from heliograph.otp.sealed_text import text_sealer
from tests.support import plain_http, warm
from tests.support.crash.processes import ServerProcess
from tests.support.documents import blocks
from tests.support.factories import (
    SECRET_KEY,
    issue_key,
    open_account,
    open_carrier,
    open_route,
    phones,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "operations.md"
DELIVERED_WITHIN_S = 20.0


class Clients:
    """Clients have codes sent, and give them back."""

    def __init__(self, url: str) -> None:
        self.db = Database(url)
        amina_id = open_account(self.db, credits=100)
        open_route(self.db)
        open_carrier(self.db, "mtn", prefix=None)
        self._http = plain_http.new_client(
            headers={"Authorization": f"Bearer {issue_key(self.db, amina_id)}"}, timeout=30
        )
        # whose last digits do not ask the simulator for a failure
        self._phones = iter(phones(100, first=10))

    def send(self, server: ServerProcess) -> tuple[str, str, str]:
        """Returns what a handset has: the message, its phone and its id."""
        phone = next(self._phones)
        answer = self._http.post(f"{server.address}/api/v1/otp/send", json={"phone": phone})
        assert answer.status_code == 200, answer.text
        data = answer.json()["data"]
        return data["message_id"], phone, data["id"]

    def text_of(self, otp_id: str, keys: SecretKeys) -> str:
        with self.db.read() as tx:
            stored = tx.execute(
                sa.select(sends.c.text).where(sends.c.id == ids.raw_of_text("otp", otp_id))
            ).scalar_one()
        return text_sealer(keys).unseal(stored)

    def verify(self, server: ServerProcess, sent: tuple[str, str, str], keys: SecretKeys) -> None:
        """Asserts that the code was delivered, and is right."""
        message_id, phone, otp_id = sent
        until_s = time.monotonic() + DELIVERED_WITHIN_S
        while (
            status := self._http.get(f"{server.address}/api/v1/messages/{message_id}").json()[
                "data"
            ]["status"]
        ) != "delivered":
            assert status in ("queued", "sent"), status
            assert time.monotonic() < until_s, status
            time.sleep(0.02)
        code = re.search("[0-9]{6}", self.text_of(otp_id, keys))
        assert code is not None
        answer = self._http.post(
            f"{server.address}/api/v1/otp/verify", json={"phone": phone, "code": code[0]}
        )
        assert answer.status_code == 200, answer.text

    def close(self) -> None:
        self._http.close()
        self.db.close()


@pytest.fixture
def clients_of() -> Iterator[Callable[[str], Clients]]:
    """Yields `clients_of(url)`, which makes clients on a database that is empty."""
    with ExitStack() as made:
        yield lambda url: made.enter_context(closing(Clients(url)))


def steps(place: str) -> tuple[str, str, str]:
    """Returns the document's commands for PostgreSQL or SQLite: those before the processes get both
    keys, then the rotation, then what follows it.
    """
    text = DOCUMENT.read_text("utf-8")
    section = text[text.index("\n## The secret key\n") : text.index("\n## SQLite or PostgreSQL\n")]
    found = [block.code for block in blocks(section) if "secret rotate" in block.code]
    before, rest = found[("postgresql", "sqlite").index(place)].split("# step 1")
    after = rest[rest.index("\n") :].split("# step 4")[0]
    rotation, _, end = after.strip().partition("\n")
    return before, rotation, end


def shell(commands: str, directory: Path, url: str, **env: str) -> dict[str, str]:
    """Runs the commands. Returns the keys of the environment that they leave."""
    told = '\nprintf "%s\\n" "${HELIOGRAPH_SECRET_KEY-}" "${HELIOGRAPH_SECRET_KEY_OLD-}" > keys'
    done = subprocess.run(
        ["bash", "-euc", commands + told],
        cwd=directory,
        text=True,
        capture_output=True,
        timeout=60,
        env=warm.on_path({**os.environ, "DATABASE_URL": url, **env}),
    )
    assert done.returncode == 0, done.stderr
    names = ("HELIOGRAPH_SECRET_KEY", "HELIOGRAPH_SECRET_KEY_OLD")
    return dict(zip(names, (directory / "keys").read_text().splitlines(), strict=True))


def assert_not_rotated(url: str, keys: dict[str, str], why: str) -> None:
    """Asserts that `heliograph secret rotate` refuses, and says why."""
    env = {**os.environ, "DATABASE_URL": url, **keys}
    refused = warm.run(["secret", "rotate"], timeout=60, env=env)
    assert (refused.returncode, why in refused.stderr) == (1, True), refused.stderr


def test_the_key_of_several_processes_is_replaced(
    new_database: Callable[[str], str],
    clients_of: Callable[[str], Clients],
    redis_url: str,
    tmp_path: Path,
) -> None:
    url, number = new_database("postgresql"), iter(range(10))
    clients = clients_of(url)

    def start(command: str, **env: str) -> ServerProcess:
        return ServerProcess(
            url,
            tmp_path / f"{command}-{next(number)}",
            [command],
            **{"REDIS_URL": redis_url, **env},
        )

    api, worker = start("api"), start("worker")
    api.wait_until_ready()
    before, rotation, end = steps("postgresql")
    both = shell(before, tmp_path, url, HELIOGRAPH_SECRET_KEY=SECRET_KEY)
    assert both["HELIOGRAPH_SECRET_KEY_OLD"] == SECRET_KEY
    keys = SecretKeys(both["HELIOGRAPH_SECRET_KEY"], SECRET_KEY)
    sent = [clients.send(api)]
    other_api = start("api", **both)
    other_api.wait_until_ready()
    # whose one worker has the old key alone, as the other API
    clients.verify(api, clients.send(other_api), SecretKeys(SECRET_KEY, SECRET_KEY))
    other_worker = start("worker", **both)
    assert_not_rotated(url, both, "do not know this HELIOGRAPH_SECRET_KEY: 1 api, 1 worker.")
    other_worker.wait_for_event("working", 30)
    worker.end()
    # sealed by one that has the old key alone, and read by one that has both
    sent += [clients.send(api), clients.send(other_api)]
    api.end()
    alone = shell(f"{rotation}\n{end}", tmp_path, url, **both)
    assert alone == {"HELIOGRAPH_SECRET_KEY": keys.sealing, "HELIOGRAPH_SECRET_KEY_OLD": ""}
    sent.append(clients.send(other_api))
    for each in sent:
        clients.verify(other_api, each, keys)
    assert clients.text_of(sent[-1][2], SecretKeys(keys.sealing, keys.sealing))
    last = start("api", **alone), start("worker", **alone)
    wrong = start("worker")
    last[0].wait_until_ready()
    last[1].wait_for_event("working", 30)
    other_worker.end()
    clients.verify(last[0], clients.send(last[0]), SecretKeys(keys.sealing, keys.sealing))
    assert wrong.process.wait(30) == 1
    assert wrong.log.splitlines()[-1].startswith(
        "heliograph: HELIOGRAPH_SECRET_KEY: found a key that cannot read this database's secrets"
    )
    assert "unreadable" not in "".join(
        process.log for process in (api, worker, other_api, other_worker, *last)
    )


def test_the_key_of_a_server_on_sqlite_is_replaced(
    new_database: Callable[[str], str], clients_of: Callable[[str], Clients], tmp_path: Path
) -> None:
    url, data = new_database("sqlite"), tmp_path / "heliograph-data"
    data.mkdir()
    (data / "secret.key").write_text(f"{SECRET_KEY}\n")
    clients = clients_of(url)
    server = ServerProcess(url, data, HELIOGRAPH_SECRET_KEY="")
    server.wait_until_ready()
    sent = [clients.send(server)]
    before, rotation, end = steps("sqlite")
    shell(before, tmp_path, url)
    assert (data / "secret.key.old").read_text() == f"{SECRET_KEY}\n"
    keys = SecretKeys((data / "secret.key").read_text().strip(), SECRET_KEY)
    server.end()
    server = ServerProcess(url, data, HELIOGRAPH_SECRET_KEY="")
    server.wait_until_ready()
    sent.append(clients.send(server))
    shell(rotation, tmp_path, url)
    sent.append(clients.send(server))
    for each in sent:
        clients.verify(server, each, keys)
    shell(end, tmp_path, url)
    server.end()
    server = ServerProcess(url, data, HELIOGRAPH_SECRET_KEY="")
    server.wait_until_ready()
    clients.verify(server, clients.send(server), SecretKeys(keys.sealing, keys.sealing))
    assert {path.name: path.stat().st_mode & 0o077 for path in data.glob("secret.key*")} == {
        "secret.key": 0
    }
