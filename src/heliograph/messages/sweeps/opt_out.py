"""What is queued for people who want it no more is taken out of its run, failed and refunded."""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from heliograph.base import clock, ids
from heliograph.base.paging import first_id_of
from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    BigInt,
    Bool,
    Id,
    Int,
    Row,
    SharingStatement,
    Statement,
    Text,
    rows_by_key,
)
from heliograph.messages.carrier.withdrawn_by_opt_out import (
    FOLDED_SENDER,
    MAY_BE_UNWANTED,
    is_withdrawn,
)
from heliograph.messages.changes.message_lock import lock_messages
from heliograph.messages.queue.rank import FAIR_SPACING_US
from heliograph.messages.queue.sql import QueuedRun, RunKey, queue_columns
from heliograph.messages.states import MESSAGE, QUEUED, VALIDITY_S
from heliograph.messages.sweeps.sweep import fail_taken
from heliograph.opt_outs.due_notes import OptedOutPhone

# of what is queued: what is older has failed, or is about to, for its validity is over
_SPAN_MS: Final = VALIDITY_S[1] * 1_000
# for a run of which somebody takes some each time: three turns in a row
LOOKS_MAX: Final = 3


class UnwantedTexts(Row, frozen=True):
    """Identifies what a phone no longer wants of an account (raw id) in a mode: all texts, or those
    of one sender (in lower case) where `sender` is not empty.
    """

    account_id: Id
    sandbox: Bool
    phone: BigInt
    sender: Text


class _SinceId(Row, frozen=True):
    """Holds the lowest id that may still be queued. It tells PostgreSQL which partitions to look
    into.
    """

    since: Id


class _QueuedMessage(Row, frozen=True):
    """Holds a message that is queued. `is_in_flight` says that a carrier has some of
    it.
    """

    account_id: Id
    sandbox: Bool
    recipient: BigInt
    id: Id
    send_id: Id
    is_in_flight: Bool

    @property
    def phone(self) -> OptedOutPhone:
        return OptedOutPhone(self.account_id, self.sandbox, self.recipient)


class _FoundMessage(Row, frozen=True):
    """Holds a queued message of a phone that has opted out. `opt_out_id` names the oldest opt-out
    that holds for it, if there is one.
    """

    queued: _QueuedMessage
    group_id: Int | None
    opt_out_id: Id | None

    @property
    def is_withdrawn(self) -> bool:
        return is_withdrawn(self.queued.id, self.group_id, self.opt_out_id)


class OfSends(Row, frozen=True):
    """Asks for the runs of these sends (raw ids)."""

    send_ids: list[Id]


_COLUMNS: Final = """m.account_id, m.sandbox, m.recipient, m.id, m.send_id,
    EXISTS (SELECT 1 FROM inflight i WHERE i.message_id = m.id) AS is_in_flight, m.group_id"""
# The oldest opt-out counts: what has passed it passes those that came later.
_THE_OLDEST: Final = f"""
    (o.sender = '' OR o.sender = {FOLDED_SENDER}) ORDER BY o.id LIMIT 1) AS opt_out_id"""
_OPT_OUTS: Final = rows_by_key(
    "suppressions",
    "id, sender",
    account_id="m.account_id",
    sandbox="m.sandbox",
    phone="m.recipient",
)
_OPT_OUT_POSTGRESQL: Final = f"""
    (SELECT o.id FROM {_OPT_OUTS} o WHERE {_THE_OLDEST}"""
_OPT_OUT_SQLITE: Final = f"""
    (SELECT o.id FROM suppressions o WHERE o.account_id = m.account_id
        AND o.sandbox = m.sandbox AND o.phone = m.recipient AND {_THE_OLDEST}"""
_NOTED: Final = SharingStatement(
    OptedOutPhone,
    _SinceId,
    _FoundMessage,
    postgresql=f"""
        SELECT {_COLUMNS}, {_OPT_OUT_POSTGRESQL}
        FROM :given AS g
        JOIN messages m ON m.account_id = g.account_id AND m.recipient = g.phone
            AND m.sandbox = g.sandbox
        JOIN sends s ON s.id = m.send_id
        WHERE {MESSAGE.is_in(QUEUED, of="m.")} AND m.id >= :since AND {MAY_BE_UNWANTED}""",
    sqlite=f"""
        SELECT {_COLUMNS}, {_OPT_OUT_SQLITE}
        FROM messages m JOIN sends s ON s.id = m.send_id
        WHERE m.account_id = :account_id AND m.sandbox = :sandbox AND m.recipient = :phone
            AND {MESSAGE.is_in(QUEUED, of="m.")} AND m.id >= :since AND {MAY_BE_UNWANTED}""",
)
_UNWANTED: Final = SharingStatement(
    UnwantedTexts,
    _SinceId,
    _FoundMessage,
    postgresql=f"""
        SELECT {_COLUMNS}, {_OPT_OUT_POSTGRESQL}
        FROM :given AS g
        JOIN messages m ON m.account_id = g.account_id AND m.recipient = g.phone
            AND m.sandbox = g.sandbox
        JOIN sends s ON s.id = m.send_id
        WHERE {MESSAGE.is_in(QUEUED, of="m.")} AND m.id >= :since AND {MAY_BE_UNWANTED}
            AND (g.sender = '' OR {FOLDED_SENDER} = g.sender)""",
    sqlite=f"""
        SELECT {_COLUMNS}, {_OPT_OUT_SQLITE}
        FROM messages m JOIN sends s ON s.id = m.send_id
        WHERE m.account_id = :account_id AND m.sandbox = :sandbox AND m.recipient = :phone
            AND {MESSAGE.is_in(QUEUED, of="m.")} AND m.id >= :since AND {MAY_BE_UNWANTED}
            AND (:sender = '' OR {FOLDED_SENDER} = :sender)""",
)
_OF_SENDS: Final = f"SELECT {queue_columns('q')} FROM queue q WHERE q.send_id"
_OF_SENDS_SQLITE: Final = f"{_OF_SENDS} IN (SELECT value FROM json_each(:send_ids))"
_RUNS: Final = Statement(
    OfSends,
    QueuedRun,
    postgresql=f"{_OF_SENDS} = ANY(:send_ids) FOR UPDATE SKIP LOCKED",
    sqlite=_OF_SENDS_SQLITE,
)
# Waits for whoever is just taking some of a run. In an order, so that two opt-outs do not wait for
# each other; what takes runs waits for none.
RUNS_WAITED_FOR: Final = Statement(
    OfSends,
    QueuedRun,
    postgresql=f"""
        {_OF_SENDS} = ANY(:send_ids) ORDER BY q.carrier_id, q.rank_us, q.first_id FOR UPDATE""",
    sqlite=_OF_SENDS_SQLITE,
)


async def fail_blocked(
    tx: HotTx,
    people: Sequence[OptedOutPhone],
    now_ms: int,
    of_senders: Collection[OptedOutPhone] = (),
) -> set[OptedOutPhone]:
    """Fails what is queued for these people that no carrier has: it is `blocked` and refunded. Of
    single sends that is what is older than the opt-out, if it still holds. Of campaigns it is all,
    or for `of_senders` what falls under an opt-out that still holds. It is to be called again for
    the people whom it returns: a carrier has something for them, or is taking it now, and it may
    come back. `people` are few enough for one transaction.
    """
    noted = await _NOTED.rows_with(tx, people, _SinceId(first_id_of(now_ms - _SPAN_MS)))
    queued = [
        one.queued
        for one in noted
        if one.is_withdrawn and (one.opt_out_id is not None or one.queued.phone not in of_senders)
    ]
    waiting = {
        int(message.id, 16): message.send_id for message in queued if not message.is_in_flight
    }
    taken = await _take_out(tx, waiting, now_ms)
    return {message.phone for message in queued if int(message.id, 16) not in taken}


async def _take_out(tx: HotTx, waiting: dict[int, str], now_ms: int) -> set[int]:
    """Takes out messages, given by number and with their sends, and returns those that were in a
    run which nobody else is just taking.
    """
    if not waiting:
        return set()
    runs = await _RUNS.rows(tx, OfSends(sorted(set(waiting.values()))))
    left = split_runs(runs, waiting)
    await fail_taken(tx, left.taken, left.rests, left.found, now_ms, "blocked")
    return left.found


async def cancel_unwanted(
    tx: HotTx, unwanted: Sequence[UnwantedTexts], now_ms: int, wallets: Sequence[str] = ()
) -> None:
    """Cancels what is queued of these texts and that no carrier has, of campaigns and of single
    sends: it is `blocked` and refunded. The opt-outs are stored. What they do not withdraw stays
    (`carrier/withdrawn_by_opt_out.py`). `wallets` are the accounts, in order of their ids, whose
    wallets the transaction goes on to need.
    """
    left = await _UnwantedSearch(tx, unwanted, now_ms).runs_without() if unwanted else None
    if left is not None and left.found:
        await fail_taken(tx, left.taken, left.rests, left.found, now_ms, "blocked", wallets=wallets)


async def cancel_unwanted_since(tx: HotTx, texts: Sequence[UnwantedTexts], since_ms: int) -> bool:
    """Does what `cancel_unwanted` does, also with what has passed an opt-out that was made since
    `since_ms`. Returns whether it has found all that no carrier has: turns may have taken some of
    the same run at each of its looks.
    """
    now_ms = clock.now_ms()
    queued = _UnwantedSearch(tx, texts, now_ms, since_ms)
    left = await queued.runs_without()
    if left.found:
        await fail_taken(tx, left.taken, left.rests, left.found, now_ms, "blocked")
    return queued.has_all(left)


class _UnwantedSearch:
    """Looks for what is queued of texts that nobody wants any more, until it has all that no
    carrier has.

    A turn may be taking a part of a run now, and will put the rest back: this waits for the run,
    and then looks for what is left. A turn may be giving back a message that it had: this waits for
    its lock, and either the turn has seen the opt-out (`carrier/withdrawn_by_opt_out.py`), or the
    message is found now.
    """

    def __init__(
        self,
        tx: HotTx,
        unwanted: Sequence[UnwantedTexts],
        now_ms: int,
        new_since_ms: int | None = None,
    ) -> None:
        """Begins to look. What is younger than its opt-out has passed it, but for an opt-out that
        was made since `new_since_ms`.
        """
        self._tx = tx
        self._new_since_ms = new_since_ms
        self._unwanted = unwanted
        self._since = _SinceId(first_id_of(now_ms - _SPAN_MS))
        self._runs: dict[RunKey, QueuedRun] = {}
        self._waiting: dict[int, str] = {}  # by number, the send of each
        self._with_carriers: set[str] = set()

    async def runs_without(self) -> "SplitRuns":
        """Returns the runs, which are locked, without these messages."""
        await self._search()
        left = await self._runs_without_found(RUNS_WAITED_FOR)
        for _ in range(LOOKS_MAX - 1):
            if self.has_all(left):
                break
            await self._search()
            left = await self._runs_without_found(RUNS_WAITED_FOR)
        if self._tx.postgresql and self._with_carriers:
            found = {ids.raw_of_number(number) for number in left.found}
            await lock_messages(self._tx, self._with_carriers | found)
            await self._search()
            # who holds a run may wait for one of these messages, so no run is waited for
            left = await self._runs_without_found(_RUNS)
        return left

    def has_all(self, left: "SplitRuns") -> bool:
        return len(left.found) == len(self._waiting)

    async def _search(self) -> None:
        found = await _UNWANTED.rows_with(self._tx, self._unwanted, self._since)
        queued = [one.queued for one in found if one.is_withdrawn or self._is_new(one)]
        self._waiting = {
            int(message.id, 16): message.send_id for message in queued if not message.is_in_flight
        }
        self._with_carriers = {message.id for message in queued if message.is_in_flight}

    def _is_new(self, message: _FoundMessage) -> bool:
        """Returns whether the message was accepted while its opt-out was being stored."""
        return (
            self._new_since_ms is not None
            and message.opt_out_id is not None
            and ids.made_at_ms(int(message.opt_out_id, 16)) >= self._new_since_ms
        )

    async def _runs_without_found(self, which: Statement[OfSends, QueuedRun]) -> "SplitRuns":
        if self._waiting:
            runs = await which.rows(self._tx, OfSends(sorted(set(self._waiting.values()))))
            self._runs |= {run.key: run for run in runs}
        return split_runs(list(self._runs.values()), self._waiting)


class SplitRuns(NamedTuple):
    """Holds runs from which messages were taken: `taken` are the runs that contained any, `rests`
    are the runs that remain of them, and `found` are the numbers of the messages.
    """

    taken: list[RunKey]
    rests: list[QueuedRun]
    found: set[int]


def split_runs(runs: Sequence[QueuedRun], out: Collection[int]) -> SplitRuns:
    """Returns the runs without these messages, which are given by number."""
    ordered = sorted(out)
    left = SplitRuns([], [], set())
    for run in runs:
        first = int(run.first_id, 16)
        end = first + run.messages
        inside = ordered[bisect_left(ordered, first) : bisect_left(ordered, end)]
        if not inside:
            continue
        left.taken.append(run.key)
        left.found.update(inside)
        for begins, ends in zip(
            [first, *(number + 1 for number in inside)], [*inside, end], strict=True
        ):
            if begins < ends:
                later = run.without_first(
                    begins - first, run.rank_us + (begins - first) * run.segments * FAIR_SPACING_US
                )
                left.rests.append(replace(later, messages=ends - begins))
    return left
