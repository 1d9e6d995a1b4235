"""Shows the sites that are linked to an account: a list, and what the plugin of one has told."""

import json
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import plugin
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Query
from heliograph.base.paging import read_page
from heliograph.plugin import LogEntry, Site, SiteEvent
from heliograph.portal.list_page import list_page, older_query
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page
from heliograph.portal.span_fields import as_api_query, as_form_fields
from heliograph.portal.visit import Visit

SHOWS: Final = ("log", "events")
FIELDS: Final = ("event", "status", "since", "until")
# characters of a payload in the list; all of it is in the API's answer to whoever sent it
PAYLOAD_SHOWN_MAX: Final = 2_000


class SiteActivity(NamedTuple):
    """Holds one page of what a plugin has told, and the query of the next."""

    log: list[LogEntry]
    events: list[SiteEvent]
    older: str | None


NOTHING: Final = SiteActivity([], [], None)


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the account's sites of both modes, newest first."""
    query = Query(request.sent.query)
    wanted = read_page(query)
    query.finish()
    found = plugin.sites_page(
        tx, limit=wanted.limit + 1, account_id=visit.account.id, before_id=wanted.before
    )
    on_page = list_page(request, wanted, found, lambda site: site.id)
    last_heard = plugin.last_heard(tx, on_page.rows)
    return page(
        "sites.html",
        request,
        visit=visit,
        sites=[(plugin.text_id(site), site, last_heard[site.id]) for site in on_page.rows],
        older=on_page.older,
    )


def show_site(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows one site, and its log or its events that the query selects, newest first."""
    site = plugin.site_of(tx, visit.account.id, request.path["site"])
    typed = dict(request.sent.query)
    activity = NOTHING
    errors: list[FieldError] = []
    try:
        activity = _select(tx, request, visit, site)
    except InvalidRequest as refused:
        errors = list(refused.fields)
    return page(
        "site.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        site=site,
        id=plugin.text_id(site),
        heard_ms=plugin.last_heard(tx, [site])[site.id],
        log=activity.log,
        events=[(event, _payload(event)) for event in activity.events],
        older=activity.older,
        typed=as_form_fields(typed, visit),
        show=typed.get("show") if typed.get("show") in SHOWS else SHOWS[0],
        kept=urlencode({name: typed[name] for name in FIELDS if typed.get(name)}),
        is_filtered=any(typed.get(name) for name in FIELDS),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
    )


def _select(tx: Connection, request: PageRequest, visit: Visit, site: Site) -> SiteActivity:
    """Returns the activity of a site that the query asks for. Raises InvalidRequest."""
    query = Query(as_api_query(request.sent.query, visit))
    wanted = read_page(query)
    filters = plugin.read_filters(query)
    show = query.choice("show", SHOWS) or SHOWS[0]
    query.finish()
    if show == "events":
        found = plugin.site_events_page(tx, site, wanted, filters)
        return SiteActivity([], found.events, older_query(request, found.next_before))
    log = plugin.site_log(tx, site, wanted, filters)
    on_page = list_page(request, wanted, log, lambda entry: entry.id)
    return SiteActivity(on_page.rows, [], on_page.older)


def _payload(event: SiteEvent) -> str:
    """Returns the beginning of what an event carries, for people to read."""
    payload: Any = json.loads(event.payload)
    text = json.dumps(payload, ensure_ascii=False, indent=2)
    return text if len(text) <= PAYLOAD_SHOWN_MAX else f"{text[:PAYLOAD_SHOWN_MAX]}…"
