"""Answers what is not an HTTP request, and requests that are not read to their end. There is no
path and no key to judge them by, but the response has the shape of every other failure.
"""

from http import HTTPStatus
from typing import Final

from heliograph.api.api import JSON, error_body, error_headers, new_request_id
from heliograph.base import metrics
from heliograph.base.errors import ServiceError
from heliograph.base.limited_log import LineLimit
from heliograph.base.log import Log

# of the log, for all connections together: whoever connects can have one written, with no key
LINES_A_SECOND_MAX: Final = 5
CLOSE: Final = (b"connection", b"close")

log = Log(__name__)
_few = LineLimit(LINES_A_SECOND_MAX)


def whole_response(error: ServiceError) -> tuple[str, bytes]:
    """Returns the request id, and the octets of the response, after which the connection is
    closed.
    """
    request_id = new_request_id()
    body = error_body(error, request_id)
    headers = [
        JSON,
        (b"x-request-id", request_id.encode()),
        (b"content-length", b"%d" % len(body)),
        CLOSE,
        *error_headers(error),
    ]
    head = b"HTTP/1.1 %d %b\r\n" % (error.status, HTTPStatus(error.status).phrase.encode())
    return request_id, head + b"".join(
        b"%b: %b\r\n" % header for header in headers
    ) + b"\r\n" + body


def answer_not_read(error: ServiceError, client: str | None) -> bytes:
    """Returns the octets of `whole_response`, once the response has been counted and logged."""
    request_id, response = whole_response(error)
    # there was no head from which to measure
    metrics.count_request("unknown", "unknown", error.status, 0.0)
    left_out = _few.next()
    if left_out is not None:
        log.info(
            "request_not_read",
            request_id=request_id,
            client=client,
            reason=error.reason,
            **left_out,
        )
    return response
