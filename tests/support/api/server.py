"""Runs `heliograph serve` as a process of its own, and makes its cast."""

import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import httpx

from heliograph.database.database import Database
from tests.support import plain_http, warm
from tests.support.api.cast import Cast, make_cast
from tests.support.services import free_port

READY_WITHIN_S = 30


class Server(NamedTuple):
    url: str
    cast: Cast
    process_id: int


@contextmanager
def serving(
    database_url: str, data_dir: Path, files: int | None = None, /, **env: str
) -> Iterator[Server]:
    """Runs a server. `files` says how many files it may have open at the very most. `{port}` in a
    setting is its port.
    """
    port = free_port()
    log = data_dir / "serve.log"
    with log.open("wb") as output:
        process = warm.start(
            ["serve", "--port", str(port), "--data-dir", data_dir],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={
                **os.environ,
                "DATABASE_URL": database_url,
                "HELIOGRAPH_SECRET_KEY": "s" * 32,
                **{name: value.replace("{port}", str(port)) for name, value in env.items()},
            },
            preexec_fn=None
            if files is None
            else partial(resource.setrlimit, resource.RLIMIT_NOFILE, (files, files)),
        )
    db = Database(database_url)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(url, process, log)
        yield Server(url, make_cast(db), process.pid)
    finally:
        db.close()
        process.terminate()
        process.wait()


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until_s = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            if plain_http.get(f"{url}/readyz", timeout=1).status_code == 200:
                return
        except httpx.HTTPError:
            if process.poll() is not None or time.monotonic() > until_s:
                raise AssertionError(
                    f"the server did not start:\n{log.read_text()[-2_000:]}"
                ) from None
        time.sleep(0.02)
