"""Lists are newest first and paged by key (docs/api.md, "Lists and paging"), so that rows added
meanwhile neither repeat nor vanish.

Ids are made in order of time. So "newest first" is the primary key downward, and a page goes on
below the last id of the one before.
"""

import base64
import binascii
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from heliograph.base.errors import FieldError
from heliograph.base.forms import Query

LIMIT_DEFAULT: Final = 50
LIMIT_MAX: Final = 1_000
# An id is made when its request arrives, and a row's time when its batch is stored, by perhaps
# another clock. Whoever looks for rows of a time by their ids looks around it by so much.
CLOCK_SLACK_MS: Final = 300_000
_MS_MAX: Final = (1 << 48) - 1  # of a UUIDv7

Row = TypeVar("Row")


class PageWanted(NamedTuple):
    """Says which page of a list is asked for: at most `limit` records whose ids are below `before`.
    `before` is raw; None asks for the newest.
    """

    limit: int
    before: str | None


class Span(NamedTuple):
    """Selects times from `since_ms` up to, but not including, `until_ms`. None leaves that end
    open.
    """

    since_ms: int | None
    until_ms: int | None


ALWAYS: Final = Span(None, None)


def read_page(query: Query, *, most: int = LIMIT_MAX) -> PageWanted:
    """Reads `limit` and `cursor`. What is wrong with them is added to the query's errors."""
    limit = query.integer("limit", default=LIMIT_DEFAULT, least=1, most=most)
    cursor = query.text("cursor")
    before = None if cursor is None else _id_of(cursor)
    if cursor is not None and before is None:
        query.errors.append(FieldError("cursor", "must be the next_cursor of an earlier page"))
    return PageWanted(limit, before)


def paging_fields(fields: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the fields of a query that `read_page` reads."""
    return [(name, value) for name, value in fields if name in ("limit", "cursor")]


def read_span(query: Query) -> Span:
    """Reads `since` and `until`. What is wrong with them is added to the query's errors."""
    return Span(query.moment_ms("since"), query.moment_ms("until"))


def page_body(
    rows: Sequence[Row],
    wanted: PageWanted,
    id_of: Callable[[Row], str],
    record: Callable[[Row], dict[str, Any]],
) -> dict[str, Any]:
    """Returns the answer of a list. `rows` were asked for with one more than `wanted.limit`:
    that one tells whether there is a next page.
    """
    page_rows = rows[: wanted.limit]
    return {
        "data": [record(row) for row in page_rows],
        "next_cursor": cursor_at(id_of(page_rows[-1])) if len(rows) > wanted.limit else None,
    }


def cursor_at(raw_id: str) -> str:
    """Returns the cursor of the page below this id. It is opaque to clients."""
    return base64.urlsafe_b64encode(bytes.fromhex(raw_id)).rstrip(b"=").decode()


def _id_of(cursor: str) -> str | None:
    try:
        octets = base64.b64decode(cursor + "==", altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
    return octets.hex() if len(octets) == 16 and cursor_at(octets.hex()) == cursor else None


def first_id_of(at_ms: int) -> str:
    """Returns the lowest id (raw) that can be made at a time, so that a range of time is a range of
    the primary key.
    """
    return f"{min(max(at_ms, 0), _MS_MAX) << 80:032x}"
