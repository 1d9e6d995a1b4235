"""A process that runs tells with its beat what is wrong around it, by a real server."""

import time
from pathlib import Path

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.monitoring import situation
from tests.support.api.server import serving

TOLD_WITHIN_S = 20  # on SQLite with each sample, every ten seconds


def test_a_server_tells_what_only_doctor_could_see(database_url: str, tmp_path: Path) -> None:
    wrong = "Base url: HELIOGRAPH_BASE_URL is https://sms.example.com"
    db = Database(database_url)
    until_s = time.monotonic() + TOLD_WITHIN_S
    with serving(database_url, tmp_path, HELIOGRAPH_BASE_URL="https://sms.example.com"):
        while wrong not in (said := sentences(db)):
            assert time.monotonic() < until_s, said
            time.sleep(0.05)
    db.close()


def sentences(db: Database) -> str:
    with db.read() as tx:
        return "\n".join(each.sentence for each in situation(tx, clock.now_ms()).troubles)
