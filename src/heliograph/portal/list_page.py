"""Shows one page of a list, newest first, and the link to what is older."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.paging import PageWanted, cursor_at
from heliograph.portal.page_request import PageRequest

Row = TypeVar("Row")


class ListPage(NamedTuple, Generic[Row]):
    """Holds the rows of a page, and the query of the next page, if there is one."""

    rows: list[Row]
    older: str | None


def with_one_more_row(wanted: PageWanted) -> PageWanted:
    """Returns what to ask for: the row beyond the page tells that there is a next one."""
    return wanted._replace(limit=wanted.limit + 1)


def list_page(
    request: PageRequest, wanted: PageWanted, found: Sequence[Row], id_of: Callable[[Row], str]
) -> ListPage[Row]:
    """Returns the page that is wanted, out of what was found for `with_one_more_row(wanted)`.
    `id_of` returns the raw id by which the list is sorted.
    """
    rows = list(found[: wanted.limit])
    before = id_of(rows[-1]) if len(found) > wanted.limit else None
    return ListPage(rows, older_query(request, before))


def page_or_errors(
    select: Callable[[], ListPage[Row]],
) -> tuple[ListPage[Row], list[FieldError]]:
    """Returns the page that `select` returns; or an empty one, and the fields of the query that it
    refuses by InvalidRequest.
    """
    try:
        return select(), []
    except InvalidRequest as refused:
        return ListPage([], None), list(refused.fields)


def older_query(request: PageRequest, before: str | None) -> str | None:
    """Returns the query of the next page: the same one, below the raw id `before`. It returns None
    if there is no next page.
    """
    if before is None:
        return None
    fields = [(name, value) for name, value in request.sent.query if value and name != "cursor"]
    return f"?{urlencode([*fields, ('cursor', cursor_at(before))])}"
