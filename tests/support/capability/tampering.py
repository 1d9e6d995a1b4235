"""Holds statements that change what is stored of messages, for audits that must find it."""

from typing import Any

import sqlalchemy as sa

from heliograph.messages.queue.rank import BULK_FROM_US
from heliograph.messages.tables import inflight, messages, operator_decisions, queue
from tests.support.capability.lived import NOWHERE

LONG = (
    sa.select(messages.c.id)
    .where(messages.c.status == "delivered", messages.c.segments == 3)
    .order_by(messages.c.id)
    .limit(1)
    .scalar_subquery()
)
DOUBTFUL = (
    sa.select(inflight.c.message_id).order_by(inflight.c.message_id).limit(1).scalar_subquery()
)
RUN = {
    "carrier_id": 1,
    "rank_us": 1,
    "count": 1,
    "segments": 1,
    "prefix": "",
    "attempt": 1,
    "not_before_ms": 0,
    "expires_at_ms": 1 << 50,
}
FLIGHT = {
    "part": 1,
    "parts": 1,
    "carrier_id": 1,
    "worker": 1,
    "attempt": 1,
    "prefix": "",
    "expires_at_ms": 1 << 50,
    "since_ms": 0,
}
# never handed to a carrier; came back from one
FRESH, BACK = {**RUN, "rank_us": BULK_FROM_US}, RUN


def one(status: str, **others: object) -> sa.ScalarSelect[Any]:
    """Returns the id of a message of one segment."""
    where = [messages.c[name] == value for name, value in others.items()]
    return (
        sa.select(messages.c.id)
        .where(messages.c.status == status, messages.c.segments == 1, ~messages.c.sandbox, *where)
        .order_by(messages.c.id)
        .limit(1)
        .scalar_subquery()
    )


def update(status: str, values: dict[str, object], **others: object) -> sa.Update:
    return sa.update(messages).where(messages.c.id == one(status, **others)).values(**values)


def puts(message: sa.ScalarSelect[Any], run: dict[str, Any]) -> sa.Insert:
    """Returns the statement that puts a run into the queue, as its send's."""
    its = sa.select(messages.c.id, messages.c.send_id, messages.c.segments).where(
        messages.c.id == message
    )
    values = {name: value for name, value in run.items() if name != "segments"}
    return sa.insert(queue).from_select(
        ["first_id", "send_id", "segments", *values],
        its.add_columns(*map(sa.literal, values.values())),
    )


def queues(
    *runs: dict[str, Any], message: sa.ScalarSelect[Any] | None = None, state: str | None = None
) -> list[sa.Executable]:
    """Makes a message wait anew: in these runs and, with this state, in flight."""
    chosen = one("sent") if message is None else message
    what: list[sa.Executable] = [puts(chosen, run) for run in runs]
    what += (
        []
        if state is None
        else [sa.insert(inflight).values(message_id=chosen, state=state, **FLIGHT)]
    )
    anew = {"status": "queued", "parts_accepted": 0, "parts_delivered": 0}
    return [*what, sa.update(messages).where(messages.c.id == chosen).values(anew)]


def fails(code: str, why: str | None = None, **others: object) -> list[sa.Executable]:
    """Returns the statements that fail a message that was delivered: the log says taken, DELIVRD,
    acknowledged.
    """
    at_ms = {"failed_at_ms": messages.c.delivered_at_ms, "delivered_at_ms": None}
    return [
        update(
            "delivered",
            {"status": "failed", "error_code": code, "error_message": why, **at_ms, **others},
        )
    ]


def decides(message: sa.ScalarSelect[Any], decision: str, at_ms: int = 0) -> sa.Insert:
    return sa.insert(operator_decisions).values(
        id=NOWHERE,
        message_id=message,
        carrier_id=1,
        parts=1,
        decision=decision,
        decided_by="amina",
        reason="asked the carrier",
        decided_at_ms=at_ms,
    )
