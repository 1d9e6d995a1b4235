"""Notes in memory when each key was last used, and stores that for all keys together every ten
seconds.
"""

from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.keys.tables import api_keys

STORE_EVERY_S: Final = 10.0


class KeyUsage:
    """Holds last uses that are not stored yet. It is used in the event loop; `take_all` hands them
    over to whoever stores them.
    """

    def __init__(self) -> None:
        self._last_used_at_ms: dict[str, int] = {}

    def note(self, key_id: str, now_ms: int) -> None:
        self._last_used_at_ms[key_id] = now_ms

    def take_all(self) -> dict[str, int]:
        taken, self._last_used_at_ms = self._last_used_at_ms, {}
        return taken


def store_usage(tx: Connection, last_used_at_ms: dict[str, int]) -> None:
    """Writes when keys (by raw id) were last used."""
    if last_used_at_ms:
        tx.execute(
            sa.update(api_keys)
            .where(api_keys.c.id == sa.bindparam("key_id"))
            .values(last_used_at_ms=sa.bindparam("at_ms")),
            [
                {"key_id": key_id, "at_ms": at_ms}
                for key_id, at_ms in sorted(last_used_at_ms.items())
            ],
        )
