"""Sends a list of a page as a file, which is made while it is sent."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from sqlalchemy.engine import Connection

from heliograph.base import clock
from heliograph.portal.page_request import PageRequest
from heliograph.portal.visit import visit_of

# returns the lines of the rows below a raw id, and the id where the next ones begin; None ends it
ReadLines: TypeAlias = Callable[[Connection, str | None], tuple[str, str | None]]


def pieces(
    request: PageRequest,
    first_line: str,
    read: ReadLines,
    may_see: Callable[[Connection, PageRequest], object] = visit_of,
) -> Iterator[str]:
    """Yields the lines of a file, each piece of a transaction of its own that sees one moment, and
    only as long as the visitor may still see them: `may_see` raises otherwise. Raises NotSignedIn
    and NotFound.
    """
    yield first_line
    before: str | None = None
    while True:
        with request.db.snapshot() as tx:
            may_see(tx, request._replace(now_ms=clock.now_ms()))
            lines, before = read(tx, before)
        yield lines
        if before is None:
            return
