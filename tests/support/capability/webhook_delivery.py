"""Runs the delivery of webhooks, and makes endpoints to deliver to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.database.leases import Lease
from heliograph.webhooks.deliver import Deliveries
from heliograph.webhooks.events import Event, emit, load_listeners
from tests.support.capability.sending import House
from tests.support.capability.webhooks import (
    DEVELOPMENT,
)
from tests.support.factories import SECRET_KEY


async def happened(house: House, count: int = 1) -> None:
    """Makes so many changes of amina's, each with its event."""
    async with house.db.hot() as tx:
        listeners = await load_listeners(tx, [house.amina_id])
        await emit(
            tx,
            listeners,
            [
                Event(house.amina_id, False, "message.sent", clock.now_ms(), {"number": number})
                for number in range(count)
            ],
        )


def lease(db: Database, kind: str = "worker") -> Lease:
    made = Lease(db, kind)
    made.begin()
    return made


@asynccontextmanager
async def delivering(house: House, by: Lease | None = None) -> AsyncIterator[Deliveries]:
    holder = await asyncio.to_thread(lease, house.db) if by is None else by
    deliveries, living = (
        Deliveries(house.db, holder, SECRET_KEY, DEVELOPMENT),
        asyncio.create_task(lives(holder)),
    )
    await deliveries.start()
    house.db.served = True
    try:
        yield deliveries
    finally:
        house.db.served = False
        await deliveries.stop(1.0)
        living.cancel()


def hangs(_: asyncio.StreamWriter) -> Awaitable[None]:
    return asyncio.sleep(3_600)


async def lives(by: Lease) -> None:
    """Keeps a process alive in the eyes of others, also when the test's clock has been moved."""
    while True:
        await by.refresh_in_thread()
        await asyncio.sleep(0.05)
