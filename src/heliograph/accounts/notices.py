"""Notices: what an account's users are told of, because nobody asked."""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import notices
from heliograph.base import ids
from heliograph.base.hot import HotTx

NOTICES_SHOWN_MAX: Final = 100
_NOTICE: Final = "INSERT INTO notices (id, account_id, kind, text, created_at_ms) VALUES ($1, $2, $3, $4, $5)"


class Notice(NamedTuple):
    """Ids are raw."""

    id: str
    account_id: str
    kind: str
    text: str
    created_at_ms: int


async def notify(tx: HotTx, account_id: str, kind: str, text: str, now_ms: int) -> None:
    await tx.fetch(_NOTICE, ids.raw_of_number(ids.new_number(now_ms)), account_id, kind, text, now_ms)


def notices_of(tx: Connection, account_id: str, limit: int = NOTICES_SHOWN_MAX) -> list[Notice]:
    """An account's, the newest first."""
    return [Notice(*row) for row in tx.execute(
        sa.select(notices).where(notices.c.account_id == account_id).order_by(notices.c.id.desc()).limit(limit))]
