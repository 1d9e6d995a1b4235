"""Notes who has just opted out, for campaigns that are sending to them at that moment. A note is
written with the contact's change, and campaigns read and delete it.

A note stands for itself: the contact may have another phone, or be gone, before it is read.
"""

from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.contacts.contact import Contact, ContactOwner
from heliograph.contacts.tables import opt_outs
from heliograph.database.postgresql.arrays import literal

_ANEW: Final = "ON CONFLICT (account_id, sandbox, phone) DO UPDATE SET due_ms = 0"
_NOTE: Final = sa.text(
    "INSERT INTO opt_outs (account_id, sandbox, phone, due_ms) SELECT CAST(:account_id AS uuid),"
    " :sandbox, phone, 0 FROM unnest(CAST(:phones AS bigint[])) AS v (phone) ORDER BY phone"
    f" {_ANEW}"
)
_NOTE_SQLITE: Final = (
    f"INSERT INTO opt_outs (account_id, sandbox, phone, due_ms) VALUES (?, ?, ?, 0) {_ANEW}"
)


def note(
    tx: Connection, owner: ContactOwner, changes: Iterable[tuple[Contact | None, Contact]]
) -> None:
    """Notes which contacts want no campaigns any more, and which want them again. `changes` holds
    contacts before (None when new) and after a change.

    A contact that opts out with a new phone does so with the old one too, to which something may be
    on its way.
    """
    out, back = set[int](), set[int]()
    for before, after in changes:
        if after.opted_out and (
            before is None or (before.opted_out, before.phone) != (True, after.phone)
        ):
            out |= {int(after.phone), int((before or after).phone)}
        elif before is not None and before.opted_out and not after.opted_out:
            back.add(int(before.phone))
    if back:
        tx.execute(
            sa.delete(opt_outs).where(
                opt_outs.c.account_id == owner.account_id,
                opt_outs.c.sandbox.is_(owner.sandbox),
                opt_outs.c.phone.in_(sorted(back)),
            )
        )
    if not out:
        return
    if tx.dialect.name == "postgresql":
        tx.execute(_NOTE, {**owner._asdict(), "phones": literal(sorted(out))})
    else:
        tx.exec_driver_sql(_NOTE_SQLITE, [(*owner, phone) for phone in sorted(out)])
