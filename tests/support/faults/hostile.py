"""Runs receivers of webhooks that mean harm, in a process of their own: `python -m
tests.support.faults.hostile FOLDER` prints the port of each as JSON.

The process has the processor only when nobody else wants it: an attacker's processor is not ours.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.support.certificates import Authority
from tests.support.faults.receivers import BOMB, CHUNK, head
from tests.support.wire.webhook_receiver import OK, Behaviour, after, receiving, says, without_end

FOREVER: Final = 10**9
TIMES: Final = 10_000  # of what is repeated: no answer is read so far
TICKETS: Final = 3_000  # a server makes each, which takes it as long as it takes the other side
CHUNKED: Final = head(200, "Transfer-Encoding: chunked")
OVER_TLS: Final = "session tickets"


async def _single_octets(writer: asyncio.StreamWriter) -> None:
    """Sends a header that never ends, an octet at a time and as fast as it can."""
    writer.write(b"HTTP/1.1 200 OK\r\nX-A: ")
    for _ in range(TIMES):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0)


BEHAVIOURS: Final[dict[str, Behaviour]] = {
    "endless answers": without_end(b"", head(200, "Content-Length: 0") * 1_000, TIMES),
    "endless heads": without_end(b"", b"HTTP/1.1 200 OK\r\n\r\n" * 1_000, TIMES),
    "endless 100 Continue": without_end(b"", head(100) * 1_000, TIMES),
    "chunks of one octet": without_end(CHUNKED, b"1\r\nx\r\n" * 1_000, TIMES),
    "endless extension": without_end(CHUNKED + b"1;", CHUNK, TIMES),
    "endless trailers": without_end(CHUNKED + b"0\r\n", b"a: b\r\n" * 1_000, TIMES),
    "single octets": _single_octets,
    "one line": without_end(b"HTTP/1.1 200 ", CHUNK, TIMES),
    "gzip bomb": says(head(200, "Content-Encoding: gzip", f"Content-Length: {len(BOMB)}") + BOMB),
    "a length that lies": says(head(200, "Content-Length: 1000000"), b"only this", close=True),
    "drip": without_end(head(200, "Content-Length: 1000000"), b"x", FOREVER, pause_s=0.1),
    "a second answer": says(OK + head(200, "Content-Length: 0")),
    "hang": after(FOREVER, OK),
    OVER_TLS: says(OK),
}


@contextmanager
def hostile_receivers(folder: Path) -> Iterator[dict[str, str]]:
    """Runs them, and yields the URL of each. The authority whose certificate the one over TLS has
    is in `folder`: see `authority_file`.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.faults.hostile", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            ports = json.loads(process.stdout.readline())
            yield {
                name: f"{'https' if name == OVER_TLS else 'http'}://127.0.0.1:{port}/hook"
                for name, port in ports.items()
            }
        finally:
            process.kill()


def authority_file(folder: Path) -> Path:
    return folder / "test-authority.pem"


async def _run(folder: Path) -> None:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    tls = Authority(folder).server("127.0.0.1")
    tls.num_tickets = TICKETS
    async with AsyncExitStack() as open_:
        ports = {
            name: (
                await open_.enter_async_context(
                    receiving(behave, tls if name == OVER_TLS else None)
                )
            ).port
            for name, behave in BEHAVIOURS.items()
        }
        print(json.dumps(ports), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1])))
