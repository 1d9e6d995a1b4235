"""Stores opt-outs and lifts them. Ordinary transactions suppress and lift, and tell of each change,
so that no caller can forget it. Code that heeds keywords stores and deletes in an awaited
transaction, and tells of all changes at once, and of the texts that made them. Rows are written in
the order of their phones, so that two transactions never wait for each other.
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.hot import HotTx, run_in
from heliograph.database.statements import BatchStatement, BigInt, Bool, Id, Row, Text
from heliograph.opt_outs import notes
from heliograph.opt_outs.events import ChangedOptOut, store_opt_out_events
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
    sender: Text


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
        RETURNING s.phone, s.sender""",
    sqlite=f"""
        DELETE FROM suppressions
        WHERE account_id = :account_id AND sandbox = :sandbox AND phone = :phone
            AND (:any_sender OR sender = :sender) AND (NOT :by_keyword_only OR {_BY_KEYWORD})
        RETURNING phone, sender""",
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
    that is new. An opt-out that a keyword made before gets the new source, and so no keyword lifts
    it. Campaigns take back what they have for phones that are new to the scope of the account.
    """
    out = _suppress(tx, owner, phones, source, now_ms, scope)
    store_opt_out_events(tx, out, now_ms)
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
    back = _lift(tx, owner, phones, by, scope)
    store_opt_out_events(tx, back, now_ms)
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
    lifted = _lift(tx, owner, back, source, WHOLE_ACCOUNT)
    new = _suppress(tx, owner, out, source, now_ms, WHOLE_ACCOUNT)
    store_opt_out_events(tx, [*lifted, *new], now_ms)


def _suppress(
    tx: Connection,
    owner: OptOutOwner,
    phones: Iterable[str],
    source: OptOutSource,
    now_ms: int,
    scope: OptOutScope,
) -> list[ChangedOptOut]:
    return run_in(
        tx,
        lambda hot: store_opt_outs(hot, owner, phones, source=source, now_ms=now_ms, scope=scope),
    )


def _lift(
    tx: Connection,
    owner: OptOutOwner,
    phones: Iterable[str],
    by: OptOutSource,
    scope: OptOutScope | None,
) -> list[ChangedOptOut]:
    numbers = sorted(map(int, phones))
    if numbers and scope in (None, WHOLE_ACCOUNT):
        notes.forget(tx, owner, numbers)
    return run_in(
        tx, lambda hot: delete_opt_outs(hot, owner, map(str, numbers), by=by, scope=scope)
    )


async def store_opt_outs(
    tx: HotTx,
    owner: OptOutOwner,
    phones: Iterable[str],
    *,
    source: OptOutSource,
    now_ms: int,
    scope: OptOutScope = WHOLE_ACCOUNT,
) -> list[ChangedOptOut]:
    """Stores opt-outs, and returns those that are new, in the order of their phones. It tells
    nobody.
    """
    made = _new_ids(phones, now_ms)
    given = [
        _NewSuppression(
            **owner._asdict(), phone=phone, sender=scope.sender, id=raw_id, source=source.value
        )
        for phone, raw_id in made.items()
    ]
    stored = {row.id for row in await _SUPPRESS.rows(tx, given)}
    new = [str(phone) for phone, raw_id in made.items() if raw_id in stored]
    # On SQLite there is one writer: nobody accepts beside it what has to be looked for again.
    if scope == WHOLE_ACCOUNT or tx.postgresql:
        await notes.note(tx, owner, new, whole=scope == WHOLE_ACCOUNT)
    return [ChangedOptOut(owner, phone, scope, source, opted_out=True) for phone in new]


async def delete_opt_outs(
    tx: HotTx,
    owner: OptOutOwner,
    phones: Iterable[str],
    *,
    by: OptOutSource,
    scope: OptOutScope | None = WHOLE_ACCOUNT,
) -> list[ChangedOptOut]:
    """Deletes opt-outs, and returns them in the order of their phones. It tells nobody."""
    sender, by_keyword = scope.sender if scope else "", by is OptOutSource.KEYWORD
    given = [
        _ToLift(
            **owner._asdict(),
            phone=phone,
            sender=sender,
            any_sender=scope is None,
            by_keyword_only=by_keyword,
        )
        for phone in sorted(map(int, phones))
    ]
    lifted = sorted((row.phone, row.sender) for row in await _LIFT.rows(tx, given))
    return [
        ChangedOptOut(owner, str(phone), OptOutScope(of_sender), by, opted_out=False)
        for phone, of_sender in lifted
    ]


def _new_ids(phones: Iterable[str], now_ms: int) -> dict[int, str]:
    """Returns a new raw id for each phone, in the order of the phones."""
    return {
        phone: ids.raw_of_number(ids.new_number(now_ms)) for phone in sorted({*map(int, phones)})
    }
