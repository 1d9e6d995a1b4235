"""What is no HTTP request at all. There is no path and no key to judge it by, but its answer has the shape of every other failure."""

import logging

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from heliograph.base import metrics
from heliograph.base.errors import InvalidRequest
from heliograph.entry.http import JSON, failed, new_request_id

log = structlog.get_logger(__name__)


class Protocol(HttpToolsProtocol):
    """uvicorn's, with our 400 in place of its line of text."""

    def send_400_response(self, msg: str) -> None:
        request_id = new_request_id()
        refusal = InvalidRequest("This is no HTTP request that can be read.", reason="invalid_http")
        status, more, body = failed(refusal, request_id, "unknown")
        headers = [JSON, (b"x-request-id", request_id.encode()), (b"content-length", b"%d" % len(body)), (b"connection", b"close"), *more]
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + b"".join(b"%b: %b\r\n" % header for header in headers) + b"\r\n" + body)
        self.transport.close()
        metrics.request_answered("unknown", "unknown", status, 0.0)  # there was no head from which to measure
        log.info("request_not_read", request_id=request_id, client=self.client and self.client[0])

    def _unsupported_upgrade_warning(self) -> None:
        """Whoever asks for another protocol, such as WebSocket, gets a plain answer in this one (RFC 9110, 7.8): nothing to warn of."""


def not_told_twice(record: logging.LogRecord) -> bool:
    """A filter of uvicorn's log: what it says of a request that cannot be read, `request_not_read` says with the request's id."""
    return record.msg != "Invalid HTTP request received."
