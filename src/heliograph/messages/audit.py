"""The audit of messages: none is forgotten, none is made up. `heliograph ledger verify` runs it beside the proof of the ledger.

Every message is terminal, `sent`, or queued with a row that will bring it on; and, held against the SMSCs' logs, what the one side says of it
agrees with the other.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.messages.join import LOST, UNEXPLAINED, Finding, Join, missing
from heliograph.messages.smsc_log import SmscLog
from heliograph.messages.standing import Standing, standings
from heliograph.messages.states import DELIVERED, FAILED, QUEUED, SENT
from heliograph.messages.tables import STATUSES

FINDINGS_SHOWN_MAX: Final = 20  # whoever has more needs to see why, not all of them


class Audit(NamedTuple):
    """`figures`: what there is, and how much of it is `lost` or `unexplained`. `findings`: the first of those."""

    figures: dict[str, int]
    findings: list[Finding]

    @property
    def is_clean(self) -> bool:
        return not self.figures[LOST] and not self.figures[UNEXPLAINED]


def audit(tx: Connection, log: SmscLog | None = None, accepted: Iterable[str] = (), shown_max: int = FINDINGS_SHOWN_MAX) -> Audit:
    """`tx` sees one moment (`wallet.hold_still`), after the `asked_ms` of the log. `accepted`: raw ids of messages that were answered 200."""
    counts: Counter[str] = Counter()
    join = None if log is None else Join(tx, log)
    found = list[Finding]()
    for finding in _findings(tx, join, set(accepted), counts):
        counts[finding.kind] += 1
        if len(found) < shown_max:
            found.append(finding)
    figures = {name: counts[name] for name in ("messages", "segments", *STATUSES, "in_flight", "in_doubt")}
    figures |= join.figures if join is not None else {}
    return Audit(figures | {LOST: counts[LOST], UNEXPLAINED: counts[UNEXPLAINED]}, found)


def _findings(tx: Connection, join: Join | None, accepted: set[str], counts: Counter[str]) -> Iterator[Finding]:
    strays: list[Finding] = []
    yield from join.early if join else ()
    for message in standings(tx, lambda where, what: strays.append(Finding(UNEXPLAINED, where, what))):
        accepted.discard(message.id)
        counts["messages"] += 1
        counts["segments"] += message.segments
        counts[message.status] += 1
        for segment in message.in_flight:
            counts["in_doubt" if segment.state == "in_doubt" else "in_flight"] += 1
        for kind, what in _faults(message):
            yield Finding(kind, message.text_id, what)
        if join is not None:
            yield from join.of(message)
        yield from strays
        strays.clear()
    yield from strays
    yield from missing(accepted)
    if join is not None:
        yield from join.left()


def _faults(message: Standing) -> Iterator[tuple[str, str]]:
    """What one message's own rows say against one another."""
    whole, accepted, delivered = message.all_parts, message.parts_accepted, message.parts_delivered
    if (accepted | delivered | message.parts_resent) & ~whole:
        yield UNEXPLAINED, f"it has {message.segments} segments, and knows of others"
    if message.status == QUEUED:
        held = 0
        for segment in message.in_flight:
            held |= segment.parts
        if accepted == whole:
            yield LOST, "it is queued, and all of it is accepted"
        elif not message.runs and whole & ~accepted & ~held:
            yield LOST, "it is queued, and neither waits for a carrier nor is in flight"
    if (message.status in (SENT, DELIVERED) and accepted != whole) or (message.status == DELIVERED and delivered != whole):
        yield UNEXPLAINED, f"it is {message.status}, and not all of its segments are"
    if message.status == SENT and delivered == whole:
        yield UNEXPLAINED, "it is sent, and all of its segments are delivered"
    at_ms = {SENT: message.sent_at_ms, DELIVERED: message.delivered_at_ms, FAILED: message.failed_at_ms}
    if message.status in at_ms and at_ms[message.status] is None:
        yield UNEXPLAINED, f"it is {message.status}, and not since when"
