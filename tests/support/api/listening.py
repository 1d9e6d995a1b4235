"""Serves the API behind a socket of its own, in the event loop of a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from heliograph.api import shutdown
from heliograph.api.app import App
from heliograph.api.listening import listen, serve_until_stopped
from heliograph.base.settings import load
from heliograph.database.database import Database
from tests.support.factories import SECRET_KEY, issue_key, open_account


@asynccontextmanager
async def served(
    database_url: str, directory: Path, proxies: str = ""
) -> AsyncIterator[tuple[shutdown.Server, tuple[str, int], str]]:
    """Yields a server, its address, and a key. `proxies` are those that it trusts."""
    db = Database(database_url)
    key = issue_key(db, open_account(db))
    app = App(
        load(
            directory,
            {
                "DATABASE_URL": database_url,
                "HELIOGRAPH_SECRET_KEY": SECRET_KEY,
                "HELIOGRAPH_TRUSTED_PROXIES": proxies,
            },
        ),
        db,
        lambda _: None,
    )
    await app.start()
    server = shutdown.Server(app, 0.0)
    with listen("127.0.0.1", 0) as listener:
        serving = asyncio.create_task(serve_until_stopped(server, listener, []))
        try:
            yield server, listener.getsockname(), key
        finally:
            server.stop()
            await serving
    await app.stop()
    await db.close_hot()
    db.close()
