"""Serves pages for people where there is no API: the console at an address of its own."""

from collections.abc import Callable
from typing import TypeAlias

from heliograph.api.api import Send
from heliograph.api.app import OK, TEXT, WebPages, acceptor_for
from heliograph.api.bodies import Receive, Scope
from heliograph.api.client_address import Proxies
from heliograph.api.nearest_path import PathSuggestions
from heliograph.api.pages import Page, PageResponse, answer_page
from heliograph.api.ready import Readiness, has_schema
from heliograph.base.errors import Unavailable
from heliograph.base.settings import Settings
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.accept import Acceptor
from heliograph.messages.queue import FairQueue
from heliograph.text import numbering_plans

MakeAlone: TypeAlias = Callable[[Callable[[Scope], object | None], Acceptor], WebPages]


class WebPagesApp:
    """Answers the pages that `make` makes from what finds a client's address and what accepts
    sends, and /healthz and /readyz. At all other paths there is no page. Call `stop` after the
    last request.
    """

    def __init__(self, settings: Settings, db: Database, make: MakeAlone) -> None:
        numbering_plans.load()
        self.proxies = Proxies(settings.trusted_proxies)
        self.postgresql = db.postgresql
        self.stopping = False  # whoever distributes requests shall take others
        self._cache = ConfigCache(db)
        # pages are made of parts that want one, also those of which none sends anything
        acceptor = acceptor_for(db, self._cache, _queue_nothing, FairQueue())
        self._alone = make(self.proxies.client_of, acceptor)
        self._readiness = Readiness(at_once=[self._require_not_stopping], checks=[has_schema(db)])
        self._suggestions = PathSuggestions({})
        self._pages: dict[str, Page] = {"/healthz": self._health, "/readyz": self._ready}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] in self._pages:
            await answer_page(self._pages, scope, send, self._suggestions)
        else:
            await self._alone(scope, receive, send)

    async def stop(self) -> None:
        await self._alone.close()
        await self._readiness.close()
        await self._cache.close()

    async def _health(self, scope: Scope) -> PageResponse:
        """Answers that the process is there."""
        return PageResponse(OK, [TEXT])

    async def _ready(self, scope: Scope) -> PageResponse:
        """Says whether the pages can be shown: the database answers with this version's schema."""
        await self._readiness.require()
        return PageResponse(OK, [TEXT])

    def _require_not_stopping(self) -> None:
        if self.stopping:
            raise Unavailable("This server is stopping.", reason="stopping")


def _queue_nothing(carrier_ids: set[int]) -> None:
    """Does nothing, because nothing is sent from here."""
