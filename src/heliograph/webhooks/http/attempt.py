"""Describes how one attempt ended. It is not in `post.py`, so that others can import it without
loading an HTTP client.
"""

from typing import Final, Literal, NamedTuple

Reason = Literal[
    "refused_address",
    "dns",
    "connect",
    "tls",
    "timeout",
    "closed",
    "bad_answer",
    "not_posted",
    "no_files",
]
# this process can open no connection: no failure of the receiver's, and never stored
NO_FILES: Final[Reason] = "no_files"


class HttpResponse(NamedTuple):
    """Says that a response came whole, or that its first 64 KiB did. A redirect is a response like
    any other; it is not followed.
    """

    status: int
    seconds: float
    text: str  # of its first KiB; without U+0000, and what is not UTF-8 replaced
    retry_after: str | None  # as it was sent

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class PostFailure(NamedTuple):
    """Says that there was no response, or not the whole of it."""

    reason: Reason
    detail: str  # one line, for people
    seconds: float
