"""`heliograph console` runs beside the API, and instead of a server of SQLite, as real
processes.
"""

import signal
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.database.leases import workers
from heliograph.portal.page_request import SESSION_COOKIE
from heliograph.users import OperatorRole
from heliograph.users.sign_ins import begin_session
from heliograph.users.tables import passkeys
from tests.support import plain_http
from tests.support.console.operators import OPERATOR, made_operator
from tests.support.crash.processes import ServerProcess
from tests.support.factories import open_account


def signed_in(url: str) -> dict[str, str]:
    """Returns the cookie of an operator who has come in with a second step."""
    db = Database(url)
    made_operator(db, OperatorRole.ADMIN)
    with db.write() as tx:
        user = users.find(tx, OPERATOR)
        passkey = {
            "id": "0" * 32,
            "user_id": user.id,
            "name": "key",
            "credential_id": b"1",
            "credential": b"1",
            "signatures": 0,
            "made_at_ms": 1,
        }
        tx.execute(passkeys.insert().values(passkey))
        secret = begin_session(tx, user.id, is_two_step=True, seen_by="", now_ms=clock.now_ms())
    db.close()
    return {"cookie": f"{SESSION_COOKIE}={secret}"}


def status(server: ServerProcess, path: str, headers: dict[str, str] | None = None) -> int:
    return plain_http.get(f"{server.address}{path}", headers=headers, timeout=10).status_code


def kinds(url: str) -> set[str]:
    db = Database(url)
    with db.read() as tx:
        found = set(tx.execute(sa.select(workers.c.kind)).scalars())
    db.close()
    return found


def test_a_console_of_its_own_shows_what_the_api_then_hides(
    new_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = new_database("postgresql")
    db = Database(url)
    open_account(db, "amina")
    db.close()
    operator = signed_in(url)
    console = ServerProcess(url, tmp_path / "console", ["console"])
    api = ServerProcess(url, tmp_path / "api", ["api"], HELIOGRAPH_CONSOLE="off")
    for server in (console, api):
        server.wait_until_ready()
    assert status(console, "/console/accounts", operator) == 200
    assert status(console, "/portal/sign-in") == 200
    assert status(console, "/") == 307
    assert status(api, "/console/accounts", operator) == 404
    for elsewhere in ("/api/v1/balance", "/docs", "/metrics", "/portal/accounts/acc_1", "/x"):
        assert status(console, elsewhere, operator) == 404, elsewhere
    assert status(api, "/api/v1/balance") == 401
    shown = plain_http.get(f"{console.address}/console/now", headers=operator, timeout=10).text
    assert "<strong>console</strong>" in shown, "it stands among the processes"
    assert kinds(url) == {"api", "console"}
    assert (console.end(), api.end()) == (0, 0)
    assert kinds(url) == set()


def test_with_sqlite_the_console_and_the_server_take_turns(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared' / 'heliograph.db'}"
    place = tmp_path / "shared"
    server = ServerProcess(url, place, ["serve"])
    server.wait_until_ready()
    refused = ServerProcess(url, place, ["console"])
    assert refused.process.wait(30) == 1
    assert refused.log.startswith("heliograph: Another server (process ")
    assert refused.log.rstrip().endswith(
        "With SQLite one process has the database: `heliograph"
        " serve` shows the console itself, at /console."
    )
    assert server.end() == 0
    operator = signed_in(url)
    console = ServerProcess(url, place, ["console"])
    console.wait_until_ready()
    assert status(console, "/console/accounts", operator) == 200
    second = ServerProcess(url, place, ["serve"])
    assert second.process.wait(30) == 1
    console.process.send_signal(signal.SIGKILL)
    console.process.wait(10)
    third = ServerProcess(url, place, ["serve"])
    third.wait_until_ready()
    assert kinds(url) == {"serve"}, "what a killed console left behind is gone"
    assert third.end() == 0
