"""Holds the SMSC of tests/wire/smsc (npm `smpp`, run by node) for the tests: it is started once,
told how to behave, and asked what it heard.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from heliograph.carriers.smpp import SmppSettings
from tests.support import plain_http
from tests.support.services import node

# Loopback without TLS; `verify=False` below only spares the reading of all the system's authorities
# at each call.
FOLDER = Path(__file__).parents[2] / "wire" / "smsc"

STANDARD_RECEIPT = {
    "text": (
        "id:{id} sub:001 dlvrd:001 submit date:2601010930 done date:2601010931 stat:DELIVRD err:000"
        " text:"
    ),
}


class Smsc:
    """Stands for one running server. `log` and `until` give what it has heard since the last reset,
    as tests/wire/smsc/server.js writes it.
    """

    def __init__(self, port: int, control: int) -> None:
        self.port = port
        self._control = f"http://127.0.0.1:{control}"

    def settings(self, **given: Any) -> SmppSettings:
        """Returns settings that reach it, with short pauses between tries."""
        return SmppSettings(
            **{
                "name": "smsc",
                "host": "127.0.0.1",
                "port": self.port,
                "system_id": "amina",
                "password": "secret",
                "backoff_min_s": 0.05,
                "backoff_max_s": 0.2,
                **given,
            }
        )

    async def behave(self, **behaviour: Any) -> None:
        await self.tell("behave", behaviour)

    async def tell(self, command: str, body: dict[str, Any] | None = None) -> None:
        async with httpx.AsyncClient(verify=False) as client:
            (await client.post(f"{self._control}/{command}", json=body)).raise_for_status()

    async def log(self) -> dict[str, Any]:
        return await self._get("log")

    async def until(self, what: str, count: int) -> dict[str, Any]:
        """Waits until the log holds `count` of `what`; fails when it does not within 10 s."""
        log = await self._get(f"wait?what={what}&count={count}")
        found = log[what] if isinstance(log[what], int) else len(log[what])
        assert found >= count, f"{found} of {count} {what}: {log}"
        return log

    def reset(self) -> None:
        plain_http.post(f"{self._control}/reset").raise_for_status()

    async def _get(self, path: str) -> dict[str, Any]:
        async with httpx.AsyncClient(verify=False, timeout=15) as client:
            log: dict[str, Any] = (
                (await client.get(f"{self._control}/{path}")).raise_for_status().json()
            )
            return log


@contextmanager
def running_smsc(*arguments: str) -> Iterator[Smsc]:
    """Runs a server on free ports; it ends with this context, and with this process however that
    ends.
    """
    node.ensure_modules(FOLDER)
    process = subprocess.Popen(
        ["node", str(FOLDER / "server.js"), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the SMSC did not start; what it said is above")
        yield Smsc(**json.loads(line))
    finally:
        process.communicate("", timeout=10)  # the end of its standard input ends it
