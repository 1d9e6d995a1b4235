"""The clients that others' generators make from the description load, pass their language's
checker, send, and know failures by their types.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.api.server import Server, serving
from tests.support.services.node import ensure_modules

PROGRAMS = Path(__file__).with_name("generated")
BIN = Path(sys.executable).parent
WITHIN_S = 60
BRIEF_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # optimizing would take longer than it runs
# The client's own frame hands the arguments of __exit__ on as they come; what it makes of the
# description is checked strictly.
MYPY = "[mypy]\nstrict = True\n[mypy-heliograph_api.client]\ndisable_error_code = arg-type\n"


@pytest.fixture(scope="module")
def server(
    new_database: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with serving(new_database("sqlite"), tmp_path_factory.mktemp("serve")) as server:
        yield server


@pytest.fixture
def run(server: Server, tmp_path: Path) -> Callable[..., str]:
    """Runs a program in an empty directory, with an account's sandbox key, and returns what it
    printed.
    """

    def run(*command: str | Path) -> str:
        env = {
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "JAVA_TOOL_OPTIONS": BRIEF_JAVA,
            "API_URL": f"{server.url}/api/v1",
            "API_KEY": server.cast.amina.key(sandbox=True),
        }
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
        )
        assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-5_000:]
        return done.stdout

    return run


def sends(printed: str) -> bool:
    told = json.loads(printed)
    return str(told.pop("id")).startswith("msg_") and told == {
        "status": "queued",
        "refused": "sender_not_approved",
        "needed": 1,
    }


def test_a_client_of_openapi_python_client(
    server: Server, run: Callable[..., str], tmp_path: Path
) -> None:
    run(
        "openapi-python-client",
        "generate",
        "--url",
        f"{server.url}/api/v1/openapi.json",
        "--meta",
        "none",
        "--output-path",
        "heliograph_api",
        "--fail-on-warning",
    )
    (tmp_path / "mypy.ini").write_text(MYPY)
    (tmp_path / "send.py").write_text((PROGRAMS / "send.py").read_text("utf-8"))
    run(
        "mypy",
        "--config-file",
        "mypy.ini",
        "--python-executable",
        sys.executable,
        "heliograph_api",
        "send.py",
    )
    assert sends(run(sys.executable, "send.py"))


def test_a_client_of_openapi_typescript(
    server: Server, run: Callable[..., str], tmp_path: Path
) -> None:
    ensure_modules(PROGRAMS)
    (tmp_path / "node_modules").symlink_to(PROGRAMS / "node_modules")
    (tmp_path / "send.mts").write_text((PROGRAMS / "send.mts").read_text("utf-8"))
    modules = tmp_path / "node_modules"
    run(
        "node",
        modules / "openapi-typescript/bin/cli.js",
        f"{server.url}/api/v1/openapi.json",
        "-o",
        "schema.d.ts",
    )
    run(
        "node",
        modules / "typescript/bin/tsc",
        "--strict",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--lib",
        "es2022,dom",
        "send.mts",
    )
    assert sends(run("node", "send.mjs"))


def test_a_client_of_openapi_generator_in_php(server: Server, run: Callable[..., str]) -> None:
    run(
        "openapi-generator-cli",
        "generate",
        "-g",
        "php",
        "-i",
        f"{server.url}/api/v1/openapi.json",
        "-o",
        "php",
    )
    assert sends(
        run(
            "php",
            "-d",
            "error_reporting=-1",
            "-d",
            "display_errors=stderr",
            PROGRAMS / "send.php",
            "php/lib",
        )
    )
