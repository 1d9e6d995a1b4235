"""Puts together the ASGI application: the API below /api/v1, and beside it health, metrics and the
documentation.
"""

import asyncio
import hmac
from collections.abc import Callable
from typing import Final, Protocol

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from heliograph import senders
from heliograph.api.api import Api, Send
from heliograph.api.bodies import IN_ONE_PIECE, Headers, Receive, Scope
from heliograph.api.client_address import Proxies, host_of, names_this_machine
from heliograph.api.cors import Cors, answer_preflight
from heliograph.api.loop_delay import watch_loop_delay
from heliograph.api.openapi import BASE_PATH
from heliograph.api.pages import Page, PageResponse, answer_page
from heliograph.api.published import published_pages
from heliograph.api.ready import Readiness, has_schema
from heliograph.base import cancelling, metrics
from heliograph.base.errors import Forbidden, InvalidRequest, ServiceError, Unavailable
from heliograph.base.log import Log
from heliograph.base.own_threads import OwnThreads
from heliograph.base.periodic import repeat
from heliograph.base.settings import SettingError, Settings
from heliograph.campaigns.api import endpoints as campaign_endpoints
from heliograph.connect.api import endpoints as connect_endpoints
from heliograph.contacts.api import endpoints as contact_endpoints
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.database.write_probe import Writable
from heliograph.inbound.answered_text import answered_text
from heliograph.inbound.api import endpoints as inbound_endpoints
from heliograph.inbound.keywords.api import endpoints as keyword_endpoints
from heliograph.keys import STORE_EVERY_S, MemoryLimiter, store_usage
from heliograph.keys.redis_limiter import RedisLimiter
from heliograph.messages.accept import Acceptor
from heliograph.messages.api import endpoints as message_endpoints
from heliograph.messages.queue import FairQueue, account_ends
from heliograph.messages.sweeps import withdraw
from heliograph.opt_outs.api import endpoints as opt_out_endpoints
from heliograph.otp.api import endpoints as otp_endpoints
from heliograph.otp.issue import OtpExtension
from heliograph.plugin.api import endpoints as plugin_endpoints
from heliograph.requests import LOG_EVERY_S, Endpoint, store_requests
from heliograph.senders.api import endpoints as sender_endpoints
from heliograph.text import numbering_plans
from heliograph.wallet.api import endpoints as wallet_endpoints

log = Log(__name__)
TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")
OK: Final = b"ok\n"


class WebPages(Protocol):
    """Serves pages for people at the API's own port, such as the portal."""

    def is_mine(self, path: str) -> bool:
        """Returns whether a path belongs to these pages."""
        ...

    async def start(self) -> None:
        """Begins what goes on beside the pages."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def close(self) -> None: ...


MakePages = Callable[[Acceptor], WebPages | None]


class App:
    """Answers everything that one process serves over HTTP. Call `start` before the first request,
    and `stop` after the last. `make_pages` makes the pages that are served at the same port, if
    any, from what accepts their sends.
    """

    def __init__(
        self,
        settings: Settings,
        db: Database,
        on_queued: Callable[[set[int]], None],
        make_pages: MakePages = lambda _: None,
    ) -> None:
        numbering_plans.load()
        self._settings = settings
        self._db = db
        self.cache = ConfigCache(db)
        self.limiter = RedisLimiter(settings.redis_url) if settings.redis_url else MemoryLimiter()
        self.queue = FairQueue()
        acceptor = acceptor_for(db, self.cache, on_queued, self.queue)
        self._web_pages = make_pages(acceptor)
        table = endpoints(db, self.cache, acceptor, settings)
        self.api = Api(table, self.cache, self.limiter, db.commits)
        self._writable = Writable(db)
        self.proxies = Proxies(settings.trusted_proxies)
        self.api.client_of = self.proxies.client_of
        self.api.logs_requests = settings.log_level == "debug"
        self._tasks: list[asyncio.Task[None]] = []
        self.postgresql = db.postgresql
        self.stopping = False  # whoever distributes requests shall take others
        self._readiness = Readiness(
            at_once=[self._require_not_stopping, self._require_fresh], checks=[has_schema(db)]
        )
        self._metrics_threads = OwnThreads("metrics")
        self._cors = Cors(settings.cors_origins) if settings.cors_origins else None
        self._pages: dict[str, Page] = {
            "/healthz": self._health,
            "/readyz": self._ready,
            **published_pages(table, settings.base_url),
        }
        if settings.metrics_address is None:
            self._pages["/metrics"] = self._metrics

    async def start(self) -> None:
        """Reads the configuration, and starts the tasks that run while requests are answered."""
        await self.cache.refresh()
        self.queue.resume(await asyncio.to_thread(account_ends, self._db))
        self._tasks = [
            asyncio.create_task(self.cache.poll()),
            asyncio.create_task(
                repeat(
                    self._store_usage,
                    wait=STORE_EVERY_S,
                    fault="key_usage_not_stored",
                    level="warning",
                )
            ),
            asyncio.create_task(
                repeat(self._store_requests, wait=LOG_EVERY_S, fault="requests_not_stored")
            ),
            asyncio.create_task(watch_loop_delay()),
        ]
        if self._web_pages is not None:
            await self._web_pages.start()

    async def stop(self) -> None:
        """Stops what `start` has started, after it has stored what is still to be stored."""
        await cancelling.cancel_and_wait(*self._tasks)
        await self._store_usage()
        await self._store_requests()
        if isinstance(self.limiter, RedisLimiter):
            await self.limiter.close()
        self.api.close()
        if self._web_pages is not None:
            await self._web_pages.close()
        for each in (self._readiness, self._writable, self._metrics_threads, self.cache):
            await each.close()

    async def _store_usage(self) -> None:
        """Stores when keys were last used. The operator is told of it and nothing depends on it,
        so what cannot be stored is left out.
        """
        used = self.api.usage.take_all()
        try:
            await asyncio.to_thread(self._db.transact, lambda tx: store_usage(tx, used))
        except ServiceError as error:
            log.warning("key_usage_not_stored", reason=error.reason)

    async def _store_requests(self) -> None:
        """Stores what was noted for the request log. What cannot be stored is left out, as with the
        last uses of keys.
        """
        noted = self.api.requests.take_all()
        if not noted:
            return
        try:
            await asyncio.to_thread(self._db.transact, lambda tx: store_requests(tx, noted))
        except ServiceError as error:
            log.warning("requests_not_logged", reason=error.reason, requests=len(noted))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path: str = scope["path"]
        if self._web_pages is not None and self._web_pages.is_mine(path):
            await self._web_pages(scope, receive, send)
            return
        if self._cors is not None and path.startswith(f"{BASE_PATH}/"):
            send = self._cors.sending(scope, send)
            scope.pop(IN_ONE_PIECE, None)  # an answer goes through `send`, which adds headers to it
            if self._cors.is_preflight(scope):
                await answer_preflight(send)
                return
        if path not in self._pages and (path.startswith(f"{BASE_PATH}/") or path == BASE_PATH):
            await self.api(scope, receive, send)
        else:
            await answer_page(self._pages, scope, send, self.api.suggestions)

    async def _health(self, scope: Scope) -> PageResponse:
        """Answers that the process is there."""
        return PageResponse(OK, [TEXT])

    async def _ready(self, scope: Scope) -> PageResponse:
        """Says whether this process can answer requests: the database answers, has this version's
        schema and stores what is written, the remembered configuration is up to date, and this
        process is not about to end.
        """
        await self._readiness.require()
        await self._writable.check()
        return PageResponse(OK, [TEXT])

    def _require_not_stopping(self) -> None:
        if self.stopping:
            raise Unavailable(
                "This server is stopping: it still answers requests, but not for long.",
                reason="stopping",
            )

    def _require_fresh(self) -> None:
        if not self.cache.is_fresh:
            raise Unavailable("The configuration could not be read for a second.")

    async def _metrics(self, scope: Scope) -> PageResponse:
        """Shows metrics to the holder of HELIOGRAPH_METRICS_TOKEN. Without one set, it shows
        them to loopback peers only, who ask for it by a name of this machine.
        """
        if not _may_read_metrics(self._settings.metrics_token, scope, self.proxies):
            raise Forbidden(
                "Metrics need the token of HELIOGRAPH_METRICS_TOKEN. If no token is set, only a"
                " loopback address may read them, and Host must name one too."
            )
        text = await self._metrics_threads.run(lambda: generate_latest(metrics.registry()))
        return PageResponse(text, [(b"content-type", CONTENT_TYPE_LATEST.encode())])


def acceptor_for(
    db: Database, cache: ConfigCache, on_queued: Callable[[set[int]], None], queue: FairQueue
) -> Acceptor:
    """Returns what accepts all sends of this process."""
    return Acceptor(db, cache, on_queued, queue, {"otp": OtpExtension()})


def endpoints(
    db: Database, cache: ConfigCache, acceptor: Acceptor, settings: Settings
) -> list[Endpoint]:
    """Returns the one table of all endpoints: routing, guards, description and tests are made
    from it. Raises SettingError.
    """
    service_sender = _service_sender(settings)
    return [
        *wallet_endpoints(db),
        *sender_endpoints(db, service_sender=service_sender),
        *message_endpoints(acceptor, cache, db, answered_text),
        *inbound_endpoints(db),
        *keyword_endpoints(db),
        *opt_out_endpoints(db, withdraw),
        *otp_endpoints(
            acceptor, cache, db, secret_key=settings.secret_keys, service_sender=service_sender
        ),
        *campaign_endpoints(db),
        *connect_endpoints(db),
        *plugin_endpoints(db),
        *contact_endpoints(db),
    ]


def _service_sender(settings: Settings) -> str:
    try:
        return senders.check(settings.otp_sender)
    except InvalidRequest as error:
        allowed = error.fields[0].message.removeprefix("must ").rpartition("; not ")[0]
        raise SettingError(
            "HELIOGRAPH_OTP_SENDER", repr(settings.otp_sender), f"what would {allowed}"
        ) from error


def _may_read_metrics(token: str | None, scope: Scope, proxies: Proxies) -> bool:
    if token:
        headers: Headers = scope["headers"]
        given = next((value for name, value in headers if name == b"authorization"), b"")
        return hmac.compare_digest(given, b"Bearer " + token.encode())
    return proxies.is_local(scope) and names_this_machine(host_of(scope))
