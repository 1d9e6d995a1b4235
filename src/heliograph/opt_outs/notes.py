"""Notes who has just opted out, for campaigns that are sending to them at that moment. A note is
written with the opt-out, and campaigns read and delete it.

A note of the whole account stands for itself: the opt-out may be lifted before it is read. One of a
sender only has somebody look again for what is queued: whoever stored the opt-out looks, too, and
may die before.
"""

from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.hot import HotTx
from heliograph.database.statements import BatchStatement, BigInt, Bool, Id, Nothing, Row
from heliograph.opt_outs.suppression import OptOutOwner
from heliograph.opt_outs.tables import opt_outs


class _OptOutNote(Row, frozen=True):
    account_id: Id
    sandbox: Bool
    phone: BigInt
    whole: Bool


_INTO: Final = "INSERT INTO opt_outs (account_id, sandbox, phone, due_ms, whole)"
_ANEW: Final = """ON CONFLICT (account_id, sandbox, phone) DO UPDATE SET due_ms = 0,
        whole = opt_outs.whole OR excluded.whole"""
_NOTE: Final = BatchStatement(
    _OptOutNote,
    Nothing,
    postgresql=f"""
        {_INTO} SELECT account_id, sandbox, phone, 0, whole FROM :given AS g
        ORDER BY account_id, sandbox, phone {_ANEW}""",
    sqlite=f"{_INTO} VALUES (:account_id, :sandbox, :phone, 0, :whole) {_ANEW}",
)


async def note(tx: HotTx, owner: OptOutOwner, phones: Iterable[str], *, whole: bool) -> None:
    """Notes that these phones (E.164 digits) want no campaigns any more, or if not `whole`, none of
    some sender.
    """
    notes = [
        _OptOutNote(owner.account_id, owner.sandbox, phone=phone, whole=whole)
        for phone in sorted(map(int, phones))
    ]
    await _NOTE.rows(tx, notes)


def forget(tx: Connection, owner: OptOutOwner, numbers: Iterable[int]) -> None:
    """Deletes the notes of phones that want campaigns again, if nobody has read them yet. Those of
    a sender stay: what they are about is looked up when they are read.
    """
    columns = opt_outs.c
    tx.execute(
        sa.delete(opt_outs).where(
            columns.account_id == owner.account_id,
            columns.sandbox.is_(owner.sandbox),
            columns.phone.in_(sorted(numbers)),
            columns.whole,
        )
    )
