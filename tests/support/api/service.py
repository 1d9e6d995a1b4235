"""Runs the whole API in this process, on a real database: requests go through the same ASGI
application that `heliograph serve` runs.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import httpx

from heliograph.api.app import App, acceptor_for, endpoints
from heliograph.api.openapi import BASE_PATH
from heliograph.base import clock
from heliograph.base.settings import Settings
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.queue import FairQueue
from tests.support.api.cast import Actor, Cast, in_copy, make_cast
from tests.support.api.contract import Contract
from tests.support.factories import SECRET_KEY

T = TypeVar("T")


class Reply:
    """Holds a response, as tests read it."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status = response.status_code
        self.headers = response.headers
        self.body: dict[str, Any] = response.json() if response.content else {}
        self.data: Any = self.body.get("data")
        self.error: dict[str, Any] = self.body.get("error", {})
        self.code = self.error.get("code")
        self.reason = self.error.get("reason")

    @property
    def ids(self) -> list[str]:
        """Returns the ids of the records of a list."""
        return [record["id"] for record in self.data]

    @property
    def bad_fields(self) -> list[str]:
        return [bad["field"] for bad in self.error.get("fields", [])]

    def __repr__(self) -> str:
        return f"{self.status} {self.response.text[:2_000]}"


class Service:
    """Holds the application, its database and its cast. Requests are made by an actor, a key, or
    nobody (None).
    """

    def __init__(self, db: Database, app: App, cast: Cast, run: "Loop") -> None:
        self.db = db
        self.app = app
        self.amina, self.bilal, self.chidi = cast.amina, cast.bilal, cast.chidi
        self.run = run
        self.contract = contract()
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://heliograph.test"
        )

    def get(self, who: Actor | str | None, path: str, **query: Any) -> Reply:
        return self.request("GET", who, path, params=query)

    def post(
        self,
        who: Actor | str | None,
        path: str,
        json: Any = None,
        *,
        key: str | None = None,
        **more: Any,
    ) -> Reply:
        """Posts a body. `key` is the Idempotency-Key. `content` stands in place of `json` for a
        body as it is.
        """
        if key is not None:
            more["headers"] = {**more.get("headers", {}), "Idempotency-Key": key}
        return (
            self.request("POST", who, path, **more)
            if "content" in more
            else self.request("POST", who, path, json=json, **more)
        )

    def put(self, who: Actor | str | None, path: str, json: Any) -> Reply:
        return self.request("PUT", who, path, json=json)

    def delete(self, who: Actor | str | None, path: str, **query: Any) -> Reply:
        return self.request("DELETE", who, path, params=query)

    def request(self, method: str, who: Actor | str | None, path: str, **more: Any) -> Reply:
        return self.run(self.requested(method, who, path, **more))

    async def requested(
        self, method: str, who: Actor | str | None, path: str, **more: Any
    ) -> Reply:
        key = who.key() if isinstance(who, Actor) else who
        headers = dict(more.pop("headers", {}))
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        target = f"{BASE_PATH}{path}" if path.startswith("/") else path
        response = await self.client.request(method, target, headers=headers, **more)
        if target.startswith(f"{BASE_PATH}/"):
            self.contract.check(method, response)
        return Reply(response)

    def at_once(self, *requests: Coroutine[Any, Any, Reply]) -> list[Reply]:
        """Returns the replies to requests (of `requested`) that are under way together."""

        async def gather() -> list[Reply]:
            return list(await asyncio.gather(*requests))

        return self.run(gather())

    def move_clock(self, by_ms: int) -> None:
        """Lets time go on, so that nothing that was remembered of the configuration is believed any
        more.
        """
        clock.move(by_ms)
        self.refresh()

    def refresh(self) -> None:
        """Sees now what was changed beside the API, rather than within 0.3 s."""
        self.run(self.app.cache.refresh())

    def send(
        self,
        who: Actor | str,
        to: list[str],
        *,
        message: str = "hello",
        sender: str = "AMINA",
        **more: Any,
    ) -> dict[str, Any]:
        """Makes a send that is accepted, and returns its `data`."""
        reply = self.post(
            who, "/sms/send", {"sender": sender, "message": message, "recipients": to, **more}
        )
        assert reply.status == 200, reply
        return dict(reply.data)


@cache
def contract() -> Contract:
    """Returns the contract of the endpoints that the application has; none of them is called
    through it.
    """
    nowhere = Database("sqlite:////nowhere/at/all.db")
    cache = ConfigCache(nowhere)
    return Contract(
        endpoints(
            nowhere,
            cache,
            acceptor_for(nowhere, cache, lambda carriers: None, FairQueue()),
            Settings(Path(), nowhere.url, SECRET_KEY),
        )
    )


class Loop:
    """Runs an event loop in a thread of its own, so that tests are plain functions."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="service")
        self._thread.start()

    def __call__(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def close(self) -> None:
        # a thread of its own may still be reading from the database
        self(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def service_on(
    database_url: str, data_dir: Path, cast: Cast | None = None, **more: Any
) -> Iterator[Service]:
    """Yields a service. `cast` is that of the database that this one is a copy of; without one, a
    cast is made. `more` holds further settings.
    """
    db, run = Database(database_url), Loop()
    try:
        app = App(
            Settings(data_dir=data_dir, database_url=database_url, secret_key=SECRET_KEY, **more),
            db,
            lambda carriers: None,
        )
        run(app.start())
        try:
            yield Service(db, app, in_copy(db, cast) if cast else make_cast(db), run)
        finally:
            run(app.stop())
            run(db.close_hot())
    finally:
        run.close()
        db.close()
