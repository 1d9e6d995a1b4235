"""Says how much an account may store in a day, and has stored today, of each kind."""

from typing import NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import Account
from heliograph.accounts.quotas import (
    QuotaUsage,
    StoredKind,
    quota_holder_of,
    quotas_of,
    used_today,
)
from heliograph.wallet.wallet import keys_counted


class UsedQuota(NamedTuple):
    """Holds a quota, the account whose quota it is, and how many octets were stored today in live
    mode and in sandbox.
    """

    holder: Account
    quota: QuotaUsage
    live: int
    sandbox: int


def used_quotas(tx: Connection, account: Account, now_ms: int) -> list[UsedQuota]:
    """Returns the quotas that hold for an account, in the order of `StoredKind`. What a Connect
    customer stores is counted with its partner's, but for the Idempotency-Keys that its own key
    uses. Raises NotFound.
    """
    counted = accounts.by_id(tx, quota_holder_of(tx, account.id))
    used = used_today(tx, counted.id, now_ms)
    keys = keys_counted(tx, account.id)
    used |= {
        (StoredKind.KEYS, sandbox): keys.used(now_ms, sandbox=sandbox) for sandbox in (False, True)
    }
    own = next(usage for usage in quotas_of(tx, account.id) if usage.kind is StoredKind.KEYS)
    return [
        UsedQuota(
            account if usage is own else counted,
            usage,
            live=used.get((usage.kind, False), 0),
            sandbox=used.get((usage.kind, True), 0),
        )
        for usage in (own if each.kind is own.kind else each for each in quotas_of(tx, counted.id))
    ]
