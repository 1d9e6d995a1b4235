"""Stores opt-outs and lifts them, in transactions of both kinds: ordinary ones, and the awaited
ones of the hot paths. The ordinary ones tell of each change, so that no caller can forget it. Who
awaits tells by itself, of all changes at once and of the texts that made them.

Rows are written in the order of their phones, so that none of two transactions waits for the other
in a circle.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.hot import HotTx
from heliograph.database.postgresql.arrays import literal
from heliograph.database.statements import BatchStatement, BigInt, Bool, Id, Row, Text
from heliograph.opt_outs import notes
from heliograph.opt_outs.events import ChangedOptOut, tell
from heliograph.opt_outs.suppression import WHOLE_ACCOUNT, OptOutOwner, OptOutScope
from heliograph.opt_outs.tables import OptOutSource


class _NewSuppression(Row, frozen=True):
    account_id: Id
    sandbox: Bool
    phone: BigInt
    sender: Text
    id: Id
    source: Text


class _SuppressedPhone(Row, frozen=True):
    """Names a row that was stored, or changed, by its id."""

    id: Id
    phone: BigInt


class _ToLift(Row, frozen=True):
    """Names what is to be lifted. If `any_sender` holds, `sender` does not matter. If
    `by_keyword_only` holds, only what a keyword made is lifted.
    """

    account_id: Id
    sandbox: Bool
    phone: BigInt
    sender: Text
    any_sender: Bool
    by_keyword_only: Bool


class _LiftedPhone(Row, frozen=True):
    phone: BigInt


_INTO: Final = "INSERT INTO suppressions (account_id, sandbox, phone, sender, id, source)"
# What a person or a client asks for is theirs from then on: no keyword lifts it.
_ANEW: Final = f"""
    ON CONFLICT (account_id, sandbox, phone, sender) DO UPDATE SET source = excluded.source
        WHERE suppressions.source = '{OptOutSource.KEYWORD}'
            AND excluded.source <> '{OptOutSource.KEYWORD}'
    RETURNING id, phone"""
_SUPPRESS: Final = BatchStatement(
    _NewSuppression,
    _SuppressedPhone,
    postgresql=f"""
        {_INTO} SELECT account_id, sandbox, phone, sender, id, source FROM :given AS g
        ORDER BY account_id, sandbox, phone, sender {_ANEW}""",
    sqlite=f"""
        {_INTO} VALUES (:account_id, :sandbox, :phone, :sender, :id, :source) {_ANEW}""",
)
_BY_KEYWORD: Final = f"source = '{OptOutSource.KEYWORD}'"
_LIFT: Final = BatchStatement(
    _ToLift,
    _LiftedPhone,
    postgresql=f"""
        DELETE FROM suppressions s USING :given AS g
        WHERE s.account_id = g.account_id AND s.sandbox = g.sandbox AND s.phone = g.phone
            AND (g.any_sender OR s.sender = g.sender)
            AND (NOT g.by_keyword_only OR s.{_BY_KEYWORD})
        RETURNING s.phone""",
    sqlite=f"""
        DELETE FROM suppressions
        WHERE account_id = :account_id AND sandbox = :sandbox AND phone = :phone
            AND (:any_sender OR sender = :sender) AND (NOT :by_keyword_only OR {_BY_KEYWORD})
        RETURNING phone""",
)

# the same for ordinary transactions
_SUPPRESS_ALL: Final = sa.text(
    f"{_INTO} SELECT CAST(:account_id AS uuid), :sandbox, phone, :sender, id, :source"
    " FROM unnest(CAST(:phones AS bigint[]), CAST(:ids AS uuid[])) AS v (phone, id)"
    f" ORDER BY phone {_ANEW}"
)
_SUPPRESS_ONE: Final = f"{_INTO} VALUES (?, ?, ?, ?, ?, ?) {_ANEW}"
_LIFT_ALL: Final = sa.text(
    "DELETE FROM suppressions WHERE account_id = CAST(:account_id AS uuid)"
    " AND sandbox = :sandbox AND phone = ANY(CAST(:phones AS bigint[]))"
    " AND (:any_sender OR sender = :sender)"
    f" AND (NOT :by_keyword_only OR {_BY_KEYWORD}) RETURNING phone, sender"
)
_LIFT_ONE: Final = (
    "DELETE FROM suppressions WHERE account_id = ? AND sandbox = ? AND phone = ?"
    f" AND (? OR sender = ?) AND (NOT ? OR {_BY_KEYWORD}) RETURNING phone, sender"
)


def suppress(
    tx: Connection,
    owner: OptOutOwner,
    phones: Iterable[str],
    *,
    source: OptOutSource,
    now_ms: int,
    scope: OptOutScope = WHOLE_ACCOUNT,
) -> set[str]:
    """Notes that these phones (E.164 digits) want no texts of the scope. Returns those for which
    that is new. What a keyword made before is the new source's, and so no keyword lifts it.
    Campaigns take back what they have for phones that are new to the scope of the account.
    """
    out = _suppressed(tx, owner, phones, source, now_ms, scope)
    tell(tx, out, now_ms)
    return {each.phone for each in out}


def lift(
    tx: Connection,
    owner: OptOutOwner,
    phones: Iterable[str],
    *,
    by: OptOutSource,
    now_ms: int,
    scope: OptOutScope | None = WHOLE_ACCOUNT,
) -> set[str]:
    """Removes the opt-outs of these phones (E.164 digits) from a scope, or from all if `scope` is
    None. A lift by keyword lifts only what a keyword made. Returns those phones of which
    something was lifted.
    """
    back = _lifted(tx, owner, phones, by, scope)
    tell(tx, back, now_ms)
    return {each.phone for each in back}


def suppress_and_lift(
    tx: Connection,
    owner: OptOutOwner,
    out: Iterable[str],
    back: Iterable[str],
    *,
    source: OptOutSource,
    now_ms: int,
) -> None:
    """Does what `suppress` does with the phones of `out`, and `lift` with those of `back`, for the
    scope of the account. All of it is told together.
    """
    lifted = _lifted(tx, owner, back, source, WHOLE_ACCOUNT)
    new = _suppressed(tx, owner, out, source, now_ms, WHOLE_ACCOUNT)
    tell(tx, [*lifted, *new], now_ms)


def _suppressed(
    tx: Connection,
    owner: OptOutOwner,
    phones: Iterable[str],
    source: OptOutSource,
    now_ms: int,
    scope: OptOutScope,
) -> list[ChangedOptOut]:
    """Stores opt-outs, and returns those that are new, in the order of their phones."""
    made = _made(phones, now_ms)
    if not made:
        return []
    rows: Sequence[sa.Row[tuple[object, ...]]] | list[tuple[object, ...]]
    if tx.dialect.name == "postgresql":
        values = {
            **owner._asdict(),
            "sender": scope.sender,
            "source": source.value,
            "phones": literal(list(made)),
            "ids": literal(list(made.values())),
        }
        rows = tx.execute(_SUPPRESS_ALL, values).all()
    else:
        rows = [
            tuple(row)
            for phone, raw_id in made.items()
            for row in tx.exec_driver_sql(
                _SUPPRESS_ONE, (*owner, phone, scope.sender, raw_id, source.value)
            )
        ]
    stored = {str(raw_id).replace("-", "") for raw_id, _ in rows}
    new = [str(phone) for phone, raw_id in made.items() if raw_id in stored]
    if scope == WHOLE_ACCOUNT:
        notes.note(tx, owner, new)
    return [ChangedOptOut(owner, phone, scope, source, opted_out=True) for phone in new]


def _lifted(
    tx: Connection,
    owner: OptOutOwner,
    phones: Iterable[str],
    by: OptOutSource,
    scope: OptOutScope | None,
) -> list[ChangedOptOut]:
    """Deletes opt-outs, and returns them in the order of their phones."""
    numbers = sorted(map(int, phones))
    if not numbers:
        return []
    sender, by_keyword = scope.sender if scope else "", by is OptOutSource.KEYWORD
    if scope in (None, WHOLE_ACCOUNT):
        notes.forget(tx, owner, numbers)
    if tx.dialect.name == "postgresql":
        values = {
            **owner._asdict(),
            "phones": literal(numbers),
            "any_sender": scope is None,
            "sender": sender,
            "by_keyword_only": by_keyword,
        }
        rows = [tuple(row) for row in tx.execute(_LIFT_ALL, values)]
    else:
        rows = [
            tuple(row)
            for phone in numbers
            for row in tx.exec_driver_sql(
                _LIFT_ONE, (*owner, phone, scope is None, sender, by_keyword)
            )
        ]
    return [
        ChangedOptOut(owner, str(phone), OptOutScope(of_sender), by, opted_out=False)
        for phone, of_sender in sorted(rows)
    ]


async def suppress_hot(
    tx: HotTx,
    owner: OptOutOwner,
    phones: Iterable[str],
    *,
    source: OptOutSource,
    now_ms: int,
    scope: OptOutScope = WHOLE_ACCOUNT,
) -> set[str]:
    """Does what `suppress` does, in an awaited transaction, and tells nobody."""
    made = _made(phones, now_ms)
    given = [
        _NewSuppression(*owner, phone, scope.sender, raw_id, source.value)
        for phone, raw_id in made.items()
    ]
    stored = {row.id for row in await _SUPPRESS.rows(tx, given)}
    new = {str(phone) for phone, raw_id in made.items() if raw_id in stored}
    if scope == WHOLE_ACCOUNT:
        await notes.note_hot(tx, owner, new)
    return new


async def lift_hot(
    tx: HotTx,
    owner: OptOutOwner,
    phones: Iterable[str],
    *,
    by: OptOutSource,
    scope: OptOutScope | None = WHOLE_ACCOUNT,
) -> set[str]:
    """Does what `lift` does, in an awaited transaction, and tells nobody."""
    sender, by_keyword = scope.sender if scope else "", by is OptOutSource.KEYWORD
    given = [
        _ToLift(*owner, phone, sender, scope is None, by_keyword)
        for phone in sorted(map(int, phones))
    ]
    return {str(row.phone) for row in await _LIFT.rows(tx, given)}


def _made(phones: Iterable[str], now_ms: int) -> dict[int, str]:
    """Returns a new raw id for each phone, in the order of the phones."""
    return {
        phone: ids.raw_of_number(ids.new_number(now_ms)) for phone in sorted({*map(int, phones)})
    }
