"""Lists the processes that are registered, with what each tells of itself."""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.leases import BEAT_S, workers
from heliograph.monitoring.process_figures import ProcessFigures, read_figures

PROCESSES_MAX: Final = 500  # more than anybody runs on one database
LATE_MS: Final = round(3 * BEAT_S * 1_000)  # two beats were missed


class RegisteredProcess(NamedTuple):
    """Describes a process that is registered. `figures` is None if it tells none, as processes of
    the version before.
    """

    number: int
    kind: str
    carrier_id: int | None
    started_at_ms: int
    figures: ProcessFigures | None

    def late_ms(self, now_ms: int) -> int | None:
        """Returns for how long it has not shown itself, if that is too long."""
        silent_ms = now_ms - self.figures.at_ms if self.figures is not None else 0
        return silent_ms if silent_ms > LATE_MS else None


def registered_processes(tx: Connection) -> list[RegisteredProcess]:
    """Returns the processes that are registered, the oldest first. One that died is among them for
    half a minute yet.
    """
    columns = workers.c
    query = sa.select(
        columns.epoch, columns.kind, columns.carrier_id, columns.started_at_ms, columns.figures
    )
    return [
        RegisteredProcess(
            row.epoch, row.kind, row.carrier_id, row.started_at_ms, read_figures(row.figures)
        )
        for row in tx.execute(query.order_by(columns.epoch).limit(PROCESSES_MAX))
    ]
