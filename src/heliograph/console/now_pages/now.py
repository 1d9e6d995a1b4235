"""Shows what is wrong, what passes through, and how carriers and processes are."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import alerts
from heliograph.alerts import AlertKind
from heliograph.base.clock import rfc3339
from heliograph.base.csv.cells import line_of
from heliograph.base.forms import Query
from heliograph.carriers import Carrier, LinkState, setting
from heliograph.carriers.smpp.statuses import meaning_of
from heliograph.console.navigation import NOW
from heliograph.console.now_pages.linked_troubles import linked, linked_to_alerts
from heliograph.console.now_pages.rate_plots import COLUMNS, PLOTTED, cells_of, plots_of
from heliograph.console.now_pages.served_work import works_of
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.monitoring import (
    SPANS,
    PlottedPart,
    PlottedSpan,
    Trouble,
    TroubleKind,
    parts_of,
    situation,
    span_named,
)
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, Download

STATE_WORDS: Final = {
    LinkState.CONNECTING.value: "connecting",
    LinkState.BOUND.value: "bound",
    LinkState.BACKING_OFF.value: "backing off",
    LinkState.REFUSED.value: "refused",
    LinkState.CLOSED.value: "not served",
}
# the situation itself finds these, each in a sentence of its own
FOUND_ANYWAY: Final = (AlertKind.CARRIER_DOWN, AlertKind.WEBHOOK_FAILING)
ALERTS_SHOWN_MAX: Final = 50


class SpanLink(NamedTuple):
    """Describes a link to the plots of a span."""

    name: str
    path: str
    is_shown: bool


def redirect_to_first_page(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Leads to what happens now: it is the first page."""
    return RedirectResponse(NOW, SEE_OTHER, HEADERS)


def show_service(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows how the service does. The page asks for itself again. Raises InvalidRequest."""
    span, at = _span(request), situation(tx, request.now_ms)
    names = {each.carrier.id: each.carrier.name for each in at.carriers}
    return page(
        "now.html",
        request,
        visit,
        at=at,
        troubles=[*map(linked, at.troubles), *map(linked_to_alerts, _of_alerts(tx, at.troubles))],
        state_words=STATE_WORDS,
        window_of=_window_of,
        meaning_of=meaning_of,
        names=names,
        works=works_of(at.processes, names),
        span=span,
        spans=[_link(each, span) for each in SPANS],
        plots=plots_of(parts_of(tx, span, request.now_ms), span),
    )


def show_figures(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the figures that are plotted as a table. Raises InvalidRequest."""
    span = _span(request)
    parts = parts_of(tx, span, request.now_ms)
    return page(
        "now_figures.html",
        request,
        visit,
        span=span,
        spans=[_link(each, span, f"{NOW}/figures") for each in SPANS],
        plotted=PLOTTED,
        rows=[(part.start_ms, cells_of(part)) for part in reversed(parts) if part.rates],
    )


def export(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns the figures that are plotted as a file, oldest first. Raises InvalidRequest."""
    span = _span(request)
    return Download(f"now-{span.name}.csv", _lines(parts_of(tx, span, request.now_ms)))


def _of_alerts(tx: Connection, troubles: list[Trouble]) -> list[Trouble]:
    """Returns what breaks a rule of alerts and is found by that alone, such as a low wallet. A
    queue that is told of is not told of twice.
    """
    of_queues = {
        str(trouble.carrier.id)
        for trouble in troubles
        if trouble.kind is TroubleKind.QUEUE and trouble.carrier is not None
    }
    return [
        Trouble(f"{alert.title}.", f"{alert.remedy} The page Alerts says what was found.")
        for alert in alerts.still_wrong(tx, limit=ALERTS_SHOWN_MAX)
        if alert.kind not in FOUND_ANYWAY
        and not (alert.kind == AlertKind.BACKLOG and alert.subject in of_queues)
    ]


def _span(request: PageRequest) -> PlottedSpan:
    query = Query(request.sent.query)
    named = query.text("span")
    query.finish()
    return span_named(named or "")


def _link(each: PlottedSpan, selected: PlottedSpan, path: str = NOW) -> SpanLink:
    return SpanLink(each.name, f"{path}?span={each.name}", each == selected)


def _window_of(carrier: Carrier) -> int | None:
    """Returns how many submissions a carrier may have unanswered, over all binds of a process."""
    if carrier.type != "smpp":
        return None
    return int(setting(carrier, "window")) * int(setting(carrier, "binds"))


def _lines(parts: list[PlottedPart]) -> Iterator[str]:
    yield line_of(COLUMNS, ",")
    yield "".join(
        line_of((rfc3339(part.start_ms), *cells_of(part)), ",") for part in parts if part.rates
    )
