"""Lists what the plugins of an account's sites have told, as the account sees it: newest first,
filtered and page by page.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.errors import NotFound
from heliograph.base.forms import Query
from heliograph.base.paging import PageWanted, Span, first_id_of, read_span
from heliograph.database.reads import records_of
from heliograph.plugin.logs import LogEntry
from heliograph.plugin.site import ID_PREFIX, Site
from heliograph.plugin.tables import site_events, site_logs, sites

# One page that asks for events of one name looks through so many of the site, 30 ms; then it ends
# early, and its cursor goes on.
EVENTS_LOOKED_AT_MAX: Final = 20_000
WORD_MAX: Final = 64  # characters of an event's name


class SiteEvent(NamedTuple):
    """Describes an event that a plugin told. Ids are raw; `payload` and `meta` are JSON objects."""

    id: str
    site_id: str
    event: str
    payload: str
    meta: str | None
    created_at_ms: int


class ActivityFilters(NamedTuple):
    """Says what a list is narrowed to; a field that is None narrows nothing."""

    event: str | None
    status: str | None
    span: Span


class EventsPage(NamedTuple):
    """Holds a page of events. `next_before` is the raw id where the next page begins, or None on
    the last page.
    """

    events: list[SiteEvent]
    next_before: str | None


def read_filters(query: Query) -> ActivityFilters:
    """Reads all filters. What is wrong is added to the query's errors."""
    return ActivityFilters(
        query.text("event", most=WORD_MAX),
        query.text("status", most=WORD_MAX),
        read_span(query),
    )


def site_of(tx: Connection, account_id: str, site_text_id: str) -> Site:
    """Returns an account's site of either mode. Raises NotFound, the same for another account's
    and for none.
    """
    raw = ids.raw_of_text(ID_PREFIX, site_text_id)
    row = tx.execute(
        sa.select(sites).where(sites.c.id == raw, sites.c.account_id == account_id)
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such site.")
    return Site(**row._asdict())


def last_heard(tx: Connection, found: Sequence[Site]) -> dict[str, int]:
    """Returns when each site's plugin last saved a key or reported a text, by raw id."""
    newest = (
        sa.select(site_logs.c.created_at_ms)
        .where(site_logs.c.site_id == sites.c.id)
        .order_by(site_logs.c.id.desc())
        .limit(1)
        .correlate(sites)
        .scalar_subquery()
        .label("told_ms")
    )
    rows = tx.execute(
        sa.select(sites.c.id, sites.c.updated_at_ms, newest).where(
            sites.c.id.in_([site.id for site in found])
        )
    )
    return {row.id: max(row.updated_at_ms, row.told_ms or 0) for row in rows}


def site_log(
    tx: Connection, site: Site, wanted: PageWanted, filters: ActivityFilters
) -> list[LogEntry]:
    """Returns at most `limit` + 1 log entries of a site: the one too many tells that there is a
    next page.
    """
    query = sa.select(site_logs).where(
        site_logs.c.site_id == site.id, *_bounds(site_logs, wanted.before, filters)
    )
    if filters.status is not None:
        query = query.where(site_logs.c.status == filters.status)
    rows = tx.execute(query.order_by(site_logs.c.id.desc()).limit(wanted.limit + 1))
    return records_of(LogEntry, rows)


def site_events_page(
    tx: Connection, site: Site, wanted: PageWanted, filters: ActivityFilters
) -> EventsPage:
    """Returns a page of a site's events. It may hold fewer than `limit` and still have a next
    one.
    """
    ids_wanted = site_event_ids(site, wanted, filters).limit(wanted.limit + 1)
    found = tx.execute(ids_wanted).scalars().all()
    on_page = found[: wanted.limit]
    rows = tx.execute(
        sa.select(site_events)
        .where(site_events.c.id.in_(on_page))
        .order_by(site_events.c.id.desc())
    )
    events = records_of(SiteEvent, rows)
    if len(found) > wanted.limit:
        return EventsPage(events, on_page[-1])
    if filters.event is None:
        return EventsPage(events, None)
    last = _looked_at(site, wanted, filters).offset(EVENTS_LOOKED_AT_MAX - 1).limit(1)
    return EventsPage(events, tx.execute(last).scalar())


def site_event_ids(site: Site, wanted: PageWanted, filters: ActivityFilters) -> Any:
    """Returns the query of the ids of a site's events, newest first. It reads no payload, and no
    event of another site: a payload has up to 64 KiB, and is read for the page only.
    """
    looked_at = _looked_at(site, wanted, filters).limit(EVENTS_LOOKED_AT_MAX).subquery()
    query = sa.select(looked_at.c.id).order_by(looked_at.c.id.desc())
    return query if filters.event is None else query.where(looked_at.c.event == filters.event)


def _looked_at(site: Site, wanted: PageWanted, filters: ActivityFilters) -> sa.Select[Any]:
    return (
        sa.select(site_events.c.id, site_events.c.event)
        .where(
            site_events.c.site_id == site.id,
            *_bounds(site_events, wanted.before, filters._replace(event=None)),
        )
        .order_by(site_events.c.id.desc())
    )


def _bounds(
    table: sa.Table, before: str | None, filters: ActivityFilters
) -> list[sa.ColumnElement[bool]]:
    """Returns what the rows of a list keep. Their ids begin with their times."""
    bounds: list[Any] = []
    if before is not None:
        bounds.append(table.c.id < before)
    if filters.event is not None:
        bounds.append(table.c.event == filters.event)
    if filters.span.since_ms is not None:
        bounds.append(table.c.id >= first_id_of(filters.span.since_ms))
    if filters.span.until_ms is not None:
        bounds.append(table.c.id < first_id_of(filters.span.until_ms))
    return bounds
