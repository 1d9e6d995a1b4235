"""Reads where each message is: its row, the runs of the queue that contain it, and its submissions
in flight, side by side.

All three are read once, in the order of the messages' ids, so ten million take no more memory than
ten.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.reads import raw_id, stream, stream_records
from heliograph.messages import states
from heliograph.messages.queue import BULK_FROM_US, HELD_FROM_US
from heliograph.messages.read import MESSAGE_PREFIX
from heliograph.messages.retention import MESSAGES, first_kept
from heliograph.messages.tables import groups, inflight, messages, queue, sends

# the id (text form) of a message that is not there, and what names it
Stray = Callable[[str, str], None]

_COLUMNS: Final = (
    messages.c.sandbox,
    messages.c.recipient,
    messages.c.carrier_id,
    messages.c.status,
    messages.c.segments,
    messages.c.parts_accepted,
    messages.c.parts_delivered,
    messages.c.parts_resent,
    messages.c.error_code,
    messages.c.error_message,
    messages.c.sent_at_ms,
    messages.c.delivered_at_ms,
    messages.c.failed_at_ms,
    sends.c.sender,
    sends.c.text,
    sends.c.encoding,
    sends.c.type,
    sends.c.expires_at_ms,
    groups.c.canceled_at_ms,
)


class InFlightPosition(NamedTuple):
    parts: int
    state: str


class QueuePosition(NamedTuple):
    """Describes a run of the queue that contains the message. `is_first` says that its messages
    were never handed to a carrier.
    """

    carrier_id: int
    is_first: bool


class MessagePosition(NamedTuple):
    """Holds a message, with its places in the queue and in flight. `sender` and the four fields
    after it are its send's.
    """

    id: str
    send_id: str
    sandbox: bool
    recipient: int | None
    carrier_id: int
    status: str
    segments: int
    parts_accepted: int
    parts_delivered: int
    parts_resent: int
    error_code: str | None
    error_message: str | None
    sent_at_ms: int | None
    delivered_at_ms: int | None
    failed_at_ms: int | None
    sender: str | None
    text: str | None
    encoding: str | None
    type: str | None
    expires_at_ms: int | None
    canceled_at_ms: int | None  # its group
    places: Sequence[QueuePosition] = ()  # where in the queue it is
    in_flight: Sequence[InFlightPosition] = ()

    @property
    def text_id(self) -> str:
        return ids.text_of_raw(MESSAGE_PREFIX, self.id)

    @property
    def all_parts(self) -> int:
        return states.all_parts(self.segments)


def message_positions(tx: Connection, stray: Stray) -> Iterator[MessagePosition]:
    """Yields every message that is kept, in the order of ids. Rows of the queue or in flight that
    belong to none go to `stray`.
    """
    runs, rows = _Runs(tx, stray), _InFlightReader(tx, stray)
    query = sa.select(
        raw_id(messages.c.id).label("id"), raw_id(messages.c.send_id).label("send_id"), *_COLUMNS
    )
    query = query.select_from(
        messages.outerjoin(sends, sends.c.id == messages.c.send_id).outerjoin(
            groups, groups.c.id == messages.c.group_id
        )
    )
    query = query.where(messages.c.id >= first_kept(tx, MESSAGES)).order_by(messages.c.id)
    for bare in stream_records(tx, query, MessagePosition):
        yield bare._replace(
            places=runs.of(int(bare.id, 16), bare.send_id, bare.segments),
            in_flight=rows.of(bare.id),
        )
    runs.end()
    rows.end()


class _AuditedRun:
    __slots__ = ("end", "first", "met", "place", "segments", "send_id")

    def __init__(
        self, first_id: str, count: int, send_id: str, segments: int, carrier_id: int, rank_us: int
    ) -> None:
        self.place = QueuePosition(carrier_id, rank_us % HELD_FROM_US >= BULK_FROM_US)
        self.first = int(first_id, 16)
        self.end = self.first + count  # the first one that is not in it
        self.met = 0
        self.send_id, self.segments = send_id, segments


class _Runs:
    """Reads the queue in the order of each run's first message. Only the runs that contain the
    current message are kept in memory, and those are few.
    """

    def __init__(self, tx: Connection, stray: Stray) -> None:
        columns = queue.c
        query = sa.select(
            raw_id(columns.first_id).label("first_id"),
            columns.count,
            raw_id(columns.send_id).label("send_id"),
            columns.segments,
            columns.carrier_id,
            columns.rank_us,
        )
        query = query.order_by(columns.first_id)
        self._rows = (_AuditedRun(**row._asdict()) for row in stream(tx, query))
        self._next = next(self._rows, None)
        self._open: list[_AuditedRun] = []
        self._stray = stray

    def of(self, number: int, send_id: str, segments: int) -> list[QueuePosition]:
        """Returns the runs that a message is in."""
        while self._next is not None and self._next.first <= number:
            self._open.append(self._next)
            self._next = next(self._rows, None)
        if not self._open:
            return []
        for run in [run for run in self._open if run.end <= number]:
            self._close(run)
        for run in self._open:
            run.met += 1
            if (run.send_id, run.segments) != (send_id, segments):
                self._stray(
                    _text(number),
                    "the queue has it as another send's, or with another number of segments",
                )
        return [run.place for run in self._open]

    def end(self) -> None:
        self._open += [] if self._next is None else [self._next, *self._rows]
        for run in list(self._open):
            self._close(run)

    def _close(self, run: _AuditedRun) -> None:
        self._open.remove(run)
        missing = run.end - run.first - run.met
        if missing:
            self._stray(
                _text(run.first),
                f"the queue holds a run that begins with it, but {missing} of the run's"
                f" {run.end - run.first} messages are not stored",
            )


class _InFlightReader:
    """Reads the submissions in flight, message by message."""

    def __init__(self, tx: Connection, stray: Stray) -> None:
        columns = inflight.c
        query = sa.select(
            raw_id(columns.message_id).label("of_message"), columns.parts, columns.state
        ).order_by(columns.message_id, columns.part)
        self._rows = stream(tx, query)
        self._next: Any = next(self._rows, None)
        self._stray = stray

    def of(self, message_id: str) -> list[InFlightPosition]:
        """Returns the positions in flight of a message (raw id). Messages are asked for in the
        order of their ids.
        """
        own: list[InFlightPosition] = []
        while self._next is not None and self._next.of_message <= message_id:
            if self._next.of_message == message_id:
                own.append(InFlightPosition(self._next.parts, self._next.state))
            else:
                self._stray(
                    ids.text_of_raw(MESSAGE_PREFIX, self._next.of_message),
                    f"a segment of it is in flight ({self._next.state}), but it is not stored",
                )
            self._next = next(self._rows, None)
        return own

    def end(self) -> None:
        self.of("g")  # after every id


def _text(number: int) -> str:
    return ids.text_of_number("msg", number)
