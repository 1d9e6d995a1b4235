"""Checks what must hold after every fault: accepted messages are known and settled, the money
agrees, the carrier's log leaves nothing unexplained.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from heliograph import wallet
from heliograph.audit.audit import audit
from heliograph.audit.charges import verify_charges
from heliograph.base import ids
from heliograph.database.database import Database
from heliograph.messages.tables import inflight, messages, queue, sends
from tests.support.books import assert_books_agree
from tests.support.crash.load import Order
from tests.support.crash.remembering_smsc import Submit

Segment = tuple[str, int]  # recipient and part: each message has a recipient of its own


class Settled(NamedTuple):
    """Holds what the checker counted."""

    messages: int
    segments: int
    submitted_again: int
    failed: int


def unsettled(db: Database) -> int:
    """Returns messages that wait, are on the wire, or whose receipt is still to come."""
    with db.read() as tx:
        waiting = tx.execute(
            sa.select(sa.func.coalesce(sa.func.sum(queue.c.count), 0))
        ).scalar_one()
        on_the_wire = tx.execute(sa.select(sa.func.count()).select_from(inflight)).scalar_one()
        open_ones = tx.execute(
            sa.select(sa.func.count()).where(messages.c.status.in_(("queued", "sent")))
        ).scalar_one()
        return int(waiting) + int(on_the_wire) + int(open_ones)


def on_the_wire(db: Database) -> set[Segment]:
    """Returns what the server had recorded as being submitted when it was killed: it is all that
    may be in doubt, and so be sent once more.
    """
    with db.read() as tx:
        rows = tx.execute(
            sa.select(messages.c.recipient, inflight.c.part)
            .join(messages, messages.c.id == inflight.c.message_id)
            .where(inflight.c.state == "submitting")
        )
        return {(str(recipient), part) for recipient, part in rows}


def check_after_kills(
    db: Database,
    accepted: Mapping[Order, str],
    said: Mapping[Order, dict[str, Any]],
    submits: Sequence[Submit],
    doubts: Sequence[set[Segment]],
    aged: Collection[int],
    *,
    window: int,
) -> Settled:
    """Raises AssertionError with what does not hold. `said` is what the API says of what it
    accepted, and `doubts` holds `on_the_wire` at each kill. `aged` says after how many kills all
    doubts were made old enough to be sent once more.
    """
    with db.read() as tx:
        rows = {
            row.id: row
            for row in tx.execute(
                sa.select(messages, sends.c.text).join(sends, sends.c.id == messages.c.send_id)
            )
        }
        assert wallet.verify(tx) == []
        assert verify_charges(tx) == []
        audited = audit(
            tx,
            accepted=[ids.raw_of_text("msg", message_id) or "" for message_id in accepted.values()],
        )
        assert audited.is_clean, audited
    assert_books_agree(db)
    _nothing_is_lost_or_made_up(rows, accepted, said)
    by_recipient = {str(row.recipient): row for row in rows.values()}
    _the_carrier_got_what_was_sent(by_recipient, submits)
    again = _what_was_submitted_again_was_in_doubt(submits, doubts, aged, window)
    times_in_doubt = Counter(segment for doubt in doubts for segment in doubt)
    failed = [row for row in rows.values() if row.status == "failed"]
    # sent once more after the first doubt, never after the second: that is unknown for good
    for row in failed:
        assert row.error_code == "unknown", row
        assert (
            max(times_in_doubt[str(row.recipient), part] for part in range(1, row.segments + 1))
            >= 2
        ), row
        assert row.refunded == row.segments - row.parts_accepted.bit_count(), row
    return Settled(len(rows), sum(row.segments for row in rows.values()), again, len(failed))


def _nothing_is_lost_or_made_up(
    rows: Mapping[str, Any], accepted: Mapping[Order, str], said: Mapping[Order, dict[str, Any]]
) -> None:
    """Checks that what is stored is what was accepted: no more, no less, and to the letter. Every
    unanswered request was asked again.
    """
    assert set(rows) == {ids.raw_of_text("msg", message_id) for message_id in accepted.values()}
    for order, message_id in accepted.items():
        row = rows[ids.raw_of_text("msg", message_id) or ""]
        assert (str(row.recipient), row.text) == (order.recipient, order.text)
        assert row.status in ("delivered", "failed"), row
        answer = said[order]
        assert (answer["id"], answer["recipient"], answer["message"]) == (
            message_id,
            order.recipient,
            order.text,
        )
        assert (answer["status"], answer["credits"], answer["credits_refunded"]) == (
            row.status,
            row.segments,
            row.refunded,
        )


def _the_carrier_got_what_was_sent(
    by_recipient: Mapping[str, Any], submits: Sequence[Submit]
) -> None:
    parts: dict[str, dict[int, str]] = defaultdict(dict)
    references: dict[str, set[int | None]] = defaultdict(set)
    for submit in submits:
        assert submit.parts == by_recipient[submit.recipient].segments, (
            "the carrier got what nobody sent"
        )
        assert parts[submit.recipient].setdefault(submit.part, submit.text) == submit.text, (
            "one part with two texts"
        )
        references[submit.recipient].add(submit.reference)
    for recipient, row in by_recipient.items():
        assert len(references[recipient]) <= 1, "a text's parts belong together by their reference"
        accepted = {
            part for part in range(1, row.segments + 1) if row.parts_accepted >> (part - 1) & 1
        }
        assert accepted <= set(parts[recipient]), "accepted, and never at the carrier"
        if row.status == "delivered":
            assert (
                "".join(parts[recipient][part] for part in range(1, row.segments + 1)) == row.text
            )


def _what_was_submitted_again_was_in_doubt(
    submits: Sequence[Submit], doubts: Sequence[set[Segment]], aged: Collection[int], window: int
) -> int:
    """Checks that what was submitted again was so once, because of the kill that came after it had
    been submitted, and not before the doubt was old; of each kill it was at most a window. Answers
    how many there were.
    """
    assert all(len(doubt) <= window for doubt in doubts), "more in doubt than a window"
    arrivals: dict[Segment, list[int]] = defaultdict(list)
    for submit in submits:
        arrivals[submit.recipient, submit.part].append(submit.kills)
    because_of: Counter[int] = Counter()
    for segment, (first, *again) in arrivals.items():
        assert len(again) <= 1, f"{segment} was submitted {1 + len(again)} times"
        for kills in again:
            assert segment in (doubts[first] if first < len(doubts) else ()), (
                f"{segment} was submitted again, and had not been in doubt"
            )
            assert any(first < at <= kills for at in aged), f"{segment} was submitted again at once"
            because_of[first] += 1
    assert max(because_of.values(), default=0) <= window
    return because_of.total()
