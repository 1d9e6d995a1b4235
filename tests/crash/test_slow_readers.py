"""One account's slow reports, many at once, are its own affair: others' requests are
answered, and the configuration is seen.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from heliograph.database.database import Database
from tests.support import plain_http
from tests.support.crash.processes import ServerProcess
from tests.support.factories import issue_key, open_account, open_carrier, phones

READERS = 48
READING_S = 5.0


def test_slow_reports_of_one_account_are_no_503_for_others(
    new_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = new_database("postgresql")
    db = Database(url)
    open_carrier(db)  # nobody listens there: all stay queued
    amina_key = issue_key(db, open_account(db, credits=20_000))
    chidi_key = issue_key(db, open_account(db, "chidi", credits=10_000, sender="CHIDI"))
    db.close()
    server = ServerProcess(url, tmp_path / "data")
    try:
        server.wait_until_ready()
        for first in (0, 10_000):
            assert _send(server, amina_key, "AMINA", phones(10_000, first=first)).status_code == 200
        message_id = _send(server, chidi_key, "CHIDI", phones(1)).json()["data"]["message_ids"][0]
        until_s = time.monotonic() + READING_S
        with ThreadPoolExecutor(READERS) as threads:
            reading = [
                threads.submit(_read_until, server, amina_key, message_id, until_s)
                for _ in range(READERS)
            ]
            others = []
            while time.monotonic() < until_s:
                others.append(_send(server, chidi_key, "CHIDI", phones(1)).status_code)
                others.append(_get(server, chidi_key, f"/messages/{message_id}").status_code)
                others.append(_get(server, chidi_key, "/balance").status_code)
            statuses = {status for one in reading for status in one.result()}
        assert set(others) == {200}
        # a report that waited too long for the account's other ones is its own affair
        assert {200, 404} <= statuses <= {200, 404, 503}
        assert "database_unreachable" not in server.log
    finally:
        assert server.end() == 0


def _read_until(
    server: ServerProcess, key: str, others_message_id: str, until_s: float
) -> set[int]:
    statuses = set()
    while time.monotonic() < until_s:
        statuses |= {
            _slow_report(server, key),
            _get(server, key, f"/messages/{others_message_id}").status_code,
        }
    return statuses


def _slow_report(server: ServerProcess, key: str) -> int:
    """Asks for a report that looks through all messages for a status that none has."""
    return _get(server, key, "/reports?status=delivered").status_code


def _get(server: ServerProcess, key: str, path: str) -> httpx.Response:
    return plain_http.get(
        f"{server.address}/api/v1{path}", headers={"Authorization": f"Bearer {key}"}, timeout=60
    )


def _send(server: ServerProcess, key: str, sender: str, to: list[str]) -> httpx.Response:
    return plain_http.post(
        f"{server.address}/api/v1/sms/send",
        headers={"Authorization": f"Bearer {key}"},
        timeout=60,
        json={"sender": sender, "message": "hello", "recipients": to},
    )
