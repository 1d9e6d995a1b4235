"""Gives out files of the ledger: the statement of a month, and the entries of an account or of
all.
"""

from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import Query
from heliograph.base.paging import ALWAYS, Span
from heliograph.base.short_texts import invalid_field
from heliograph.console.money_pages.months import month_of
from heliograph.console.operator_visit import OperatorVisit, operator_visit_of
from heliograph.console.rendering import page
from heliograph.portal.export import pieces
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, Download
from heliograph.wallet import files as wallet_files
from heliograph.wallet.files import (
    BeancountLedger,
    CsvLedger,
    ExportWanted,
    StatementHolder,
    lines_of_statement,
    pdf_of_statement,
    read_pieces,
)

FORMATS: Final = ("csv", "beancount")


def statement(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns the statement of a month as CSV. Raises NotFound, InvalidRequest."""
    account = accounts.with_text_id(tx, request.path["account"])
    month_statement = wallet_files.statement(tx, account.id, month_of(request))
    name = f"statement-{accounts.text_id(account)}-{month_statement.month}.csv"
    return Download(name, iter([wallet_files.statement_file(month_statement)]))


def statement_pdf(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns the statement of a month as PDF. Raises NotFound, InvalidRequest."""
    account = accounts.with_text_id(tx, request.path["account"])
    holder = StatementHolder(accounts.text_id(account), account.name)
    month_statement = wallet_files.statement(tx, account.id, month_of(request))
    lines = lines_of_statement(tx, account.id, month_statement)
    name = f"statement-{holder.text_id}-{month_statement.month}.pdf"
    return Response(
        pdf_of_statement(holder, month_statement, lines, request.now_ms),
        headers={**HEADERS, "content-disposition": f'attachment; filename="{name}"'},
        media_type="application/pdf",
    )


def show_form(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Asks which entries a file shall have, and shows again what was wrong."""
    query = Query(request.sent.query)
    typed = {name: (query.text(name) or "") for name in ("account", "month", "format")}
    query.finish()
    return _render_form(request, visit, typed, ())


def export(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Returns the entries that the query selects as a file, oldest first. What is wrong with it
    is shown at its field.
    """
    query = Query(request.sent.query)
    typed = {name: (query.text(name) or "").strip() for name in ("account", "month", "format")}
    query.finish()
    try:
        wanted = _wanted(tx, typed)
    except InvalidRequest as wrong:
        return _render_form(request, visit, typed, wrong.fields)
    ledger_format = BeancountLedger(wanted) if typed["format"] == "beancount" else CsvLedger()
    read_piece = read_pieces(wanted, ledger_format)
    lines = pieces(request, ledger_format.head(), read_piece, operator_visit_of)
    whose = typed["account"] and "-of-an-account"
    month = typed["month"] and f"-{typed['month']}"
    return Download(f"ledger{whose}{month}.{typed['format'] or 'csv'}", lines)


def _wanted(tx: Connection, typed: dict[str, str]) -> ExportWanted:
    """Reads which entries the form asks for. Raises InvalidRequest."""
    if typed["format"] not in ("", *FORMATS):
        raise invalid_field("format", f"must be one of {', '.join(FORMATS)}")
    span: Span = ALWAYS
    if typed["month"]:
        span = wallet_files.read_month(typed["month"])
    if not typed["account"]:
        return ExportWanted(span)
    try:
        return ExportWanted(span, accounts.find(tx, typed["account"]).id)
    except NotFound as none:
        raise invalid_field("account", f"was not found: {none}") from none


def _render_form(
    request: PageRequest,
    visit: OperatorVisit,
    typed: dict[str, str],
    errors: "tuple[FieldError, ...] | list[FieldError]",
) -> Response:
    return page(
        "ledger_files.html",
        request,
        visit,
        status=400 if errors else 200,
        typed=typed,
        formats=FORMATS,
        errors={error.field: error.message for error in errors},
    )
