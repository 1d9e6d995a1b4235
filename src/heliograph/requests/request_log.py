"""Keeps for a week which requests of an account failed, and a sample of the others, so that a
developer can see what a program of theirs was answered.

Requests are noted in memory and stored together, once a second. A limit holds for each account and
one for the process, so neither a broken client nor a busy one can slow down the others. No body, no
key and no path with an id in it is kept.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import RateLimited, ServiceError
from heliograph.base.paging import PageWanted
from heliograph.base.short_texts import shorten
from heliograph.database.pruning import PruningRule
from heliograph.database.reads import records_of
from heliograph.keys import Principal
from heliograph.requests.tables import METHOD_MAX, request_log

LOG_EVERY_S: Final = 1.0
FAILURES_MAX: Final = 5  # of an account in a second: enough to see what goes wrong
OTHERS_MAX: Final = 1  # of an account in a second: a sample
# of all accounts in a second: a transaction of 5 ms
REQUESTS_MAX: Final = 200
# of those, requests that did not fail: what is stored of them is time that accepting lacks
SAMPLE_MAX: Final = 20
KEPT_MS: Final = 7 * DAY_MS
REQUESTS_KEPT: Final = (PruningRule(request_log.name, "id", KEPT_MS, is_counts=True),)
_OUR_FAULT: Final = 500
_FAILED_FROM: Final = 400
_PREFIX: Final = "req_"


class RequestEnd(NamedTuple):
    """Says how a request ended. `code` and `reason` are those of the error, if it failed."""

    status: int
    code: str | None = None
    reason: str | None = None


class LoggedRequest(NamedTuple):
    """Holds a request as it is kept. `id` is the raw form of its request id, whose time is that of
    the request. `endpoint` is the path of the endpoint below /api/v1, or `unknown`.
    """

    id: str
    account_id: str
    key_id: str
    sandbox: bool
    method: str
    endpoint: str
    http_status: int
    code: str | None
    reason: str | None
    took_ms: int

    @property
    def at_ms(self) -> int:
        return ids.made_at_ms(int(self.id, 16))


class RequestLog:
    """Holds requests that are not stored yet. It is used in the event loop. `take_all` hands them
    over to whoever stores them.
    """

    def __init__(self) -> None:
        self._requests: list[LoggedRequest] = []
        self._noted: dict[tuple[str, bool], int] = {}  # by account, and whether it failed
        self._sampled = 0  # of those that did not fail

    def note(
        self,
        who: Principal,
        request_id: str,
        method: str,
        endpoint: str,
        ended: RequestEnd,
        seconds: float,
    ) -> None:
        """Keeps this request, unless enough are kept in this second. One that was refused because
        the key makes too many says nothing that a limit does not say.
        """
        failed = ended.status >= _FAILED_FROM
        # hot: nearly all requests of a busy second end here
        if len(self._requests) >= REQUESTS_MAX or (not failed and self._sampled >= SAMPLE_MAX):
            return
        if ended.reason == RateLimited.reason:
            return
        place = who.account_id, failed
        noted = self._noted.get(place, 0)
        if noted >= (FAILURES_MAX if failed else OTHERS_MAX):
            return
        self._noted[place] = noted + 1
        self._sampled += not failed
        self._requests.append(
            LoggedRequest(
                request_id.removeprefix(_PREFIX),
                who.account_id,
                key_id=who.key_id,
                sandbox=who.sandbox,
                method=shorten(method, METHOD_MAX - 1),
                endpoint=endpoint,
                http_status=ended.status,
                code=ended.code,
                reason=ended.reason,
                took_ms=round(seconds * 1_000),
            )
        )

    def take_all(self) -> list[LoggedRequest]:
        taken, self._requests = self._requests, []
        self._noted.clear()
        self._sampled = 0
        return taken


def end_of(error: Exception) -> RequestEnd:
    """Returns how a request ended that raised this."""
    if isinstance(error, ServiceError):
        return RequestEnd(error.status, error.code, error.reason)
    return RequestEnd(_OUR_FAULT, ServiceError.code)


def store_requests(tx: Connection, requests: Sequence[LoggedRequest]) -> None:
    """Stores requests in the log of the accounts that made them; none is no error."""
    if requests:
        tx.execute(request_log.insert(), [request._asdict() for request in requests])


class RequestFilter(NamedTuple):
    """Says which requests are wanted. `request_id` is raw."""

    failed: bool | None = None
    request_id: str | None = None


def requests_page(
    tx: Connection,
    account_id: str,
    wanted: RequestFilter,
    page: PageWanted,
    *,
    sandbox: bool,
) -> list[LoggedRequest]:
    """Returns one page of the requests of an account (raw id) in one mode, newest first."""
    query = (
        sa.select(*(request_log.c[name] for name in LoggedRequest._fields))
        .where(request_log.c.account_id == account_id, request_log.c.sandbox.is_(sandbox))
        .order_by(request_log.c.id.desc())
        .limit(page.limit)
    )
    if wanted.failed is not None:
        status = request_log.c.http_status  # in the words of the two indexes
        query = query.where(status >= _FAILED_FROM if wanted.failed else status < _FAILED_FROM)
    if wanted.request_id is not None:
        query = query.where(request_log.c.id == wanted.request_id)
    if page.before is not None:
        query = query.where(request_log.c.id < page.before)
    return records_of(LoggedRequest, tx.execute(query))


def text_id(request: LoggedRequest) -> str:
    """Returns the id that the answer had in `X-Request-Id`."""
    return f"{_PREFIX}{request.id}"


def raw_request_id(text: str) -> str | None:
    """Returns the raw form of a request id, or None for any other text."""
    digits = text.removeprefix(_PREFIX)
    is_one = text != digits and len(digits) == 32 and set(digits) <= set("0123456789abcdef")
    return digits if is_one else None
