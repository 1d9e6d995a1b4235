"""One endpoint at work: what is due is read a little ahead, signed, posted side by side, and handed to the recorder."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import structlog

from heliograph.base import cancelling, clock, ids, metrics
from heliograph.base.db import Database
from heliograph.base.faults import told
from heliograph.base.secrets import decrypt
from heliograph.webhooks import deliver_sql
from heliograph.webhooks.allowance import Allowance
from heliograph.webhooks.attempt import NO_FILES, Answered, Failed
from heliograph.webhooks.endpoints import PREFIX as ENDPOINT_PREFIX
from heliograph.webhooks.endpoints import PURPOSE
from heliograph.webhooks.events import EVENT_PREFIX
from heliograph.webhooks.places import OWN, Places
from heliograph.webhooks.record import Recorder, Tried, Waiting
from heliograph.webhooks.sign import headers

if TYPE_CHECKING:
    from heliograph.webhooks.post import Poster

WINDOW_FIRST: Final = 8  # POSTs side by side to an endpoint that nothing is known of
WINDOW_MAX: Final = 64
WINDOW_MIN: Final = OWN  # to one that answers nothing: each of its POSTs keeps a connection for 15 s
AHEAD: Final = 8  # times the window: so many events are read ahead of their POSTs, of 20 kB each at most
NO_FILES_S: Final = 1.0  # until a POST is tried again for which this process could open no connection
_DECRYPTED: Final = 10_000

log = structlog.get_logger(__name__)
_decrypted = lru_cache(_DECRYPTED)(decrypt)


class Target(NamedTuple):
    """An endpoint as it is configured now."""

    id: str
    account_id: str
    url: str
    secret: str  # these two encrypted
    former_secret: str | None
    former_until_ms: int | None
    disabled_at_ms: int | None
    failing_since_ms: int | None


class _Due(NamedTuple):
    waiting: Waiting
    kind: str
    body: str


class Receiver:
    """`target` is replaced when its configuration changes. `refresh` reads what is due, `pump` posts as much of it as there is room for."""

    def __init__(self, db: Database, target: Target, secret_key: str, poster: "Poster", recorder: Recorder, may_post: Callable[[], bool],
                 reads: asyncio.Semaphore, allowance: Allowance, places: Places,
                 on_attempt: Callable[[str, str, Tried], None] | None = None) -> None:
        self._db = db
        self._on_attempt = on_attempt
        self._reads = reads
        self._allowance = allowance
        self._places = places
        self._may_post = may_post
        self.target = target
        self._secret_key = secret_key
        self._poster = poster
        self._recorder = recorder
        self._window = WINDOW_FIRST
        self._ahead: deque[_Due] = deque()
        self._known: set[Waiting] = set()  # read, and not yet recorded
        self._recorded: list[Waiting] = []  # while the queue is being read, which may still show them
        self._open: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None
        self._may_be_more = True
        self.stopped = False
        self.idle_since_s = clock.monotonic_s()

    @property
    def is_idle(self) -> bool:
        return not self._known and self._reading is None

    def due(self) -> None:
        """There is something due, as far as the queue tells: it may be what is at work already."""
        self._may_be_more = True
        self.pump()

    def pump(self) -> None:
        if self._allowance.is_limited:
            if self._has_room():
                self._allowance.ask(self)
        else:
            while self.post_next():
                pass
        if self._may_be_more and not self.stopped and self._reading is None and len(self._ahead) < self._window:
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(self._has_read)

    def post_next(self) -> bool:
        """Posts what is due first. False: there is nothing that could be posted now."""
        if not self._has_room() or not self._places.take(len(self._open)):
            return False
        task = asyncio.create_task(self._post(self._ahead.popleft()))
        self._open.add(task)
        task.add_done_callback(self._posted)
        return True

    def _has_room(self) -> bool:
        return bool(self._ahead) and len(self._open) < self._window and not (self.stopped or self._recorder.is_full) and self._may_post()

    def recorded(self, waiting: Waiting) -> None:
        if self._reading is None:
            self._known.discard(waiting)
        else:
            self._recorded.append(waiting)
        self.idle_since_s = clock.monotonic_s()

    def stop(self) -> None:
        """Posts nothing more; `ended` returns when all that was posted has been answered, or not."""
        self.stopped = True
        self._known.difference_update(due.waiting for due in self._ahead)
        self._ahead.clear()

    async def ended(self) -> None:
        while self._open:
            await asyncio.wait(self._open)

    async def _read(self) -> None:
        now_ms = clock.now_ms()
        async with self._reads, self._db.hot() as tx:
            rows = await deliver_sql.next_due(tx, self.target.id, now_ms, len(self._known) + AHEAD * self._window)
            # what waited until its event was pruned
            await deliver_sql.DONE.rows(tx, [(self.target.id, due_at_ms, event_id) for due_at_ms, event_id, _, _, body in rows if body is None])
        fresh = [_Due(waiting, kind, body) for due_at_ms, event_id, tries, kind, body in rows
                 if body is not None and (waiting := Waiting(self.target.id, due_at_ms, event_id, tries)) not in self._known]
        if self.stopped:
            return
        self._may_be_more = len(fresh) > 0
        self._known.update(due.waiting for due in fresh)
        self._ahead.extend(fresh)

    def _has_read(self, task: "asyncio.Task[None]") -> None:
        self._reading = None
        self._known.difference_update(self._recorded)
        self._recorded.clear()
        if task.cancelled() or task.exception() is not None:
            return  # the watch says again that something is due, and tells of a database that is away
        self.idle_since_s = clock.monotonic_s()
        self.pump()

    async def _post(self, due: _Due) -> None:
        body, now_ms, target = due.body.encode(), clock.now_ms(), self.target
        event_id = ids.text_of_raw(EVENT_PREFIX, due.waiting.event_id)
        outcome: Answered | Failed
        try:
            signed = headers(event_id, due.kind, body, now_ms // 1_000, *self._secrets(target, now_ms))
            outcome = await self._poster.post(target.url, signed, body, target.account_id)
        except Exception as error:  # noqa: BLE001  whatever it was, as with a secret that this HELIOGRAPH_SECRET_KEY cannot read: it is tried again
            cancelling.obey(error)
            log.error("webhook_not_posted", endpoint=ids.text_of_raw(ENDPOINT_PREFIX, target.id), event_id=event_id, **told(error))
            outcome = Failed("not_posted", type(error).__name__, 0.0)
        if isinstance(outcome, Failed) and outcome.reason == NO_FILES:
            await self._put_back(due)
            return
        tried = tried_of(due.waiting, outcome, clock.now_ms())
        self._window = min(WINDOW_MAX, self._window + 1) if tried.reason is None else max(WINDOW_MIN, self._window // 2)
        self._recorder.add(tried)
        if self._on_attempt is not None:
            self._on_attempt(due.kind, due.body, tried)
        metrics.webhook(tried.reason, outcome.seconds)

    async def _put_back(self, due: _Due) -> None:
        """What could not be posted for want of files, for another try soon that counts as the first."""
        self._places.exhausted()
        self._window = max(WINDOW_MIN, self._window // 2)
        await asyncio.sleep(NO_FILES_S)
        if self.stopped:
            self._known.discard(due.waiting)
        else:
            self._ahead.appendleft(due)

    def _posted(self, task: "asyncio.Task[None]") -> None:
        self._places.give_back(len(self._open))
        self._open.discard(task)
        if not task.cancelled() and task.exception() is None:
            self.pump()

    def _secrets(self, target: Target, now_ms: int) -> tuple[str, str | None]:
        rotates = target.former_secret is not None and target.former_until_ms is not None and now_ms < target.former_until_ms
        former = target.former_secret if rotates else None
        return _decrypted(self._secret_key, PURPOSE, target.secret), None if former is None else _decrypted(self._secret_key, PURPOSE, former)


def tried_of(waiting: Waiting, outcome: Answered | Failed, at_ms: int) -> Tried:
    """An attempt's outcome, as it is stored."""
    took_ms = round(outcome.seconds * 1_000)
    if isinstance(outcome, Failed):
        return Tried(waiting, at_ms, took_ms, None, outcome.reason, outcome.detail, None)
    return Tried(waiting, at_ms, took_ms, outcome.status, None if outcome.ok else "status", outcome.text, outcome.retry_after)


def targets_of(rows: Sequence[Sequence[Any]]) -> list[Target]:
    return [Target(*row) for row in rows]
