"""An awaited test leaves nothing running when its loop is closed."""

import asyncio

from tests.support.factories import awaited


def test_what_a_canceled_task_begins_is_waited_for() -> None:
    """asyncpg tells PostgreSQL so of a query that is canceled, in a task of its own."""
    told: list[str] = []

    async def tell() -> None:
        await asyncio.sleep(0.2)
        told.append("canceled")

    async def asks() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            kept.append(asyncio.create_task(tell()))

    @awaited
    async def test() -> None:
        kept.append(asyncio.create_task(asks()))
        await asyncio.sleep(0)

    kept: list[asyncio.Task[None]] = []
    test()
    assert told == ["canceled"]
