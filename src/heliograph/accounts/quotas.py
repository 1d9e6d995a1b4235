"""A quota says how much an account may have stored in a day (UTC), of each kind and in each mode,
in octets.

A row counts with the octets of its texts, and with a fixed number of octets for the rest of it and
its places in indexes, which its kind says. It is counted in the transaction that stores it, under a
lock of its counter, so that two at once cannot together pass what one alone may not. What is
deleted is not given back on that day: the disk has held it. A partner and its Connect customers are
one account here, because a key can make as many customers as it likes.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.account import keep_open, text_of_id
from heliograph.accounts.storage_used_sql import ADDED_TO_USED, INTO_USED
from heliograph.accounts.tables import accounts, storage_quotas, storage_used
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import InvalidRequest, RateLimited
from heliograph.base.short_texts import invalid_field
from heliograph.database import config
from heliograph.database.database import RawId
from heliograph.database.pruning import PruningRule

OCTETS_MAX: Final = 10**15  # of a quota: more than any disk, and exact in JSON
MB: Final = 10**6
# yesterday's counters are nobody's any more
STORAGE_KEPT: Final = (PruningRule(storage_used.name, "day_ms", 2 * DAY_MS, is_counts=True),)

_COUNT: Final = sa.text(f"""
    {INTO_USED} VALUES (:account_id, :sandbox, :kind, :day_ms, :octets)
    {ADDED_TO_USED}
    RETURNING octets""").bindparams(sa.bindparam("account_id", type_=RawId))


class StoredKind(StrEnum):
    """Lists what is counted against a storage quota. The value is the name in commands and in the
    database.
    """

    LOGS = "logs"  # entries of POST /sitebuilder/logs
    EVENTS = "events"  # of POST /sitebuilder/events
    CONTACTS = "contacts"  # new ones, and what others grow by
    # of campaigns: numbers of files, and contacts when an audience is frozen
    RECIPIENTS = "recipients"
    ANSWERS = "answers"  # Idempotency-Keys with the answers that are kept for them
    # Idempotency-Keys of sends and of one-time passwords, counted in their wallet's row
    KEYS = "keys"
    # sandbox sends with their messages, and of all sends what is kept of recipients that were
    # rejected or repeated
    SENDS = "sends"


class Measure(NamedTuple):
    """Says how many octets every account may store a day, and how many a row counts beside its
    texts.
    """

    octets_a_day: int
    row_octets: int


# A free key alone could store 15.7 GB of logs a day; all of these together are 0.05 to 2 GB, and an
# operator can raise each. Rows: measured on PostgreSQL with their indexes, rounded up.
MEASURES: Final[Mapping[StoredKind, Measure]] = {
    StoredKind.LOGS: Measure(50 * MB, 300),  # 100,000 entries with a text of a segment
    StoredKind.EVENTS: Measure(50 * MB, 200),  # 100,000 small ones, or 760 of the largest
    StoredKind.CONTACTS: Measure(
        500 * MB, 300
    ),  # a million with a name, an address and some fields
    # the ten million numbers of the longest file, or five million texts of their own
    StoredKind.RECIPIENTS: Measure(2_000 * MB, 100),
    StoredKind.ANSWERS: Measure(200 * MB, 200),  # 250,000 POSTs
    # two million sends: more than an enterprise key can make in a day
    StoredKind.KEYS: Measure(500 * MB, 200),
    # 200,000 messages in sandbox; a row: a message with its places in queue, carriers' ids and
    # receipts
    StoredKind.SENDS: Measure(200 * MB, 1_000),
}


class StorageQuotaReached(RateLimited):
    """The account has had as much stored today (UTC) as it may."""

    reason = "storage_quota_reached"


class QuotaUsage(NamedTuple):
    """Describes a quota of an account, as the operator sees it. `octets_a_day` None means no
    bound.
    """

    kind: StoredKind
    octets_a_day: int | None
    is_default: bool


def charge(
    tx: Connection, account_id: str, kind: StoredKind, octets: int, *, sandbox: bool, now_ms: int
) -> None:
    """Counts what this transaction stores of an account (raw id), or of its partner's if it is a
    customer, and keeps others who store of that kind waiting until it ends.

    Raises StorageQuotaReached when that is more than the day allows; then the caller stores
    nothing.
    """
    if octets <= 0:
        return
    holder_id = quota_holder_of(tx, account_id)
    used: int = tx.execute(
        _COUNT,
        {
            "account_id": holder_id,
            "sandbox": sandbox,
            "kind": kind.value,
            "day_ms": now_ms - now_ms % DAY_MS,
            "octets": octets,
        },
    ).scalar_one()
    refusal = refusal_of(
        kind,
        used - octets,
        octets,
        quota_of(tx, holder_id, kind),
        now_ms,
        of_partner=holder_id != account_id,
    )
    if refusal is not None:
        raise refusal


def quota_holder_of(tx: Connection, account_id: str) -> str:
    """Returns the account that this one's storage is counted with (raw ids): its partner for a
    Connect customer, else itself.
    """
    found: str | None = tx.execute(
        sa.select(accounts.c.parent_id).where(accounts.c.id == account_id)
    ).scalar_one_or_none()
    return found or account_id


def refusal_of(
    kind: StoredKind,
    used: int,
    octets: int,
    quota: int | None,
    now_ms: int,
    *,
    of_partner: bool = False,
) -> StorageQuotaReached | None:
    """Returns why `octets` more may not be stored today, or None if they may. `quota` None means no
    bound. `of_partner` says that it is the quota of a customer's partner, whose figures are not
    told.
    """
    if quota is None or used + octets <= quota:
        return None
    message = (
        f"This account's partner and its customers have already stored as many octets of {kind}"
        " as they may store today (UTC)."
        if of_partner
        else (
            f"This account may store {quota} octets of {kind} a day (UTC), and has stored {used};"
            f" this would be {octets} more."
        )
    )
    return StorageQuotaReached(message, retry_after_s=(DAY_MS - now_ms % DAY_MS) // 1_000 + 1)


def quota_of(tx: Connection, account_id: str, kind: StoredKind) -> int | None:
    """Returns how many octets may be stored a day, or None if there is no bound."""
    row = tx.execute(
        sa.select(storage_quotas.c.octets).where(
            storage_quotas.c.account_id == account_id, storage_quotas.c.kind == kind.value
        )
    ).first()
    return MEASURES[kind].octets_a_day if row is None else row.octets


def quotas_of(tx: Connection, account_id: str) -> list[QuotaUsage]:
    """Returns all quotas of an account (raw id), in the order of `StoredKind`."""
    own = {
        row.kind: row.octets
        for row in tx.execute(
            sa.select(storage_quotas.c.kind, storage_quotas.c.octets).where(
                storage_quotas.c.account_id == account_id
            )
        )
    }
    return [
        QuotaUsage(kind, own.get(kind.value, MEASURES[kind].octets_a_day), kind.value not in own)
        for kind in StoredKind
    ]


def used_today(tx: Connection, account_id: str, now_ms: int) -> dict[tuple[StoredKind, bool], int]:
    """Returns the octets that were stored today, by kind and mode (sandbox: True). What is not
    there is 0. KEYS are left out: they stand in the account's wallet.
    """
    table = storage_used.c
    rows = tx.execute(
        sa.select(table.kind, table.sandbox, table.octets).where(
            table.account_id == account_id, table.day_ms >= now_ms - now_ms % DAY_MS
        )
    )
    return {(StoredKind(row.kind), bool(row.sandbox)): row.octets for row in rows}


def set_quotas(tx: Connection, account_id: str, quotas: Mapping[StoredKind, int | None]) -> None:
    """Sets these of an account (raw id), where None means no bound. Running processes know of it
    within 0.3 s.

    Raises NotFound; AccountClosed; InvalidRequest, also for a customer, whose storage is counted
    with its partner's, except for the Idempotency-Keys that its own key uses.
    """
    account = keep_open(tx, account_id)
    if account.parent_id is not None and quotas.keys() - {StoredKind.KEYS}:
        partner = text_of_id(account.parent_id, is_customer=False)
        raise InvalidRequest(
            f"What a customer stores is counted with its partner's: set the quota of {partner}."
        )
    for kind, octets in quotas.items():
        if octets is not None and not 0 <= octets <= OCTETS_MAX:
            raise invalid_field(
                kind.value, f"must be from 0 to {OCTETS_MAX} octets a day, not {octets}"
            )
    reset_quotas(tx, account_id, list(quotas))
    rows: list[dict[str, Any]] = [
        {"account_id": account_id, "kind": kind.value, "octets": octets}
        for kind, octets in quotas.items()
    ]
    if rows:
        tx.execute(storage_quotas.insert(), rows)


def reset_quotas(tx: Connection, account_id: str, kinds: list[StoredKind]) -> None:
    """Takes back what was set of these kinds: they are as every account's again."""
    tx.execute(
        storage_quotas.delete().where(
            storage_quotas.c.account_id == account_id,
            storage_quotas.c.kind.in_([kind.value for kind in kinds]),
        )
    )
    config.bump(tx)


def octets_of(*texts: str | None) -> int:
    """Returns what texts take as they are stored, in UTF-8."""
    return sum(
        len(text) if text.isascii() else len(text.encode()) for text in texts if text is not None
    )
