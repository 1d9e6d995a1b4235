"""A notice tells an account's users something that nobody asked for."""

from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import notices
from heliograph.base import ids
from heliograph.database.hot import HotTx
from heliograph.database.reads import records_of
from heliograph.database.statements import (
    BigInt,
    Id,
    Nothing,
    Row,
    Text,
    columns_of,
    portable,
    values_of,
)

NOTICES_SHOWN_MAX: Final = 100


class Notice(Row, frozen=True):
    id: Id
    account_id: Id
    kind: Text
    text: Text
    created_at_ms: BigInt


_NOTICE: Final = portable(
    Notice, Nothing, f"INSERT INTO notices ({columns_of(Notice)}) VALUES ({values_of(Notice)})"
)


async def notify(tx: HotTx, account_id: str, kind: str, text: str, now_ms: int) -> None:
    """Stores a notice for the account's users. `account_id` is raw."""
    await _NOTICE.rows(
        tx, Notice(ids.raw_of_number(ids.new_number(now_ms)), account_id, kind, text, now_ms)
    )


def of_account(tx: Connection, account_id: str, limit: int = NOTICES_SHOWN_MAX) -> list[Notice]:
    """Returns an account's notices, the newest first."""
    return records_of(
        Notice,
        tx.execute(
            sa.select(notices)
            .where(notices.c.account_id == account_id)
            .order_by(notices.c.id.desc())
            .limit(limit)
        ),
    )
