"""Moves credits between a partner and its customer."""

from typing import Any, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import wallet
from heliograph.accounts import text_of_id
from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.connect.request import CreditsRequest
from heliograph.wallet import daily_cap, ledger


class Moved(NamedTuple):
    """Reports a move of credits. `transaction_id` is raw; it is None in sandbox, which has no
    ledger. The two balances are those after the move.
    """

    transaction_id: str | None
    customer_id: str
    credits: int
    customers_credits: int
    partners_credits: int
    reference: str | None
    at_ms: int


def move_credits(
    tx: Connection,
    partner_id: str,
    customer_id: str,
    move: CreditsRequest,
    *,
    sandbox: bool,
    now_ms: int,
) -> Moved:
    """Moves credits to the customer, or back; both ids are raw, and the caller knows whose customer
    it is. In sandbox nobody pays.

    Raises InsufficientCredits rather than leave either below zero, InvalidRequest above what a
    wallet can hold, DailyCapReached.
    """
    if sandbox:
        after = wallet.change_sandbox_credits(tx, customer_id, move.credits).visible_figures
        return Moved(
            None,
            customer_id,
            move.credits,
            customers_credits=after.sms_credits,
            partners_credits=wallet.wallet_of(tx, partner_id).sms_credits,
            reference=move.reference,
            at_ms=now_ms,
        )
    text_id = text_of_id(customer_id, is_customer=True)
    if move.credits > 0:
        entry = wallet.transfer(
            tx,
            partner_id,
            customer_id,
            credits=move.credits,
            description=f"Connect: to {text_id}",
            reference=move.reference,
        )
    else:
        entry = wallet.transfer(
            tx,
            customer_id,
            partner_id,
            credits=-move.credits,
            description=f"Connect: back from {text_id}",
            reference=move.reference,
        )
    daily_cap.count_moved(tx, partner_id, customer_id, move.credits, entry.created_at_ms)
    givers, takers = entry.credits_after, entry.counterpart_credits_after
    assert takers is not None
    customers, partners = (takers, givers) if move.credits > 0 else (givers, takers)
    return Moved(
        entry.id,
        customer_id,
        move.credits,
        customers_credits=customers,
        partners_credits=partners,
        reference=entry.reference,
        at_ms=entry.created_at_ms,
    )


def as_record(moved: Moved, *, sandbox: bool) -> dict[str, Any]:
    """Returns the fields of the answer to POST /connect/customers/{id}/credits."""
    return {
        "transaction_id": None
        if moved.transaction_id is None
        else ids.text_of_raw(ledger.ID_PREFIX, moved.transaction_id),
        "customer_id": text_of_id(moved.customer_id, is_customer=True),
        "credits": moved.credits,
        "sms_credits": moved.customers_credits,
        "credits_remaining": moved.partners_credits,
        "reference": moved.reference,
        "sandbox": sandbox,
        "created_at": rfc3339(moved.at_ms),
    }
