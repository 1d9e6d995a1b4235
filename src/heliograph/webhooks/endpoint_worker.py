"""Delivers to one endpoint: reads what is due a little ahead, signs it, posts several events at
once, and hands the results to the recorder.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from heliograph.base import cancelling, clock, ids, metrics
from heliograph.base.log import Log, error_fields
from heliograph.base.secrets import Keys, decrypt
from heliograph.webhooks.deliver_sql import Target, WaitingEvents
from heliograph.webhooks.endpoints import PREFIX as ENDPOINT_PREFIX
from heliograph.webhooks.endpoints import PURPOSE
from heliograph.webhooks.events import EVENT_PREFIX
from heliograph.webhooks.http.attempt import NO_FILES, HttpResponse, PostFailure
from heliograph.webhooks.post_rate import PostRate
from heliograph.webhooks.post_slots import OWN, PostSlots
from heliograph.webhooks.read_due import Due, Reads
from heliograph.webhooks.record_attempts import AttemptResult, Recorder
from heliograph.webhooks.sign import headers

if TYPE_CHECKING:
    from heliograph.webhooks.http.post import Poster

WINDOW_FIRST: Final = 8  # POSTs side by side to an endpoint that nothing is known of
WINDOW_MAX: Final = 64
# to one that answers nothing: each of its POSTs keeps a connection for 15 s
WINDOW_MIN: Final = OWN
# times the window: so many events are read ahead of their POSTs, of 20 kB each at most
AHEAD: Final = 8
# until a POST is tried again for which this process could open no connection
NO_FILES_S: Final = 1.0
_DECRYPTED: Final = 10_000

log = Log(__name__)
_decrypted = lru_cache(_DECRYPTED)(decrypt)


class EndpointWorker:
    """Delivers to one endpoint. `target` is replaced when its configuration changes. `pump` asks
    for the turns that it has use for: to read what is due, and to post.
    """

    def __init__(
        self,
        target: Target,
        secret_key: Keys,
        poster: "Poster",
        recorder: Recorder,
        may_post: Callable[[], bool],
        reads: Reads,
        allowance: PostRate,
        places: PostSlots,
        on_attempt: Callable[[str, str, AttemptResult], None] | None = None,
    ) -> None:
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
        self._ahead: deque[Due] = deque()
        self._known: set[WaitingEvents] = set()  # read, and not yet recorded
        # while the queue is being read, which may still show them
        self._recorded: list[WaitingEvents] = []
        self._open: set[asyncio.Task[None]] = set()
        self._reading = False
        self._may_be_more = True
        self.stopped = False
        self.idle_since_s = clock.monotonic_s()

    @property
    def account_id(self) -> str:
        return self.target.account_id

    @property
    def endpoint_id(self) -> str:
        return self.target.id

    @property
    def wanted(self) -> int:
        """Returns how much of the queue is to be read: what is known comes before what is new."""
        return len(self._known) + AHEAD * self._window

    @property
    def is_idle(self) -> bool:
        return not (self._known or self._reading)

    def due(self) -> None:
        """Notes that the queue has something due. It may be an event that is being posted
        already.
        """
        self._may_be_more = True
        self.pump()

    def pump(self) -> None:
        if self._has_room():
            self._allowance.ask(self)
        if (
            self._may_be_more
            and not (self.stopped or self._reading)
            and len(self._ahead) < self._window
        ):
            self._reading, self._may_be_more = True, False
            self._reads.ask(self)

    def post_next(self) -> bool:
        """Posts what is due first. It returns False if there is nothing that could be posted
        now.
        """
        if not self._has_room() or not self._places.take(len(self._open)):
            return False
        task = asyncio.create_task(self._post(self._ahead.popleft()))
        self._open.add(task)
        task.add_done_callback(self._posted)
        return True

    def _has_room(self) -> bool:
        return (
            bool(self._ahead)
            and len(self._open) < self._window
            and not (self.stopped or self._recorder.is_full)
            and self._may_post()
        )

    def was_read(self, found: list[Due] | None, *, whole: bool) -> None:
        """Takes what was read of the queue, or None if it could not be read: then the queue is read
        again when something in it is found to be due.
        """
        self._reading = False
        if found is not None and not self.stopped:
            fresh = [due for due in found if due.waiting not in self._known]
            self._may_be_more = self._may_be_more or not whole
            self._known.update(due.waiting for due in fresh)
            self._ahead.extend(fresh)
        self._known.difference_update(self._recorded)
        self._recorded.clear()
        if found is not None:
            self.idle_since_s = clock.monotonic_s()
            self.pump()

    def recorded(self, waiting: WaitingEvents) -> None:
        if self._reading:
            self._recorded.append(waiting)
        else:
            self._known.discard(waiting)
        self.idle_since_s = clock.monotonic_s()

    def stop(self) -> None:
        """Posts nothing more; `ended` returns when all that was posted has been answered,
        or not.
        """
        self.stopped = True
        self._known.difference_update(due.waiting for due in self._ahead)
        self._ahead.clear()

    async def ended(self) -> None:
        while self._open:
            await asyncio.wait(self._open)

    async def _post(self, due: Due) -> None:
        body, now_ms, target = due.body.encode(), clock.now_ms(), self.target
        event_id = ids.text_of_raw(EVENT_PREFIX, due.waiting.event_id)
        post_result: HttpResponse | PostFailure
        try:
            signed = headers(
                event_id, due.kind, body, now_ms // 1_000, *self._secrets(target, now_ms)
            )
            post_result = await self._poster.post(target.url, signed, body, target.account_id)
        # whatever it was, as with a secret that this HELIOGRAPH_SECRET_KEY cannot read: it
        # is tried again
        except Exception as error:  # noqa: BLE001
            cancelling.raise_if_cancelled(error)
            log.error(
                "webhook_not_posted",
                endpoint=ids.text_of_raw(ENDPOINT_PREFIX, target.id),
                event_id=event_id,
                **error_fields(error),
            )
            post_result = PostFailure("not_posted", type(error).__name__, 0.0)
        if isinstance(post_result, PostFailure) and post_result.reason == NO_FILES:
            await self._put_back(due)
            return
        tried = result_of_attempt(due.waiting, post_result, clock.now_ms())
        self._window = (
            min(WINDOW_MAX, self._window + 1)
            if tried.reason is None
            else max(WINDOW_MIN, self._window // 2)
        )
        self._recorder.add(tried)
        if self._on_attempt is not None:
            self._on_attempt(due.kind, due.body, tried)
        metrics.count_webhook_attempt(tried.reason, post_result.seconds)

    async def _put_back(self, due: Due) -> None:
        """Puts back what could not be posted for want of files, for another try soon that counts
        as the first.
        """
        self._places.log_exhausted()
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
        rotates = (
            target.former_secret is not None
            and target.former_until_ms is not None
            and now_ms < target.former_until_ms
        )
        former = target.former_secret if rotates else None
        return _decrypted(self._secret_key, PURPOSE, target.secret), (
            None if former is None else _decrypted(self._secret_key, PURPOSE, former)
        )


def result_of_attempt(
    waiting: WaitingEvents, post_result: HttpResponse | PostFailure, at_ms: int
) -> AttemptResult:
    """Returns an attempt's result, as it is stored."""
    took_ms = round(post_result.seconds * 1_000)
    if isinstance(post_result, PostFailure):
        return AttemptResult(
            waiting,
            at_ms,
            took_ms,
            status=None,
            reason=post_result.reason,
            answer=post_result.detail,
            retry_after=None,
        )
    return AttemptResult(
        waiting,
        at_ms,
        took_ms,
        status=post_result.status,
        reason=None if post_result.ok else "status",
        answer=post_result.text,
        retry_after=post_result.retry_after,
    )
