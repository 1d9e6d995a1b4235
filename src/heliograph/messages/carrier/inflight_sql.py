"""Declares the statements of `inflight`, in both dialects: the segments that a carrier was given,
or is about to get.

A transaction locks in this order: in flight, carriers' ids, messages, wallets, ledger.
"""

from typing import Final

from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Id,
    Nothing,
    Row,
    SmallInt,
    Text,
    columns_of,
    portable,
    values_of,
)
from heliograph.messages.states import CLAIMED, IN_DOUBT, MESSAGE, QUEUED, SEGMENT, SUBMITTING

NOBODY: Final = 0  # in place of a process, to END_INFLIGHT: what is in doubt, whoever submitted it


class Part(Row, frozen=True):
    """Identifies one submission of a message by the number of its first segment."""

    message_id: Id
    part: SmallInt


class Try(Row, frozen=True):
    """Identifies one attempt at a submission, and the process (its number) that made it."""

    message_id: Id
    part: SmallInt
    attempt: SmallInt
    worker: BigInt


class TryAt(Row, frozen=True):
    """Identifies one attempt at a submission, and says when its state changes."""

    message_id: Id
    part: SmallInt
    attempt: SmallInt
    worker: BigInt
    since_ms: BigInt


class InFlight(Row, frozen=True):
    """Holds what was stored of a submission when it was claimed. `parts` has bit k-1 set for
    segment k.
    """

    message_id: Id
    part: SmallInt
    parts: SmallInt
    attempt: SmallInt
    prefix: Text
    expires_at_ms: BigInt


# Of this attempt only: a late answer to the first one says nothing of the second. And of the
# process that was answered only, for a number of try may be another's after this one gave it back.
# What is in doubt ends for NOBODY too: for a receipt, a sweep, an operator.
END_INFLIGHT: Final = BatchStatement(
    Try,
    InFlight,
    postgresql=f"""
        DELETE FROM inflight i USING :given AS g
        WHERE i.message_id = g.message_id AND i.part = g.part AND i.attempt = g.attempt
            AND (i.worker = g.worker OR (g.worker = 0 AND {SEGMENT.is_in(IN_DOUBT, of="i.")}))
        RETURNING i.message_id, i.part, i.parts, i.attempt, i.prefix, i.expires_at_ms""",
    sqlite=f"""
        DELETE FROM inflight WHERE message_id = :message_id AND part = :part AND attempt = :attempt
            AND (worker = :worker OR (:worker = 0 AND {SEGMENT.is_in(IN_DOUBT)}))
        RETURNING message_id, part, parts, attempt, prefix, expires_at_ms""",
)

DOUBT: Final = BatchStatement(
    TryAt,
    Nothing,
    postgresql=f"""
        UPDATE inflight i SET state = '{IN_DOUBT}', since_ms = g.since_ms FROM :given AS g
        WHERE i.message_id = g.message_id AND i.part = g.part AND i.attempt = g.attempt
            AND i.worker = g.worker AND {SEGMENT.may_become(IN_DOUBT, of="i.")}""",
    sqlite=f"""
        UPDATE inflight SET state = '{IN_DOUBT}', since_ms = :since_ms
        WHERE message_id = :message_id AND part = :part AND attempt = :attempt AND worker = :worker
            AND {SEGMENT.may_become(IN_DOUBT)}""",
)


class Claimed(Row, frozen=True):
    """Holds a row of the segments in flight, as it is claimed."""

    message_id: Id
    part: SmallInt
    parts: SmallInt
    carrier_id: SmallInt
    worker: BigInt
    attempt: SmallInt
    state: Text
    prefix: Text
    expires_at_ms: BigInt
    since_ms: BigInt


# Answers those that were not in flight already. A part that another process is just ending is in
# flight still: to insert it would wait for that one's commit, which may wait for a message that is
# held here.
CLAIM: Final = BatchStatement(
    Claimed,
    Part,
    postgresql=f"""
        INSERT INTO inflight ({columns_of(Claimed)}) SELECT * FROM :given AS g
        WHERE NOT EXISTS (SELECT 1 FROM inflight i WHERE i.message_id = g.message_id
            AND i.part = g.part)
        ON CONFLICT DO NOTHING RETURNING message_id, part""",
    sqlite=f"""
        INSERT INTO inflight ({columns_of(Claimed)}) VALUES ({values_of(Claimed)})
        ON CONFLICT DO NOTHING RETURNING message_id, part""",
)


class ToSubmit(Row, frozen=True):
    """Identifies a part that this process claimed, which it is about to submit."""

    message_id: Id
    part: SmallInt
    worker: BigInt
    since_ms: BigInt


# Answers those that are still to be sent.
SUBMIT: Final = BatchStatement(
    ToSubmit,
    Part,
    postgresql=f"""
        UPDATE inflight i SET state = '{SUBMITTING}', since_ms = g.since_ms FROM :given AS g
        WHERE i.message_id = g.message_id AND i.part = g.part AND i.worker = g.worker
            AND {SEGMENT.may_become(SUBMITTING, of="i.")} AND i.expires_at_ms > g.since_ms
            AND EXISTS (SELECT 1 FROM messages m WHERE m.id = g.message_id
                AND {MESSAGE.is_in(QUEUED, of="m.")})
        RETURNING i.message_id, i.part""",
    sqlite=f"""
        UPDATE inflight SET state = '{SUBMITTING}', since_ms = :since_ms
        WHERE message_id = :message_id AND part = :part AND worker = :worker
            AND {SEGMENT.may_become(SUBMITTING)} AND expires_at_ms > :since_ms
            AND EXISTS (SELECT 1 FROM messages m WHERE m.id = :message_id
                AND {MESSAGE.is_in(QUEUED, of="m.")})
        RETURNING message_id, part""",
)


class InFlightOf(Row, frozen=True):
    """Identifies a message some of whose segments are in flight, or may be where it is asked
    for.
    """

    message_id: Id


OUTSTANDING: Final = BatchStatement(
    InFlightOf,
    InFlightOf,
    postgresql="SELECT DISTINCT message_id FROM inflight WHERE message_id = ANY(:message_id)",
    sqlite="SELECT DISTINCT message_id FROM inflight WHERE message_id = :message_id",
)


class OfWorker(Row, frozen=True):
    carrier_id: SmallInt
    worker: BigInt


class InFlightOfWorker(Row, frozen=True):
    """Identifies a submission that a process holds and that is not in doubt."""

    message_id: Id
    part: SmallInt
    parts: SmallInt
    attempt: SmallInt


IN_FLIGHT_OF_WORKER: Final = portable(
    OfWorker,
    InFlightOfWorker,
    f"""
    SELECT message_id, part, parts, attempt FROM inflight WHERE carrier_id = :carrier_id
        AND worker = :worker AND state <> '{IN_DOUBT}'""",
)


class OrphanScope(Row, frozen=True):
    """Says whose submissions are taken over: those of processes without a row, and those that
    `worker` itself holds of the carrier `of_carrier`. What the carrier `simulator` held existed
    only in the process that is gone.
    """

    worker: BigInt
    of_carrier: SmallInt | None
    simulator: SmallInt
    now_ms: BigInt


class Orphan(Row, frozen=True):
    message_id: Id
    part: SmallInt
    prefix: Text
    attempt: SmallInt
    expires_at_ms: BigInt
    carrier_id: SmallInt
    worker: BigInt


_ORPHANED: Final = (
    "(NOT EXISTS (SELECT 1 FROM workers w WHERE w.epoch = inflight.worker) OR (worker = :worker AND"
    " carrier_id = :of_carrier))"
)
DOUBT_ORPHANS: Final = portable(
    OrphanScope,
    Nothing,
    f"""
    UPDATE inflight SET state = '{IN_DOUBT}', since_ms = :now_ms
    WHERE {SEGMENT.may_become(IN_DOUBT)}
        AND carrier_id <> :simulator AND {_ORPHANED}""",
)
ORPHANS: Final = portable(
    OrphanScope,
    Orphan,
    f"""
    SELECT message_id, part, prefix, attempt, expires_at_ms, carrier_id, worker FROM inflight
    WHERE ({SEGMENT.is_in(CLAIMED)}
            OR ({SEGMENT.is_in(SUBMITTING)} AND carrier_id = :simulator))
        AND {_ORPHANED}""",
)
