"""Prints accounts for commands."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.accounts import Account
    from heliograph.wallet import Wallet


def listed_record(account: "Account", wallet: "Wallet") -> dict[str, Any]:
    """Returns what a list of accounts shows of one."""
    from heliograph.accounts import text_id, text_of_id
    from heliograph.base.clock import rfc3339, rfc3339_or_none
    from heliograph.wallet import money

    low_minor = wallet.low_balance_amount_minor
    return {
        "id": text_id(account),
        "partner_id": account.parent_id and text_of_id(account.parent_id, is_customer=False),
        "name": account.name,
        "country_code": account.country_code,
        "status": account.shown_status,
        "wallet": {
            "balance": money.to_number(wallet.visible_figures.balance_minor, wallet.currency),
            "currency": wallet.currency,
        },
        "sms_credits": wallet.visible_figures.sms_credits,
        "sandbox": account.sandbox,
        "low_balance_credits": wallet.low_balance_credits,
        "low_balance_amount": None
        if low_minor is None
        else money.to_number(low_minor, wallet.currency),
        "max_tier": account.max_tier,
        "countries": account.countries,
        "daily_credits": account.daily_credits,
        "otp_unverified": account.otp_unverified,
        "transactional": account.transactional,
        "time_zone": account.time_zone,
        "created_at": rfc3339(account.created_at_ms),
        "closed_at": rfc3339_or_none(account.closed_at_ms),
    }


def full_record(tx: "Connection", account: "Account") -> dict[str, Any]:
    """Returns what is shown of one account: also who changed its status last, when and why."""
    from heliograph.accounts import status_history
    from heliograph.base.clock import rfc3339
    from heliograph.wallet import wallet_of

    last = status_history.last(tx, account.id)
    why = {
        "status_reason": last and last.reason,
        "status_by": last and last.by,
        "status_since": rfc3339(last.at_ms) if last else None,
    }
    return listed_record(account, wallet_of(tx, account.id)) | why
