"""Somebody else's judge holds the description against a real server: no answer is undescribed, none
is a 5xx, and nothing wrong is accepted.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.api.server import serving
from tests.support.api.service import contract

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
CONFIG = Path(__file__).with_name("schemathesis.toml")
PHASES = ("examples", "coverage", "fuzzing", "stateful")
EXAMPLES = 40  # of each operation, beside those of the coverage phase: about 10 s
SEED = 1  # always the same, so that a failure says something of the change that it comes with


def test_every_answer_of_a_real_server_is_as_described(postgresql_url: str, tmp_path: Path) -> None:
    """PostgreSQL refuses all that SQLite refuses, and a zero octet and large numbers too."""
    with serving(postgresql_url, tmp_path) as server:
        run = subprocess.run(
            [
                SCHEMATHESIS,
                "--config-file",
                CONFIG,
                "run",
                f"{server.url}/api/v1/openapi.json",
                "--header",
                f"Authorization: Bearer {server.cast.amina.key()}",
                "--phases",
                ",".join(PHASES),
                "--max-examples",
                str(EXAMPLES),
                "--seed",
                str(SEED),
                "--request-timeout",
                "10",
                "--no-color",
                "--generation-database",
                "none",
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )
    assert run.returncode == 0, run.stdout[-10_000:] + run.stderr[-2_000:]
    for phase in PHASES:
        assert f"✅ {phase.capitalize()}" in run.stdout, phase
    assert f"Tested: {len(contract().endpoints)}" in run.stdout
