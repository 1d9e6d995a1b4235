"""Cancels one queued message when its operator says so. Of an account, `pause.py` cancels all."""

from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.errors import DoneAlready, InvalidRequest, NotFound
from heliograph.database.hot import HotTx, run_in
from heliograph.database.reads import records_of
from heliograph.messages.carrier.settle import unaccepted_credits
from heliograph.messages.changes.collect import MessageRow
from heliograph.messages.read.message import MESSAGE_PREFIX
from heliograph.messages.states import IN_DOUBT, QUEUED
from heliograph.messages.sweeps.opt_out import LOOKS_MAX, RUNS_WAITED_FOR, OfSends, split_runs
from heliograph.messages.sweeps.sweep import fail_taken
from heliograph.messages.tables import inflight, messages

ERROR_CODE: Final = "canceled"


class _Charged(NamedTuple):
    """Holds what was charged for a message, and what came back."""

    credits: int
    segments: int
    parts_accepted: int
    refunded: int

    @property
    def credits_back(self) -> int:
        """Returns what goes back if the message is canceled now."""
        return unaccepted_credits(self.credits, self.segments, self.parts_accepted) - self.refunded


_CHARGED: Final = [messages.c[name] for name in _Charged._fields]


class CancelableMessage(NamedTuple):
    """Holds a message that no carrier has, and the credits that go back to its account if it is
    canceled now. Ids are raw.
    """

    id: str
    send_id: str
    credits_back: int


def find_queued(tx: Connection, message_id: str) -> CancelableMessage:
    """Returns a queued message (raw id). Raises NotFound, DoneAlready for one that was canceled,
    and InvalidRequest for one that has left the queue.
    """
    name = f"The message {ids.text_of_raw(MESSAGE_PREFIX, message_id)}"
    columns = messages.c
    found = sa.select(columns.send_id, columns.status, columns.error_code)
    row = tx.execute(found.where(columns.id == message_id)).one_or_none()
    if row is None:
        raise NotFound(f"{name} does not exist.")
    if row.error_code == ERROR_CODE:
        raise DoneAlready(f"{name} was canceled already.")
    if row.status != QUEUED:
        raise InvalidRequest(f"{name} has left the queue: it is {row.status}.")
    held = sa.select(inflight.c.state).where(inflight.c.message_id == message_id)
    states = set(tx.execute(held).scalars())
    if IN_DOUBT in states:
        raise InvalidRequest(f"{name} is in doubt: ask its carrier, then settle it.")
    if states:
        raise InvalidRequest(f"{name} has left the queue: a carrier has it, and will answer.")
    return CancelableMessage(message_id, row.send_id, credits_back(tx, [message_id]))


def credits_back(tx: Connection, message_ids: Iterable[str]) -> int:
    """Returns the credits that go back if these queued messages (raw ids) are canceled now."""
    found = sa.select(*_CHARGED).where(messages.c.id.in_(list(message_ids)))
    return sum(charged.credits_back for charged in records_of(_Charged, tx.execute(found)))


def cancel_message(tx: Connection, message_id: str, now_ms: int) -> int:
    """Cancels a queued message (raw id), live or sandbox: it fails as `canceled`. Returns the
    credits that went back. Raises NotFound, DoneAlready and InvalidRequest, as `find_queued` does.
    """
    for _ in range(LOOKS_MAX):  # somebody may take others out of its run each time
        queued = find_queued(tx, message_id)
        row = run_in(tx, partial(_take_out, queued=queued, now_ms=now_ms))
        if row is not None and row.error_code == ERROR_CODE:
            return row.refunded - row.refunded_before
        if row is not None:  # a late answer of another try came first
            break
    raise InvalidRequest(
        f"The message {ids.text_of_raw(MESSAGE_PREFIX, message_id)} is just leaving the queue."
    )


async def _take_out(hot: HotTx, queued: CancelableMessage, now_ms: int) -> MessageRow | None:
    """Fails a message of a run, and returns it as it is then, or None if it stands in no run. It
    waits for whoever is just taking some of the run.
    """
    runs = await RUNS_WAITED_FOR.rows(hot, OfSends([queued.send_id]))
    left = split_runs(runs, [int(queued.id, 16)])
    if not left.found:
        return None
    [row] = await fail_taken(hot, left.taken, left.rests, left.found, now_ms, ERROR_CODE)
    return row
