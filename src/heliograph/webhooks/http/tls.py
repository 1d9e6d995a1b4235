"""Limits what TLS takes in from a stranger's server beside the response.

A response is bounded by its reader, but of TLS the reader sees the plain text only. A server can
send session tickets, key updates or handshake messages for as long as the connection lasts; this
process would work through them, and nobody would see it. Event loops read TLS through the object
that the context makes (`SSLContext.wrap_bio`), so it is counted there, as it comes.
"""

import ssl
from functools import cache
from typing import Any, Final

# octets: a chain of certificates has 3 to 10 KiB, a long one of large keys 30, and OpenSSL takes
# 100 at most
HANDSHAKE_MAX: Final = 128 * 1_024
# octets of one POST that are not plain text: a few session tickets are 1 KiB, and a record's frame
# is 22 octets
BESIDE_MAX: Final = 16 * 1_024
# octets of the largest record (RFC 8446, 5.2): one that is not yet whole may be plain text
RECORD_MAX: Final = 5 + 16 * 1_024 + 256


class TooManyTlsOctets(ssl.SSLError):
    """The other side sends more than a response needs."""

    reason = "too much came beside the answer"


class CountedTls(ssl.SSLObject):
    """Is one side of a TLS connection. It fails with TooManyTlsOctets if too many octets come in
    that are not plain text. `count_anew` starts the count again for another POST.
    """

    incoming: ssl.MemoryBIO
    _handshake = _overhead = 0

    def count_anew(self) -> None:
        """Starts the count again, because the connection is used for another POST."""
        self._overhead = 0

    def do_handshake(self) -> None:
        """Goes on with the handshake, and counts its octets. Raises TooManyTlsOctets."""
        waiting = self.incoming.pending
        try:
            super().do_handshake()
        finally:
            self._handshake += waiting - self.incoming.pending
            if self._handshake > HANDSHAKE_MAX:
                raise TooManyTlsOctets(ssl.SSL_ERROR_SSL, TooManyTlsOctets.reason)

    # the name that the standard library gave it
    def read(self, len: int = 1024, buffer: Any = None) -> Any:  # noqa: A002
        """Reads what has come, and counts what TLS adds to it. Raises TooManyTlsOctets."""
        waiting, plain = self.incoming.pending, 0
        try:
            got = super().read(len, buffer)
            plain = got if isinstance(got, int) else got.__len__()
            return got
        finally:
            self._overhead += waiting - self.incoming.pending - plain
            if self._overhead > BESIDE_MAX + RECORD_MAX:
                raise TooManyTlsOctets(ssl.SSL_ERROR_SSL, TooManyTlsOctets.reason)


class StrangersTls(ssl.SSLContext):
    """Makes connections to servers whose certificates the system's authorities have
    signed, or those of `ca_file`.
    """

    def wrap_bio(self, incoming: ssl.MemoryBIO, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Notes where the object reads from."""
        made = super().wrap_bio(incoming, *args, **kwargs)
        assert isinstance(made, CountedTls), "strangers_tls says so"
        made.incoming = incoming
        return made


def strangers_tls(ca_file: str | None) -> ssl.SSLContext:
    """Returns how to speak TLS with strangers. `ca_file` names more authorities than the system's.

    All the system's authorities are read, which takes from a tenth of a second to a whole one. So a
    process reads them once, unless there are others beside them.
    """
    return _system_tls() if ca_file is None else _read(ca_file)


@cache
def _system_tls() -> ssl.SSLContext:
    return _read(None)


def _read(ca_file: str | None) -> ssl.SSLContext:
    context = StrangersTls(ssl.PROTOCOL_TLS_CLIENT)
    context.sslobject_class = CountedTls
    context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    context.options |= ssl.OP_NO_RENEGOTIATION  # a server may ask for handshake after handshake
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context
