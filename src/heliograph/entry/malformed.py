"""What is no HTTP request, or none that is read to its end. There is no path and no key to judge it by, but its answer has the shape of every
other failure."""

import math
from http import HTTPStatus
from typing import Final

import structlog

from heliograph.base import clock, metrics
from heliograph.base.errors import ServiceError
from heliograph.entry.http import JSON, error_headers, new_request_id, rendered

LINES_A_SECOND_MAX: Final = 5  # of the log, for all connections together: whoever connects can have one written, with no key
CLOSE: Final = (b"connection", b"close")

log = structlog.get_logger(__name__)


def whole_answer(error: ServiceError) -> tuple[str, bytes]:
    """The request id, and the octets of the answer, after which the connection is closed."""
    request_id = new_request_id()
    body = rendered(error, request_id)
    headers = [JSON, (b"x-request-id", request_id.encode()), (b"content-length", b"%d" % len(body)), CLOSE, *error_headers(error)]
    head = b"HTTP/1.1 %d %b\r\n" % (error.status, HTTPStatus(error.status).phrase.encode())
    return request_id, head + b"".join(b"%b: %b\r\n" % header for header in headers) + b"\r\n" + body


def answer_not_read(error: ServiceError, client: str | None) -> bytes:
    """The same octets, once the answer has been counted and logged."""
    request_id, answer = whole_answer(error)
    metrics.request_answered("unknown", "unknown", error.status, 0.0)  # there was no head from which to measure
    _told.tell(request_id=request_id, client=client, reason=error.reason)
    return answer


class _Told:
    """The lines of the log, of which there are few: the next one says how many were left out."""

    def __init__(self) -> None:
        self._since_s = -math.inf
        self._lines = self._left_out = 0

    def tell(self, **fields: str | None) -> None:
        now_s = clock.monotonic_s()
        if now_s - self._since_s >= 1:
            self._since_s, self._lines = now_s, 0
        if self._lines >= LINES_A_SECOND_MAX:
            self._left_out += 1
            return
        self._lines += 1
        left_out, self._left_out = self._left_out, 0
        log.info("request_not_read", **fields, **({"left_out": left_out} if left_out else {}))


_told = _Told()
