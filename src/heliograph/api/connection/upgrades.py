"""A request that asks for another protocol (`Upgrade`) may have a body.

httptools takes all that follows such a head for the other protocol: the body would be lost, or read
as the next request, which is how requests are smuggled past a proxy. The upgrade is not granted
here, so the body is one like any other (RFC 9110, 7.8): a parser of its own reads it, and goes on.
"""

from typing import Final, Protocol

import httptools

from heliograph.api.bodies import Headers

FRAMING: Final = (b"content-length", b"transfer-encoding")


class Reader(Protocol):
    """Is told by a parser what it reads."""

    def on_message_begin(self) -> None: ...
    def on_url(self, url: bytes) -> None: ...
    def on_header(self, name: bytes, value: bytes) -> None: ...
    def on_headers_complete(self) -> None: ...
    def on_body(self, body: bytes) -> None: ...
    def on_message_complete(self) -> None: ...


def framing_of(headers: Headers) -> Headers:
    """Returns the fields that say where the body ends; none when there is no body. One of no octets
    (`0`, `00`) is a body too.
    """
    return [(name, value) for name, value in headers if name in FRAMING]


def body_parser(reader: Reader, framing: Headers) -> httptools.HttpRequestParser:
    """Returns a parser that has read a head with these fields, and tells the reader what follows
    it. If nothing does, it tells the reader so at once.

    Raises httptools.HttpParserError.
    """
    parser = httptools.HttpRequestParser(_HeadSkipped(reader))
    parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
    parser.feed_data(
        b"POST / HTTP/1.1\r\n" + b"".join(b"%b: %b\r\n" % field for field in framing) + b"\r\n"
    )
    return parser


class _HeadSkipped:
    """Tells the reader all that a parser reads, except for the first head."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._is_behind = False
        self.on_body = reader.on_body
        self.on_message_complete = reader.on_message_complete

    def on_message_begin(self) -> None:
        if self._is_behind:
            self._reader.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if self._is_behind:
            self._reader.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_behind:
            self._reader.on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._is_behind:
            self._reader.on_headers_complete()
        self._is_behind = True
