"""The credits and the money of an account: what it has, and every entry of its ledger."""

from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import wallet
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.base.forms import Query
from heliograph.base.paging import read_page, read_span
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import next_page, page
from heliograph.portal.visit import Visit
from heliograph.wallet import ENTRY_TYPES, TRANSACTIONS_LIMIT_MAX, Entry

FIELDS: Final = ("type", "since", "until")


def ledger(tx: Connection, asking: PageRequest, visit: Visit) -> Response:
    """Shows the wallet, and the entries that the query selects, newest first. The query is read
    like that of GET /wallet/transactions.
    """
    held = wallet.wallet_of(tx, visit.account.id)
    found: list[Entry] = []
    errors: list[FieldError] = []
    older: str | None = None
    try:
        found, older = _selected(tx, asking, visit)
    except InvalidRequest as refused:
        errors = list(refused.fields)
    typed = dict(asking.sent.query)
    return page(
        "money.html",
        asking,
        status=400 if errors else 200,
        visit=visit,
        sms_credits=held.shown.sms_credits,
        money=wallet.to_text(held.shown.balance_minor, held.currency),
        entries=[(entry, wallet.as_record(entry)) for entry in found],
        older=older,
        typed=typed,
        is_filtered=any(typed.get(name) for name in FIELDS),
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        types=ENTRY_TYPES,
    )


def _selected(tx: Connection, asking: PageRequest, visit: Visit) -> tuple[list[Entry], str | None]:
    """Returns one page of entries, and the query of the next. Raises InvalidRequest."""
    query = Query(asking.sent.query)
    wanted = read_page(query, most=TRANSACTIONS_LIMIT_MAX)
    span = read_span(query)
    entry_type = query.choice("type", ENTRY_TYPES)
    query.finish()
    found = wallet.history(tx, visit.account.id, wanted, span, entry_type)
    shown = found[: wanted.limit]
    older = next_page(asking.sent.query, shown[-1].id) if len(found) > wanted.limit else None
    return shown, older
