"""Records each opt-out and opt-in of a contact: when, and by whom. A row is written in the
transaction of the change, and deleted with the contact.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.base.short_texts import shorten
from heliograph.contacts.contact import Contact, ContactOwner
from heliograph.contacts.tables import CHANGER_NAME_MAX, opt_out_changes
from heliograph.database.arrays import literal

CHANGES_SHOWN_MAX: Final = 50  # of a contact: more than anybody reads
# measured on PostgreSQL with its indexes, rounded up
CHANGE_OCTETS: Final = 300

_INSERT: Final = sa.text(
    "INSERT INTO opt_out_changes (id, account_id, contact_id, opted_out, by_kind, by_name,"
    " is_import) SELECT id, CAST(:account_id AS uuid), contact_id, opted_out, :by_kind, :by_name,"
    " :is_import FROM unnest(CAST(:ids AS uuid[]), CAST(:contact_ids AS uuid[]),"
    " CAST(:opted_outs AS bool[])) AS v (id, contact_id, opted_out)"
)


class ChangerKind(StrEnum):
    """Lists the kinds of those who can opt a contact out or in. The value is the one in the
    database.
    """

    USER = "user"
    KEY = "key"
    OPERATOR = "operator"


class Changer(NamedTuple):
    """Says who changes contacts. `name` is a user's address or a key's name; None for the operator.
    `is_import` says that a file of contacts is imported.
    """

    kind: ChangerKind
    name: str | None = None
    is_import: bool = False


OPERATOR: Final = Changer(ChangerKind.OPERATOR)


class OptOutChange(NamedTuple):
    """Tells that a contact was opted out, or in again."""

    opted_out: bool
    by: Changer
    at_ms: int


def record_opt_outs(
    tx: Connection,
    owner: ContactOwner,
    changes: Iterable[tuple[Contact, bool]],
    by: Changer,
) -> None:
    """Records which contacts have opted out or in. `changes` holds contacts after a change, and
    whether they were opted out before it. The caller holds the lock of the owner's contacts, so the
    rows of a contact are in the order of its changes.
    """
    changed = [after for after, was_out in changes if after.opted_out != was_out]
    if not changed:
        return
    made = [ids.raw_of_number(ids.new_number()) for _ in changed]
    same = {
        "account_id": owner.account_id,
        "by_kind": by.kind.value,
        # `shorten` adds a sign of its own
        "by_name": None if by.name is None else shorten(by.name, CHANGER_NAME_MAX - 1),
        "is_import": by.is_import,
    }
    if tx.dialect.name == "postgresql":
        columns = {
            "ids": literal(made),
            "contact_ids": literal([contact.id for contact in changed]),
            "opted_outs": literal([contact.opted_out for contact in changed]),
        }
        tx.execute(_INSERT, same | columns)
    else:
        tx.execute(
            opt_out_changes.insert(),
            [
                {"id": raw, "contact_id": contact.id, "opted_out": contact.opted_out, **same}
                for raw, contact in zip(made, changed, strict=True)
            ],
        )


def opt_out_history(tx: Connection, contact: Contact) -> Sequence[OptOutChange]:
    """Returns the newest changes, newest first, at most CHANGES_SHOWN_MAX. An opt-out from before
    they were recorded is not among them.
    """
    query = (
        sa.select(opt_out_changes)
        .where(opt_out_changes.c.contact_id == contact.id)
        .order_by(opt_out_changes.c.id.desc())
        .limit(CHANGES_SHOWN_MAX)
    )
    return [
        OptOutChange(
            row.opted_out,
            Changer(ChangerKind(row.by_kind), row.by_name, row.is_import),
            ids.made_at_ms(int(row.id, 16)),
        )
        for row in tx.execute(query)
    ]


def forget_opt_outs(tx: Connection, contact: Contact) -> None:
    """Deletes what is recorded of a contact that is deleted."""
    tx.execute(opt_out_changes.delete().where(opt_out_changes.c.contact_id == contact.id))
