"""Shows the page of reports: some days of an account in figures, and its tables as files."""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Query
from heliograph.messages.reports.rollup_reports import day_of, within_s
from heliograph.portal.languages import _
from heliograph.portal.page_request import PageRequest
from heliograph.portal.plots import DAY, plot_of
from heliograph.portal.rendering import Download, page
from heliograph.portal.report_pages import report_tables
from heliograph.portal.report_pages.report_query import (
    RANGES,
    USUAL,
    ReportQuery,
    read_report_query,
)
from heliograph.portal.visit import Visit

SHOWN_MAX: Final = 20  # lines of a table on the page; its file has more
DAYS: Final = "days"
DATES: Final = ("from", "to")
FIELDS: Final = ("mode", "days", *DATES)


def show_report(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the report that the query asks for. If something is wrong with the query, the page says
    so at the field, and shows no figures.
    """
    query = Query(request.sent.query)
    report_query = read_report_query(query, visit, request.now_ms)
    typed = dict(request.sent.query)
    errors: list[FieldError] = []
    try:
        query.finish()
    except InvalidRequest as refused:
        errors = list(refused.fields)
    values: dict[str, Any] = {} if errors else _figures(tx, visit, report_query)
    return page(
        "reports.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        wanted=report_query,
        today=day_of(request.now_ms, report_query.zone),
        typed={
            "from": str(report_query.first),
            "to": str(report_query.last),
            "mode": report_query.mode,
        }
        | typed,
        chosen=None if typed.get("from") or typed.get("to") else typed.get("days") or USUAL,
        ranges=RANGES,
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in DATES],
        report=values,
    )


def download_table(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Returns one table of a report as a CSV file. Raises InvalidRequest."""
    query = Query(request.sent.query)
    wanted = read_report_query(query, visit, request.now_ms)
    table = query.choice("table", report_tables.TABLES) or DAYS
    query.finish()
    text = "".join(report_tables.file_of(table, tx, visit, wanted, request.now_ms))
    return Download(f"{table}-{wanted.first}-{wanted.last}.csv", _yield_text(text))


def _yield_text(text: str) -> Iterator[str]:
    yield text


def _figures(tx: Connection, visit: Visit, wanted: ReportQuery) -> dict[str, Any]:
    report = report_tables.read_report(tx, visit, wanted)
    if report_tables.is_empty(report):
        return {}
    asked = {"mode": wanted.mode, "from": wanted.first, "to": wanted.last}
    return {
        "total": report.total,
        "half": within_s(report.delays, 0.5),
        "most": within_s(report.delays, 0.95),
        "half_before": within_s(report.delays_before, 0.5),
        "most_before": within_s(report.delays_before, 0.95),
        "plot": plot_of("days", _("By day"), DAY, report.days),
        "outcomes": report_tables.status_lines(report.total),
        "tables": [
            ("countries", _("By country"), _("Country"), report_tables.countries(report)),
            ("senders", _("By sender"), _("Sender"), report_tables.senders(report)),
            (
                "campaigns",
                _("By campaign"),
                _("Campaign"),
                report_tables.of_campaigns(tx, visit, report),
            ),
        ],
        "shown_max": SHOWN_MAX,
        "files": {
            table: f"{visit.home}/reports/file?{urlencode(asked | {'table': table})}"
            for table in report_tables.TABLES
        },
    }
