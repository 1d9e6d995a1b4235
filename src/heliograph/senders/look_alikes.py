"""Finds senders that a handset's owner may take for one another. The operator is warned of them,
and decides (OWASP API Security: homoglyphs).
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.short_texts import invalid_field
from heliograph.database.reads import records_of
from heliograph.senders.sender import COLUMNS, Sender, select_waiting
from heliograph.senders.states import APPROVED, SENDER
from heliograph.senders.tables import senders

LOOK_ALIKES_MAX: Final = 5  # named of one sender
WAITING_MAX: Final = 500  # senders that are compared for one page
_SEPARATORS: Final = re.compile(r"[ \-_&.]")
_SIMILAR: Final = str.maketrans("0123456789ij", "olzeasgtbgll")
_DIGRAPHS: Final = {"rn": "m", "vv": "w"}


def skeleton(sender: str) -> str:
    """Returns what senders that look alike have in common: `PAYPA1`, `PAY-PAL` and `paypal` have
    one skeleton. A number is like itself only.
    """
    return sender if sender.isdigit() else as_letters(sender)


def as_letters(sender: str) -> str:
    """Returns the skeleton of a sender whose digits are read as letters, also if it is a number."""
    letters = _SEPARATORS.sub("", sender.lower()).translate(_SIMILAR)
    for pair, letter in _DIGRAPHS.items():
        letters = letters.replace(pair, letter)
    return letters


class WaitingLookAlike(NamedTuple):
    """Holds a sender that waits for approval, and approved ones of others that it looks like."""

    sender: Sender
    like: list[Sender]


def waiting_look_alikes(tx: Connection) -> list[WaitingLookAlike]:
    """Returns live senders that wait for approval and look like others', oldest first, out of the
    WAITING_MAX that have waited the longest.
    """
    waiting, other = select_waiting(limit=WAITING_MAX).subquery(), senders.alias()
    is_like_another = sa.exists().where(
        other.c.skeleton == senders.c.skeleton,
        other.c.account_id != senders.c.account_id,
        other.c.sandbox.is_(False),
        other.c.status == APPROVED,
    )
    # most look like no other, and are not read
    query = sa.select(*COLUMNS).where(
        senders.c.id.in_(sa.select(waiting.c.id)), senders.c.sandbox.is_(False), is_like_another
    )
    found = records_of(Sender, tx.execute(query.order_by(senders.c.id)))
    like = look_alikes(tx, found)
    return [WaitingLookAlike(each, like[each.id]) for each in found if like[each.id]]


def require_reason(tx: Connection, sender: Sender, reason: str | None) -> None:
    """Refuses to approve without a reason what looks like another account's sender, so that
    whoever reads the log later knows why both may have it. Raises InvalidRequest.
    """
    if reason is not None or not SENDER.allows(sender.status, APPROVED):
        return
    if like := look_alikes(tx, [sender])[sender.id]:
        raise invalid_field(
            "reason",
            f"is required, because {sender.sender} looks like {like[0].sender} of another account,"
            " which is approved",
        )


def look_alikes(tx: Connection, records: Sequence[Sender]) -> dict[str, list[Sender]]:
    """Returns, by each record's id, the first few live senders of other accounts that are
    approved and look like it.
    """
    live = {record.id: skeleton(record.sender) for record in records if not record.sandbox}
    query = (
        sa.select(senders.c.skeleton, *COLUMNS)
        .order_by(senders.c.id)
        .where(
            senders.c.skeleton.in_(set(live.values())),
            senders.c.sandbox.is_(False),
            senders.c.status == APPROVED,
        )
    )
    approved: dict[str, list[Sender]] = {}
    for row in tx.execute(query):
        values = row._asdict()
        approved.setdefault(values.pop("skeleton"), []).append(Sender(**values))
    return {
        record.id: [
            other
            for other in approved.get(live.get(record.id, ""), ())
            if other.account_id != record.account_id
        ][:LOOK_ALIKES_MAX]
        for record in records
    }
