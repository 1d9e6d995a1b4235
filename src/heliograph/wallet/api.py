"""Serves the endpoints GET /balance, /wallet/balance and /wallet/transactions."""

from heliograph.base.paging import page_body, read_page, read_span
from heliograph.database.database import Database
from heliograph.keys import acting_for, customer_asked_for
from heliograph.requests import ApiResponse, Call, Endpoint
from heliograph.wallet import account_ledger
from heliograph.wallet.account_ledger import TRANSACTIONS_LIMIT_MAX
from heliograph.wallet.ledger import as_record
from heliograph.wallet.money import to_number
from heliograph.wallet.tables import ENTRY_TYPES
from heliograph.wallet.wallet import wallet_of


def endpoints(db: Database) -> list[Endpoint]:
    """Returns the endpoints of balances and of the ledger."""

    def balance(call: Call) -> ApiResponse:
        customer_id = customer_asked_for(call.principal, call.query)
        call.query.finish()
        with db.read() as tx:
            wallet = wallet_of(tx, acting_for(tx, call.principal, customer_id))
        money = {
            "balance": to_number(wallet.visible_figures.balance_minor, wallet.currency),
            "currency": wallet.currency,
        }
        return ApiResponse(
            {
                "wallet": money,
                "sms_credits": wallet.visible_figures.sms_credits,
                "sandbox": call.principal.sandbox,
            }
        )

    def transactions(call: Call) -> ApiResponse:
        customer_id = customer_asked_for(call.principal, call.query)
        wanted = read_page(call.query, most=TRANSACTIONS_LIMIT_MAX)
        span = read_span(call.query)
        entry_type = call.query.choice("type", ENTRY_TYPES)
        call.query.finish()
        with db.read() as tx:
            account_id = acting_for(tx, call.principal, customer_id)
            # the ledger holds what was paid; nothing is in sandbox (docs/api.md, "Sandbox")
            entries = (
                []
                if call.principal.sandbox
                else account_ledger.page(tx, account_id, wanted, span, entry_type)
            )
        return ApiResponse(page_body(entries, wanted, lambda entry: entry.id, as_record))

    return [
        Endpoint("GET", "/balance", "wallet.read", handle_in_thread=balance),
        Endpoint("GET", "/wallet/balance", "wallet.read", handle_in_thread=balance),
        Endpoint("GET", "/wallet/transactions", "wallet.read", handle_in_thread=transactions),
    ]
