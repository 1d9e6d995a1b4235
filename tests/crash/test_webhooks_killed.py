"""A server is killed while events are on their way: each arrives, with its id, and a crash repeats
none more than once.
"""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
import sqlalchemy as sa

from heliograph.database.database import Database
from heliograph.messages.tables import messages
from heliograph.webhooks.tables import webhook_events, webhook_queue
from tests.support.capability.webhooks import endpoint
from tests.support.crash.processes import ServerProcess
from tests.support.crash.sends import send
from tests.support.factories import issue_key, open_account, phones
from tests.support.wire.webhook_receiver import OK, receiver_in_a_thread

KILLS = 3
SENDS = 40  # between two kills
SETTLED_WITHIN_S = 60.0
OPEN = {"HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK": "1"}


class Slowly:
    """Answers after a while, so that a kill finds POSTs under way. `open` says how many
    are, now.
    """

    def __init__(self) -> None:
        self.open = 0
        self._chance = random.Random(1)

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            await asyncio.sleep(self._chance.random() / 5)
        finally:
            self.open -= 1
        writer.write(OK)

    def wait_until_open(self) -> None:
        until_s = time.monotonic() + SETTLED_WITHIN_S
        while not self.open:
            assert time.monotonic() < until_s, "no POST was made"
            time.sleep(0.001)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_events_survive_a_server_that_is_killed(
    kind: str, new_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = new_database(kind)
    db = Database(url)
    amina_id = open_account(db)
    key = issue_key(db, amina_id, sandbox=True)
    slowly = Slowly()
    with ExitStack() as ending, receiver_in_a_thread(slowly) as receiver:
        endpoint(db, amina_id, receiver.url(), sandbox=True)
        accepted: list[str] = []
        for killed in range(KILLS + 1):
            server = ServerProcess(url, tmp_path, **OPEN)
            ending.callback(server.process.kill)
            server.wait_until_ready()
            for number in range(SENDS):
                # the simulator delivers to these
                accepted += send(server, key, phones(1, first=100 + number), sender="SANDBOX")
            if killed < KILLS:
                slowly.wait_until_open()
                server.process.kill()
                server.process.wait()
        until_s = time.monotonic() + SETTLED_WITHIN_S
        while not _is_settled(db, len(accepted)):
            assert time.monotonic() < until_s, server.log[-2_000:]
            time.sleep(0.05)
        assert server.end() == 0
    heard = Counter(json.loads(body)["id"] for body in receiver.bodies)
    told = Counter(
        (event["data"]["id"], event["event"])
        for event in {body: json.loads(body) for body in receiver.bodies}.values()
    )
    assert told == {
        (message_id, kind): 1
        for message_id in accepted
        for kind in ("message.sent", "message.delivered")
    }
    assert heard.total() - len(heard) >= KILLS, "POSTs were under way at each kill"
    assert max(heard.values()) <= 1 + KILLS
    db.close()


def _is_settled(db: Database, count: int) -> bool:
    with db.read() as tx:
        delivered = tx.execute(
            sa.select(sa.func.count()).where(messages.c.status == "delivered")
        ).scalar_one()
        events = tx.execute(sa.select(sa.func.count()).select_from(webhook_events)).scalar_one()
        waiting = tx.execute(sa.select(sa.func.count()).select_from(webhook_queue)).scalar_one()
    return (delivered, events, waiting) == (count, 2 * count, 0)
