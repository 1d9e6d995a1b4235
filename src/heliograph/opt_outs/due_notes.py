"""Takes up the notes of people who have opted out (`notes.py`), for campaigns, which heed them. A
note is new, and then seen; it is due, and then ended or put off.
"""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.hot import HotTx
from heliograph.database.statements import (
    BatchStatement,
    BigInt,
    Bool,
    Id,
    Int,
    Nothing,
    Row,
    Statement,
)
from heliograph.opt_outs.tables import opt_outs


class OptedOutPhone(Row, frozen=True):
    """Identifies a phone, as E.164 digits in a number, to which an account (raw id) sends in a
    mode.
    """

    account_id: Id
    sandbox: Bool
    phone: BigInt


class DueNote(Row, frozen=True):
    """Holds a note. If it is not `whole`, it is about the texts of some sender alone."""

    account_id: Id
    sandbox: Bool
    phone: BigInt
    whole: Bool

    @property
    def person(self) -> OptedOutPhone:
        return OptedOutPhone(self.account_id, self.sandbox, self.phone)


class _DueNow(Row, frozen=True):
    now_ms: BigInt
    most: Int


class _MostNotes(Row, frozen=True):
    most: Int


class _PostponedNote(Row, frozen=True):
    account_id: Id
    sandbox: Bool
    phone: BigInt
    due_ms: BigInt


# A note is new, and then seen: between the two, those are waited for who may be accepting something
# for its phone without having seen the opt-out. SQLite has one writer, and nobody who may.
_SEEN_MS: Final = 1
_SEE: Final = Statement(
    _MostNotes,
    OptedOutPhone,
    postgresql=f"""
        WITH new AS (SELECT account_id, sandbox, phone FROM opt_outs WHERE due_ms < {_SEEN_MS}
            ORDER BY account_id, sandbox, phone LIMIT :most FOR UPDATE SKIP LOCKED)
        UPDATE opt_outs o SET due_ms = {_SEEN_MS} FROM new WHERE o.account_id = new.account_id
            AND o.sandbox = new.sandbox AND o.phone = new.phone
        RETURNING o.account_id, o.sandbox, o.phone""",
)
_NEXT_DUE: Final = """
    SELECT account_id, sandbox, phone, whole FROM opt_outs WHERE due_ms <= :now_ms{seen}
        ORDER BY due_ms, account_id, sandbox, phone LIMIT :most"""
_DUE: Final = Statement(
    _DueNow,
    DueNote,
    postgresql=_NEXT_DUE.format(seen=f" AND due_ms >= {_SEEN_MS}") + " FOR UPDATE SKIP LOCKED",
    sqlite=_NEXT_DUE.format(seen=""),
)
_PERSON: Final = "account_id = :account_id AND sandbox = :sandbox AND phone = :phone"
_END: Final = BatchStatement(
    OptedOutPhone,
    Nothing,
    postgresql="""
        DELETE FROM opt_outs o USING :given AS g WHERE o.account_id = g.account_id
            AND o.sandbox = g.sandbox AND o.phone = g.phone""",
    sqlite=f"DELETE FROM opt_outs WHERE {_PERSON}",
)
_AGAIN: Final = BatchStatement(
    _PostponedNote,
    Nothing,
    postgresql="""
        UPDATE opt_outs o SET due_ms = g.due_ms FROM :given AS g
        WHERE o.account_id = g.account_id AND o.sandbox = g.sandbox AND o.phone = g.phone""",
    sqlite=f"UPDATE opt_outs SET due_ms = :due_ms WHERE {_PERSON}",
)


def has_due(tx: Connection, now_ms: int) -> bool:
    """Returns whether there is anything to heed. It is asked at each look, by index."""
    return (
        tx.execute(sa.select(opt_outs.c.phone).where(opt_outs.c.due_ms <= now_ms).limit(1)).first()
        is not None
    )


async def mark_new_seen(tx: HotTx, most: int) -> list[OptedOutPhone]:
    """Sees new notes, at most so many, and returns whom they are about. On SQLite none is new."""
    return await _SEE.rows(tx, _MostNotes(most)) if tx.postgresql else []


async def lock_due(tx: HotTx, now_ms: int, most: int) -> list[DueNote]:
    """Returns the next notes that are due and were seen, at most so many. They are locked."""
    return await _DUE.rows(tx, _DueNow(now_ms, most))


async def postpone(tx: HotTx, people: Sequence[OptedOutPhone], due_ms: int) -> None:
    """Lets the notes of these people be due again at that time."""
    await _AGAIN.rows(
        tx,
        [
            _PostponedNote(person.account_id, person.sandbox, person.phone, due_ms)
            for person in people
        ],
    )


async def delete(tx: HotTx, people: Sequence[OptedOutPhone]) -> None:
    """Deletes the notes of these people, who were heeded."""
    await _END.rows(tx, people)
