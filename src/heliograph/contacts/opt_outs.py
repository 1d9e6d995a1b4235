"""Stores what a change of contacts makes of opt-outs. A contact is opted out where its phone is
suppressed for the whole account (`opt_outs`).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.contacts.change import ContactPatch
from heliograph.contacts.contact import Contact, ContactOwner
from heliograph.contacts.opt_out_history import Changer, ChangerKind
from heliograph.opt_outs import OptOutOwner, OptOutSource, suppress_and_lift

_SOURCES: Final = {
    ChangerKind.USER: OptOutSource.PORTAL,
    ChangerKind.KEY: OptOutSource.API,
    ChangerKind.OPERATOR: OptOutSource.OPERATOR,
}
_OF_OTHERS: Final = (OptOutSource.KEYWORD, OptOutSource.CARRIER)


class OptOutsOfChange(NamedTuple):
    """Collects the phones that a change opts out, and those that it opts in."""

    out: set[str]
    back: set[str]

    @classmethod
    def of(cls, changed: Sequence[tuple[Contact, bool]]) -> "OptOutsOfChange":
        """Collects opt-outs from contacts as a change leaves these, each with whether the phone
        that it has now was suppressed before.
        """
        return cls(
            {after.phone for after, was_out in changed if after.opted_out and not was_out},
            {after.phone for after, was_out in changed if was_out and not after.opted_out},
        )


def store_opt_outs(
    tx: Connection, owner: ContactOwner, change: OptOutsOfChange, by: Changer, *, now_ms: int
) -> None:
    """Stores opt-outs, and lifts those of phones that want texts again."""
    source = OptOutSource.IMPORT if by.is_import else _SOURCES[by.kind]
    suppress_and_lift(
        tx,
        OptOutOwner(owner.account_id, owner.sandbox),
        change.out,
        change.back,
        source=source,
        now_ms=now_ms,
    )


def without_opt_ins_of_others(change: ContactPatch, source: OptOutSource | None) -> ContactPatch:
    """Returns a change by a file that opts nobody in who has opted out by a keyword, or through the
    carrier: a list that was written before knows nothing of it.
    """
    if source not in _OF_OTHERS or change.given.get("opted_out") is not False:
        return change
    given = {name: value for name, value in change.given.items() if name != "opted_out"}
    return ContactPatch(change.phone, given, change.parts)
