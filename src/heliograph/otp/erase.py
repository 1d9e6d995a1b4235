"""Erases the texts of one-time passwords when their validity has ended: no carrier will ask for
them any more.
"""

from typing import Final

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.base.paging import first_id_of
from heliograph.base.secrets import SEALED as SEALED_PREFIX
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.database.pruning import in_batches
from heliograph.database.sealed_columns import SealedColumn
from heliograph.database.statements import Id, Int, Row, portable
from heliograph.messages.retention import erase_texts
from heliograph.messages.tables import sends
from heliograph.otp.limits import VALID_MS
from heliograph.otp.sealed_text import text_sealer
from heliograph.otp.states import KEPT_MS
from heliograph.otp.tables import otps

ERASED_AFTER_MS: Final = 2 * VALID_MS  # what was accepted last by a slow transaction is seen, too
ROWS_AT_ONCE: Final = 1_000  # in one transaction: about 10 ms
SEALED: Final = (
    SealedColumn(
        "otp_texts",
        sends.c.text,
        text_sealer,
        lambda now_ms: (
            sends.c.text.startswith(SEALED_PREFIX)
            & sends.c.id.in_(
                sa.select(otps.c.id).where(otps.c.id >= first_id_of(now_ms - ERASED_AFTER_MS))
            )
        ),
    ),
)


class _OtpsBetween(Row, frozen=True):
    """Selects the ids from `start` up to, but not including, `until`."""

    start: Id
    until: Id
    most: Int


class _OtpId(Row, frozen=True):
    id: Id


_NEXT: Final = portable(
    _OtpsBetween,
    _OtpId,
    "SELECT id FROM otps WHERE id >= :start AND id < :until ORDER BY id LIMIT :most",
)


class Eraser:
    """Erases the texts of old one-time passwords in one process. It begins with all that there are,
    and then goes on from where it was.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._from = first_id_of(0)

    async def erase(self) -> None:
        """Erases all that is due now."""
        now_ms = clock.now_ms()
        next_id = max(self._from, first_id_of(now_ms - KEPT_MS))
        until = first_id_of(now_ms - ERASED_AFTER_MS)

        async def erase_some(tx: HotTx) -> tuple[int, bool]:
            nonlocal next_id
            found = await _NEXT.rows(tx, _OtpsBetween(next_id, until, ROWS_AT_ONCE))
            await erase_texts(tx, [otp.id for otp in found])
            if found:
                next_id = found[-1].id
            return len(found), len(found) == ROWS_AT_ONCE

        async for _ in in_batches(self._db, erase_some):
            pass
        self._from = until
