"""Tallies of one-time passwords are read and written under the lock of their account's wallet.
The operator lists the accounts and countries that are held back, and lets them send again.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.database.hot import HotTx
from heliograph.otp.issue_sql import STORE_TALLIES, TALLIES, CountedTally, StoredTally, TallyKey
from heliograph.otp.tables import otp_tallies
from heliograph.otp.unverified_allowance import OtpTally, decode_counts, encode_counts, floor_of
from heliograph.wallet.tables import wallets


class TallyKeyOf(NamedTuple):
    """Identifies a tally: an account's (raw id), of a country or of ALL_COUNTRIES."""

    account_id: str
    country_code: str


class CappedTally(NamedTuple):
    """Holds a tally that refuses further sends, as the operator sees it."""

    key: TallyKeyOf
    unverified: int  # in 24 hours
    capped_at_ms: int
    until_ms: int


async def tallies_at(tx: HotTx, keys: Iterable[TallyKeyOf]) -> dict[TallyKeyOf, OtpTally]:
    """Returns the tally of each key, new where there is none; nobody else counts there while the
    wallets are locked.
    """
    found = await TALLIES.rows(
        tx, [TallyKey(key.account_id, key.country_code) for key in sorted(set(keys))]
    )
    return {TallyKeyOf(row.account_id, row.country_code): _of_row(row) for row in found}


async def store_tallies(tx: HotTx, tallies: Iterable[OtpTally], now_ms: int) -> None:
    """Writes what was counted."""
    await STORE_TALLIES.rows(
        tx,
        [
            CountedTally(
                tally.account_id,
                tally.country_code,
                tally.hour,
                sent=encode_counts(tally.sent),
                verified=encode_counts(tally.verified),
                best=encode_counts(tally.best),
                capped_at_ms=tally.capped_at_ms,
                changed_at_ms=now_ms,
            )
            for tally in sorted(tallies, key=lambda tally: (tally.account_id, tally.country_code))
        ],
    )


def find_capped(
    tx: Connection, now_ms: int, *, limit: int, account_id: str | None = None
) -> list[CappedTally]:
    """Returns tallies that refuse sends now, the latest first, out of at most `limit` that did
    so within a day. Without `account_id` (raw), it returns everybody's.
    """
    return [
        CappedTally(
            TallyKeyOf(tally.account_id, tally.country_code),
            tally.unverified,
            tally.capped_at_ms or 0,
            tally.free_at_ms(now_ms),
        )
        for tally in _capped(tx, now_ms, limit=limit, account_id=account_id)
    ]


def count_capped(tx: Connection, now_ms: int, *, limit: int) -> int:
    """Returns how many tallies `find_capped` would return of all accounts. It spares what that
    finds out of each: until when it refuses.
    """
    return len(_capped(tx, now_ms, limit=limit))


def lift_cap(tx: Connection, account_id: str, country_code: str, now_ms: int) -> None:
    """Sends to this country, or with ALL_COUNTRIES of this account (raw id), go out again, and are
    counted anew. Waits for those that are just being counted.

    Raises NotFound when the tally refuses nothing.
    """
    tx.execute(
        sa.select(wallets.c.account_id)
        .where(wallets.c.account_id == account_id)
        .with_for_update(key_share=True)
    )
    table = otp_tallies.c
    here = (table.account_id == account_id) & (table.country_code == country_code)
    row = tx.execute(_tallies().where(here)).one_or_none()
    tally = _of_row(StoredTally(**row._asdict())) if row is not None else None
    if tally is None or not tally.refuses(now_ms):
        raise NotFound(
            f"One-time passwords of this account to {quote_value(country_code)} are not held back."
        )
    tally.reset_unverified(now_ms)
    tx.execute(
        sa.update(otp_tallies)
        .where(here)
        .values(
            hour=tally.hour,
            sent=encode_counts(tally.sent),
            verified=encode_counts(tally.verified),
            best=encode_counts(tally.best),
            capped_at_ms=None,
            changed_at_ms=now_ms,
        )
    )


def _capped(
    tx: Connection, now_ms: int, *, limit: int, account_id: str | None = None
) -> list[OtpTally]:
    table = otp_tallies.c
    query = (
        _tallies()
        .where(table.capped_at_ms > now_ms - DAY_MS)
        .order_by(table.capped_at_ms.desc(), table.account_id, table.country_code)
    )
    if account_id is not None:
        query = query.where(table.account_id == account_id)
    found = [_of_row(StoredTally(**row._asdict())) for row in tx.execute(query.limit(limit))]
    return [tally for tally in found if tally.refuses(now_ms)]


def _tallies() -> sa.Select[Any]:
    table = otp_tallies.c
    return sa.select(
        table.account_id,
        table.country_code,
        accounts.c.otp_unverified,
        table.hour,
        table.sent,
        table.verified,
        table.best,
        table.capped_at_ms,
    ).join_from(otp_tallies, accounts, accounts.c.id == table.account_id)


def _of_row(row: StoredTally) -> OtpTally:
    floor = floor_of(row.otp_unverified, row.country_code)
    if row.hour is None or row.sent is None or row.verified is None or row.best is None:
        return OtpTally(row.account_id, row.country_code, floor)
    return OtpTally(
        row.account_id,
        row.country_code,
        floor,
        row.hour,
        sent=decode_counts(row.sent),
        verified=decode_counts(row.verified),
        best=decode_counts(row.best),
        capped_at_ms=row.capped_at_ms,
    )
