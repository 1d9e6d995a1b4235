"""An Idempotency-Key makes an ordinary POST act once: what succeeded once is answered again, and
not done again (docs/api.md, "Idempotency").

The key's row is written in the transaction of the effect, before the effect: an equal request that
comes meanwhile waits for that row, then replays. Whatever is not a 200 rolls the row back with the
rest, and the key is free. Sends have their own way to the same table (messages/accept/acceptor.py),
where one batch looks up and stores many keys at once.
"""

import hashlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from heliograph.accounts import MEASURES, StorageQuotaReached, Stored, charge, octets_of
from heliograph.base import clock
from heliograph.base.errors import Conflict
from heliograph.base.json import encode
from heliograph.database.commits import refuse_if_held_up
from heliograph.database.outage import is_conflict
from heliograph.database.pruning import Kept
from heliograph.requests.endpoint import Answer, Call
from heliograph.requests.tables import idempotency_keys

KEPT_MS: Final = 72 * 3_600_000
KEPT: Final = (Kept(idempotency_keys.name, "created_at_ms", KEPT_MS),)
WAIT_S: Final = 10.0  # for an equal request that is being carried out

_keys: Final = idempotency_keys.c


class InProgress(Conflict):
    """A request with this Idempotency-Key is being carried out."""

    reason = "idempotency_in_progress"


class _Stored(NamedTuple):
    body_sha256: bytes
    answer: str


def replay_or_run(
    tx: Connection,
    call: Call,
    path: str,
    effect: Callable[[Connection], Answer],
    *,
    is_opt_out: bool = False,
) -> Answer:
    """Returns the effect's answer, stored under the request's key; or the stored one, when the key
    has been used with the same body.

    `path` is method and path, such as `POST /sender-ids`. With `is_opt_out` it is done even if its
    answer cannot be kept, and then the key is left free: a second time changes nothing. Raises
    Conflict when the key was used with another body, InProgress when an equal request takes longer
    than 10 s, StorageQuotaReached when no more answers are kept today, and whatever `effect`
    raises.
    """
    if call.idempotency_key is None:
        return effect(tx)
    now_ms = clock.now_ms()
    place = _place(call, path)
    here = _at(place)
    body_sha256 = hashlib.sha256(call.body).digest()
    tx.execute(idempotency_keys.delete().where(here, _keys.created_at_ms <= now_ms - KEPT_MS))
    stored = _stored(tx, here) or _claim(
        tx, here, {**place, "body_sha256": body_sha256, "created_at_ms": now_ms}
    )
    if stored is not None:
        if stored.body_sha256 != body_sha256:
            raise Conflict
        return Answer({}, replayed=True, raw=stored.answer.encode())
    answer = effect(tx)
    answer.raw = encode({"success": True, **answer.body})
    octets = (
        MEASURES[Stored.ANSWERS].row_octets
        + octets_of(path, call.idempotency_key)
        + len(answer.raw)
    )
    try:
        with tx.begin_nested():  # so that what was counted and is refused is not counted
            charge(
                tx,
                place["account_id"],
                Stored.ANSWERS,
                octets,
                sandbox=place["sandbox"],
                now_ms=now_ms,
            )
            tx.execute(idempotency_keys.update().where(here).values(answer=answer.raw.decode()))
    except StorageQuotaReached:
        if not is_opt_out:
            raise
        tx.execute(idempotency_keys.delete().where(here))
    return answer


def refuse_used_key(tx: Connection, call: Call, path: str) -> None:
    """Raises Conflict when the request's key was used with another body: that is judged
    before what a body names is looked for.
    """
    if call.idempotency_key is None:
        return
    stored = _stored(
        tx, sa.and_(_at(_place(call, path)), _keys.created_at_ms > clock.now_ms() - KEPT_MS)
    )
    if stored is not None and stored.body_sha256 != hashlib.sha256(call.body).digest():
        raise Conflict


def _place(call: Call, path: str) -> dict[str, Any]:
    return {
        "account_id": call.principal.account_id,
        "sandbox": call.principal.sandbox,
        "path": path,
        "key": call.idempotency_key,
    }


def _at(place: dict[str, Any]) -> sa.ColumnElement[bool]:
    return sa.and_(*(_keys[name] == value for name, value in place.items()))


def _stored(tx: Connection, here: sa.ColumnElement[bool]) -> _Stored | None:
    row = tx.execute(sa.select(_keys.body_sha256, _keys.answer).where(here)).one_or_none()
    return None if row is None else _Stored(bytes(row.body_sha256), row.answer)


def _claim(tx: Connection, here: sa.ColumnElement[bool], values: dict[str, Any]) -> _Stored | None:
    """Claims the key. None means that the key is this request's now. A row means that an equal
    request had it, and is done. (On SQLite every writer is alone anyway.)
    """
    until_s = clock.monotonic_s() + WAIT_S
    while True:
        try:
            # so that losing the race, or waiting longer than a lock may take, leaves the
            # transaction usable
            with tx.begin_nested():
                tx.execute(idempotency_keys.insert().values(values))
            return None
        except exc.IntegrityError:
            if (stored := _stored(tx, here)) is not None:
                return stored
        except exc.OperationalError as error:
            if not is_conflict(error):
                raise
            refuse_if_held_up(tx)
            if clock.monotonic_s() >= until_s:
                raise InProgress(retry_after_s=1) from error
