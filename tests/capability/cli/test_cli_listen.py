"""`heliograph listen` runs as a process of its own; the receiver is a real one, and the secret
checks what it got.
"""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from heliograph.base import ids
from heliograph.database.leases import workers
from heliograph.webhooks.tables import webhook_deliveries, webhook_endpoints, webhook_queue
from tests.support import warm
from tests.support.capability.sending import House
from tests.support.capability.webhooks import checked, happened
from tests.support.factories import SECRET_KEY, awaited
from tests.support.wire.webhook_receiver import OK, receiving, says


@asynccontextmanager
async def listening(
    url: str, data_dir: Path, forward: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        "heliograph",
        "listen",
        "--account",
        "amina",
        "--forward",
        forward,
        "--data-dir",
        str(data_dir),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=warm.on_path({**os.environ, "DATABASE_URL": url, "HELIOGRAPH_SECRET_KEY": SECRET_KEY}),
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@awaited
async def test_listen_forwards_what_happens_and_leaves_nothing_behind(
    house: House, tmp_path: Path
) -> None:
    async with (
        receiving(says(OK)) as receiver,
        listening(house.db.url, tmp_path, receiver.url()) as process,
    ):
        assert process.stdout is not None
        said = b""
        while b"whsec_" not in said:
            said += await asyncio.wait_for(process.stdout.readline(), 30)
        secret = said.decode().split()[-1]
        await happened(house, 1)
        shown = (await asyncio.wait_for(process.stdout.readline(), 30)).decode() + (
            await process.stdout.readline()
        ).decode()
        event = checked(receiver, secret)
        assert (event["event"], event["id"]) == ("message.sent", shown.split()[2])
        assert json.loads(shown.splitlines()[1]) == event
        assert " → 200 in " in shown
        with house.db.write() as tx:  # as when it was stopped for half a minute
            tx.execute(workers.delete().where(workers.c.kind == "listen"))
        while not house.count(workers, workers.c.kind == "listen"):
            await asyncio.sleep(0.1)
        await happened(house, 1, said="\x9b31m")  # CSI in one octet: what a terminal obeys
        assert " → 200 in " in (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
        body = (await process.stdout.readline()).decode()
        assert json.loads(body) == checked(receiver, secret)
        assert (body.strip().isprintable(), json.loads(body)["data"]["said"]) == (True, "\x9b31m")
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 30) == 0
    assert (
        house.count(webhook_endpoints)
        == house.count(webhook_queue)
        == house.count(webhook_deliveries)
        == 0
    )
    assert ids.raw_of_text("evt", event["id"]) is not None
