"""Runs receivers of the deployment's webhooks: servers of the test's own, each with an endpoint,
which misbehave until they are mended or let go.
"""

import asyncio
import gzip
import json
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.webhooks.endpoints import text_id
from heliograph.webhooks.tables import (
    webhook_attempts,
    webhook_deliveries,
    webhook_events,
    webhook_queue,
)
from tests.support.capability.webhooks import endpoint
from tests.support.faults.deployment import Deployment
from tests.support.wire.webhook_receiver import (
    OK,
    Receiver,
    after,
    receiver_in_a_thread,
    says,
    without_end,
)

OPEN: Final = {"HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK": "1"}
OF_MESSAGES: Final = ("message.sent", "message.delivered", "message.failed")
# so long ago the endpoints were made: the checker holds them to all that they hear
KNOWN_FOR_MS: Final = 3_600_000
GIB: Final = 2**30
CHUNK: Final = b"x" * 65_536
BOMB: Final = gzip.compress(b"\0" * 50 * 2**20)
FOREVER: Final = 10**9


def head(status: int, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} x", *lines, "", ""]).encode()


Fault = Callable[[asyncio.StreamWriter], Awaitable[None]]
# what each does; redirect and bad TLS need more than a behaviour
FAULTS: Final[dict[str, Fault]] = {
    "500": says(head(500, "Content-Length: 4"), b"oops"),
    "cut short": says(head(200, "Content-Length: 100"), b"only this", close=True),
    "1 GiB": without_end(head(200, f"Content-Length: {GIB}"), CHUNK, GIB // len(CHUNK)),
    "gzip bomb": says(head(200, "Content-Encoding: gzip", f"Content-Length: {len(BOMB)}") + BOMB),
    "hang": after(FOREVER, OK),
    "drip": without_end(head(200, "Content-Length: 1000000"), b"x", FOREVER, pause_s=0.1),
    "late": after(14.9, OK),
}


class Hearing:
    """Keeps what it has heard, as a receiver. It is made by `hearing`; calling it is its
    behaviour.
    """

    def __init__(self, deployment: Deployment, fault: Fault | None) -> None:
        self._deployment = deployment
        self.fault = fault  # None: it answers 200
        self.receiver = Receiver()
        self.id = ""  # of the endpoint, raw
        self.at_ms: list[int] = []  # when each request came
        self.unanswered = 0  # now

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        self.at_ms.append(clock.now_ms())
        self.unanswered += 1
        try:
            if self.fault is None:
                writer.write(OK)
            else:
                await self._until_mended(self.fault, writer)
        finally:
            self.unanswered -= 1

    async def _until_mended(self, fault: Fault, writer: asyncio.StreamWriter) -> None:
        """Holds a request until the receiver is mended. What hangs then is answered, or cut."""
        doing = asyncio.ensure_future(fault(writer))
        try:
            while not doing.done() and self.fault is not None:
                await asyncio.wait({doing}, timeout=0.05)
            if doing.done():
                return doing.result()
        finally:
            doing.cancel()
        if fault is FAULTS["drip"]:
            writer.close()
        else:
            writer.write(OK)
        return None

    @property
    def events(self) -> list[dict[str, Any]]:
        """Returns the bodies that came, in order, repeats too."""
        return [json.loads(body) for body in list(self.receiver.bodies)]

    @property
    def times(self) -> Counter[str]:
        """Returns how often each event came, by its id."""
        return Counter(event["id"] for event in self.events)

    def mend(self) -> None:
        self.fault = None

    def failures(self) -> list[Any]:
        """Returns its failed attempts: status, reason, took_ms, event_id, oldest first."""
        columns = webhook_attempts.c
        with self._deployment.db.read() as tx:
            return list(
                tx.execute(
                    sa.select(columns.status, columns.reason, columns.took_ms, columns.event_id)
                    .where(columns.endpoint_id == self.id)
                    .order_by(columns.id)
                )
            )

    def outcomes(self) -> Counter[str]:
        """Returns the outcomes of what does not wait any more."""
        columns = webhook_deliveries.c
        with self._deployment.db.read() as tx:
            return Counter(
                tx.execute(
                    sa.select(columns.outcome).where(columns.endpoint_id == self.id)
                ).scalars()
            )

    def took_ms(self) -> list[int]:
        """Returns how long each success took."""
        columns = webhook_deliveries.c
        with self._deployment.db.read() as tx:
            return list(
                tx.execute(
                    sa.select(columns.took_ms).where(
                        columns.endpoint_id == self.id, columns.outcome == "delivered"
                    )
                ).scalars()
            )

    def disable(self) -> None:
        self._deployment.command("webhook", "disable", text_id(self.id))


@contextmanager
def hearing(
    deployment: Deployment,
    fault: Fault | None = None,
    *,
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
    kinds: Sequence[str] = OF_MESSAGES,
) -> Iterator[Hearing]:
    """Yields a receiver of the deployment's live events, about messages unless other kinds are
    named.
    """
    heard = Hearing(deployment, fault)
    with receiver_in_a_thread(heard, tls) as heard.receiver:
        made, _ = endpoint(
            deployment.db,
            deployment.account_id,
            heard.receiver.url(host, "http" if tls is None else "https"),
            kinds,
            age_ms=KNOWN_FOR_MS,
        )
        heard.id = made.id
        yield heard


def events_stored(deployment: Deployment) -> int:
    with deployment.db.read() as tx:
        return int(tx.execute(sa.select(sa.func.count()).select_from(webhook_events)).scalar_one())


def waiting(deployment: Deployment, of: Hearing) -> int:
    with deployment.db.read() as tx:
        return int(
            tx.execute(
                sa.select(sa.func.count()).where(webhook_queue.c.endpoint_id == of.id)
            ).scalar_one()
        )


def make_due(deployment: Deployment) -> None:
    """Makes what waits for its next try due: it has waited long enough, for time is moved, not
    waited for.
    """
    now_ms = clock.now_ms()
    with deployment.db.write() as tx:
        tx.execute(
            webhook_queue.update()
            .where(webhook_queue.c.due_at_ms > now_ms + 1_000)
            .values(due_at_ms=now_ms)
        )


def all_told(deployment: Deployment, of: Hearing) -> bool:
    """Returns whether each message's states came as one event each, whatever their order and
    however often.
    """
    told = Counter(
        (event["data"]["id"], event["event"])
        for event in {event["id"]: event for event in of.events}.values()
    )
    return told == {
        (message_id, kind): 1
        for message_id in deployment.clients.accepted
        for kind in ("message.sent", "message.delivered")
    }


def delays_s(of: Hearing, since: int = 0) -> list[float]:
    """Returns the time from each change to the first time that its event came. `since` leaves out
    so many requests that came first.
    """
    first: dict[str, float] = {}
    for event, at_ms in zip(of.events[since:], of.at_ms[since:], strict=False):
        first.setdefault(
            event["id"], at_ms / 1_000 - datetime.fromisoformat(event["timestamp"]).timestamp()
        )
    return sorted(first.values())
