"""What is no HTTP request at all. There is no path and no key to judge it by, but its answer has the shape of every other failure."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from heliograph.base.errors import InvalidRequest
from heliograph.entry.http import JSON, failed, new_request_id


class Protocol(HttpToolsProtocol):
    """uvicorn's, with our 400 in place of its line of text."""

    def send_400_response(self, msg: str) -> None:
        request_id = new_request_id()
        refusal = InvalidRequest("This is no HTTP request that can be read.", reason="invalid_http")
        _, more, body = failed(refusal, request_id, "unknown")
        headers = [JSON, (b"x-request-id", request_id.encode()), (b"content-length", b"%d" % len(body)), (b"connection", b"close"), *more]
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + b"".join(b"%b: %b\r\n" % header for header in headers) + b"\r\n" + body)
        self.transport.close()
