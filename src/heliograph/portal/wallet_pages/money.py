"""Shows the credits and the money of an account: what it has, and every entry of its ledger."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlencode

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import connect, wallet
from heliograph.accounts import text_of_id
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Query
from heliograph.base.paging import PageWanted, Span, read_page, read_span
from heliograph.portal.export import pieces
from heliograph.portal.list_page import ListPage, list_page
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import Download, page
from heliograph.portal.span_fields import as_api_query, as_form_fields
from heliograph.portal.visit import Visit
from heliograph.portal.wallet_pages.levels_plot import levels_plot
from heliograph.users import Right
from heliograph.wallet import ENTRY_TYPES, Entry, account_ledger
from heliograph.wallet.files import ledger_file
from heliograph.wallet.ledger import REFERENCE_MAX, as_record

TRANSFERS: Final = ("transfer_in", "transfer_out")
FIELDS: Final = ("type", "reference", "since", "until")


def show_ledger(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the wallet, and the entries that the query selects, newest first. The query is read
    like that of GET /wallet/transactions.
    """
    held = wallet.wallet_of(tx, visit.account.id)
    found = ListPage[Entry]([], None)
    errors: list[FieldError] = []
    try:
        found = _select(tx, request, visit)
    except InvalidRequest as refused:
        errors = list(refused.fields)
    typed = dict(request.sent.query)
    return page(
        "money.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        wallet=held,
        plot=levels_plot(tx, visit, request.now_ms),
        may_buy=visit.may(Right.MONEY) and not visit.account.sandbox,
        file_query=urlencode({name: typed[name] for name in FIELDS if typed.get(name)}),
        entries=[(entry, as_record(entry)) for entry in found.rows],
        customers=_customers(tx, visit, found.rows),
        older=found.older,
        typed=as_form_fields(typed, visit),
        is_filtered=any(typed.get(name) for name in FIELDS),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        types=ENTRY_TYPES,
    )


def export(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Returns the entries that the query selects as a file, newest first. Raises InvalidRequest."""
    query = Query(as_api_query(request.sent.query, visit))
    filters = _filters(query)
    query.finish()

    def read_lines(tx: Connection, before: str | None) -> tuple[str, str | None]:
        wanted = PageWanted(ledger_file.PAGE, before)
        found = account_ledger.page(tx, visit.account.id, wanted, *filters)
        entries = found[: wanted.limit]
        return ledger_file.lines(entries), entries[-1].id if len(found) > wanted.limit else None

    return Download("ledger.csv", pieces(request, ledger_file.first_line(), read_lines))


class _Counterpart(NamedTuple):
    """Holds a customer that an entry moves credits or money to or from. `id` is in text form."""

    id: str
    name: str


def _customers(tx: Connection, visit: Visit, entries: Sequence[Entry]) -> dict[str, _Counterpart]:
    """Returns the customers of transfers, by the ids of the entries."""
    if not visit.is_partner:
        return {}
    others = {
        entry.id: entry.counterpart_id
        if entry.account_id == visit.account.id
        else entry.account_id  # whoever gives writes the entry
        for entry in entries
        if entry.type in TRANSFERS
    }
    names = connect.names_of(tx, visit.account.id, set(others.values()))
    return {
        entry_id: _Counterpart(text_of_id(other, is_customer=True), names[other])
        for entry_id, other in others.items()
        if other in names
    }


class _LedgerFilters(NamedTuple):
    """Says which entries of a ledger are asked for."""

    span: Span
    type: str | None
    reference: str | None


def _filters(query: Query) -> _LedgerFilters:
    """Reads all filters. What is wrong is added to the query's errors."""
    return _LedgerFilters(
        read_span(query),
        query.choice("type", ENTRY_TYPES),
        query.text("reference", most=REFERENCE_MAX),
    )


def _select(tx: Connection, request: PageRequest, visit: Visit) -> ListPage[Entry]:
    """Returns the page of ledger entries that the query asks for. Raises InvalidRequest."""
    query = Query(as_api_query(request.sent.query, visit))
    wanted = read_page(query, most=account_ledger.TRANSACTIONS_LIMIT_MAX)
    filters = _filters(query)
    query.finish()
    found = account_ledger.page(tx, visit.account.id, wanted, *filters)
    return list_page(request, wanted, found, lambda entry: entry.id)
