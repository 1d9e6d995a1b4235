"""Makes the event `wallet.low_balance` (docs/api.md, "Low balance")."""

from heliograph.wallet.money import to_number
from heliograph.wallet.wallet import Figures, Thresholds
from heliograph.webhooks import LOW_BALANCE, Event, Listeners


def low_balance(
    listeners: Listeners,
    account_id: str,
    figure: str,
    after: Figures,
    currency: str,
    thresholds: Thresholds,
    now_ms: int,
) -> Event:
    """Returns the event. `figure` says which one is low, "credits" or "balance". It is always of
    live figures: in sandbox nothing is paid.
    """
    amount_minor = thresholds.amount_minor
    threshold = (
        thresholds.credits
        if figure == "credits"
        else None
        if amount_minor is None
        else to_number(amount_minor, currency)
    )
    return Event(
        account_id,
        False,
        LOW_BALANCE,
        now_ms,
        {
            "account_id": listeners.text_id_of(account_id),
            "kind": figure,
            "sms_credits": after.sms_credits,
            "wallet": {"balance": to_number(after.balance_minor, currency), "currency": currency},
            "threshold": threshold,
        },
    )
