"""There may be more connections than a process may have files: whoever comes to ask something is
let in.
"""

import json
import time
from pathlib import Path

from tests.support import plain_http
from tests.support.api.server import serving
from tests.support.api.strangers import GET, asked, idle, still_open

FILES = 1_024
CROWD = 1_300
ANSWERED_S = 5.0


def test_a_crowd_that_asks_nothing_locks_nobody_out(sqlite_url: str, tmp_path: Path) -> None:
    with serving(sqlite_url, tmp_path, FILES) as server:
        with idle(server.url, CROWD) as crowd:
            began_s = time.monotonic()
            for source in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
                assert (
                    asked(server.url, GET + b"\r\n", ends=False, source=source).reason
                    == "missing_key"
                )
            assert time.monotonic() - began_s < ANSWERED_S
            assert 100 < still_open(crowd) <= FILES // 8
        counted = plain_http.get(f"{server.url}/metrics").text
    told = [
        json.loads(line)
        for line in (tmp_path / "serve.log").read_text().splitlines()
        if "connections_limited" in line
    ]
    assert len(told) == 1
    assert (told[0]["most"], told[0]["most_of_one"], told[0]["client"]) == (
        FILES // 2,
        FILES // 8,
        "127.0.0.1",
    )
    closed = next(
        line
        for line in counted.splitlines()
        if line.startswith('heliograph_connections_closed_total{why="address_limit"}')
    )
    assert float(closed.split()[1]) >= CROWD - FILES // 8
    assert '"level": "error"' not in (tmp_path / "serve.log").read_text()
