"""What must hold after every fault: accepted messages are known and settled, the money agrees, the carrier's log leaves nothing unexplained."""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa

from heliograph import wallet
from heliograph.base import ids
from heliograph.base.db import Database
from heliograph.messages.tables import inflight, messages, queue, sends
from heliograph.messages.verify import verify_charges
from tests.crash.remembering_smsc import Submit


class Accepted(NamedTuple):
    """One message that a 200 promised."""

    message_id: str
    recipient: str
    text: str


class Settled(NamedTuple):
    """What the checker counted."""

    messages: int
    submitted_again: int


def unsettled(db: Database) -> int:
    """Messages that wait, are on the wire, or whose receipt is still to come."""
    with db.read() as tx:
        waiting = tx.execute(sa.select(sa.func.coalesce(sa.func.sum(queue.c.count), 0))).scalar_one()
        on_the_wire = tx.execute(sa.select(sa.func.count()).select_from(inflight)).scalar_one()
        open_ones = tx.execute(sa.select(sa.func.count()).where(messages.c.status.in_(("queued", "sent")))).scalar_one()
        return int(waiting) + int(on_the_wire) + int(open_ones)


def check(db: Database, accepted: Collection[Accepted], submits: Collection[Submit], *, duplicates_max: int) -> Settled:
    """Raises AssertionError with what does not hold."""
    with db.read() as tx:
        rows = {row[0]: row for row in tx.execute(
            sa.select(messages.c.id, messages.c.recipient, messages.c.status, sends.c.text).join(sends, sends.c.id == messages.c.send_id))}
        lost = [one for one in accepted if (row := rows.get(ids.raw_of_text("msg", one.message_id) or "")) is None
                or (str(row[1]), row[3]) != (one.recipient, one.text)]
        assert not lost, f"answered with 200 and not stored: {lost[:5]}"
        assert all(row[2] in ("delivered", "failed") for row in rows.values())
        assert wallet.verify(tx) == []
        assert verify_charges(tx) == []
    seen = Counter(submits)
    stored = {Submit(str(row[1]), row[3]): row[2] for row in rows.values()}
    assert len(stored) == len(rows), "the test sends each text to its own number"
    assert set(seen) <= set(stored), "the carrier got what nobody sent"
    missing = [one for one, status in stored.items() if status == "delivered" and one not in seen]
    assert not missing, f"delivered, and never at the carrier: {missing[:5]}"
    failed = [one for one, status in stored.items() if status == "failed"]
    assert not failed, f"nothing of this may fail: {failed[:5]}"
    again = sum(seen.values()) - len(seen)
    assert again <= duplicates_max, f"{again} submitted again; allowed: {duplicates_max}"
    return Settled(len(rows), again)
