"""The log of a real server tells of a carrier that cannot be reached, in the form that programs
read.
"""

import json
import time
from pathlib import Path
from typing import Any

from heliograph import carriers
from heliograph.base import clock
from heliograph.database.database import Database
from tests.support.api.server import serving
from tests.support.services import free_port

SEEN_WITHIN_S = 20


def test_each_failed_connect_is_one_line_with_its_carrier_reason_and_pause(
    sqlite_url: str, tmp_path: Path
) -> None:
    with serving(sqlite_url, tmp_path):
        db = Database(sqlite_url)
        with db.write() as tx:
            settings = {"host": "127.0.0.1", "port": free_port(), "system_id": "amina"}
            carriers.add_carrier(
                tx, "c1", settings, "secret", secret_key="s" * 32, now_ms=clock.now_ms()
            )
        db.close()
        until_s = time.monotonic() + SEEN_WITHIN_S
        while (log := (tmp_path / "serve.log").read_text()).count("cannot connect") < 2:
            assert time.monotonic() < until_s, log
            time.sleep(0.02)
    lines: list[dict[str, Any]] = [json.loads(line) for line in log.splitlines()]
    about = [
        line for line in lines if "c1" in json.dumps(line) or "cannot connect" in json.dumps(line)
    ]
    assert [(line["event"], line["level"], line["carrier"]) for line in about] == [
        ("carrier_not_bound", "warning", "c1")
    ] * 2
    assert all(
        line["detail"].startswith("cannot connect: ") and 0 < line["again_s"] < 5 for line in about
    )
