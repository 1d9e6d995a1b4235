"""Keeps how often carriers answered submit_sm with which command_status, minute by minute."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.clock import HOUR_MS, MINUTE_MS
from heliograph.monitoring.process_figures import CarrierCounts
from heliograph.monitoring.tables import carrier_errors

OTHERS: Final = -1  # statuses that were not counted one by one
ERRORS_SHOWN_MAX: Final = 20


class CarrierError(NamedTuple):
    """Says how often a carrier gave an answer. `command_status` is OTHERS for those that were not
    counted one by one.
    """

    carrier_id: int
    command_status: int
    answers: int


def add_errors(tx: Connection, counted: Mapping[int, Iterable[CarrierCounts]], now_ms: int) -> None:
    """Adds what processes have counted since the last look to the present minute."""
    at_ms = now_ms - now_ms % MINUTE_MS
    more = {
        CarrierError(carrier_id, _number(status), answers)
        for carrier_id, each in counted.items()
        for status, answers in sum((Counter(of.statuses) for of in each), Counter()).items()
        if answers
    }
    columns = carrier_errors.c
    for error in sorted(more):
        added = tx.execute(
            sa.update(carrier_errors)
            .where(
                columns.carrier_id == error.carrier_id,
                columns.at_ms == at_ms,
                columns.command_status == error.command_status,
            )
            .values(answers=columns.answers + error.answers)
        )
        if not added.rowcount:
            tx.execute(carrier_errors.insert().values(at_ms=at_ms, **error._asdict()))


def errors_of_hour(tx: Connection, now_ms: int) -> list[CarrierError]:
    """Returns the most frequent errors of the last hour, to the minute."""
    columns = carrier_errors.c
    answers = sa.func.sum(columns.answers).label("answers")
    query = (
        sa.select(columns.carrier_id, columns.command_status, answers)
        .where(columns.at_ms >= now_ms - HOUR_MS)
        .group_by(columns.carrier_id, columns.command_status)
        .order_by(answers.desc(), columns.carrier_id, columns.command_status)
        .limit(ERRORS_SHOWN_MAX)
    )
    return [
        CarrierError(row.carrier_id, row.command_status, int(row.answers))
        for row in tx.execute(query)
    ]


def _number(status: str) -> int:
    from heliograph.base.metrics import OTHER_STATUSES

    return OTHERS if status == OTHER_STATUSES else int(status, 16)
