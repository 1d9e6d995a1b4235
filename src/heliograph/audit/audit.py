"""Audits messages: none is forgotten, and none is made up. `heliograph ledger verify` runs it
beside the proof of the ledger.

Every message is terminal, `sent`, or queued with a row that will bring it on. And what each side
says agrees with the other, when it is held against the SMSCs' logs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph.audit.finding import LOST, UNEXPLAINED, Finding
from heliograph.audit.overrides import Overrides, operator_overrides
from heliograph.audit.positions import MessagePosition, message_positions
from heliograph.audit.reconcile import Reconciliation, find_missing
from heliograph.audit.smsc_log import SmscLog
from heliograph.carriers.smpp.statuses import COMMAND_STATUS
from heliograph.messages.carrier.settle import NOT_ENCODED
from heliograph.messages.retention import MESSAGES, first_kept
from heliograph.messages.states import DELIVERED, FAILED, IN_DOUBT, QUEUED, SENT
from heliograph.messages.tables import STATUSES

FINDINGS_SHOWN_MAX: Final = 20  # whoever has more needs to see why, not all of them
_NO_OVERRIDES: Final = Overrides()  # of a message that no operator has decided about


class Audit(NamedTuple):
    """`figures` say what there is, and how much of it is `lost` or `unexplained`. `findings` are
    the first of those.
    """

    figures: dict[str, int]
    findings: list[Finding]

    @property
    def is_clean(self) -> bool:
        return not self.figures[LOST] and not self.figures[UNEXPLAINED]


def audit(
    tx: Connection,
    log: SmscLog | None = None,
    accepted: Iterable[str] = (),
    shown_max: int = FINDINGS_SHOWN_MAX,
) -> Audit:
    """Returns what was found. `tx` reads one snapshot (`snapshot.read_one_snapshot`), taken after
    the `asked_ms` of the log. `accepted` are raw ids of messages that were answered 200; those that
    were deleted because of their age are not checked. At most `shown_max` findings are returned.
    """
    counts: Counter[str] = Counter()
    overrides = operator_overrides(tx)
    reconciliation = None if log is None else Reconciliation(tx, log, overrides)
    findings = list[Finding]()
    first = first_kept(tx, MESSAGES)
    for finding in _findings(
        tx,
        reconciliation,
        overrides,
        {message_id for message_id in accepted if message_id >= first},
        counts,
    ):
        counts[finding.kind] += 1
        if len(findings) < shown_max:
            findings.append(finding)
    figures = {
        name: counts[name] for name in ("messages", "segments", *STATUSES, "in_flight", "in_doubt")
    }
    figures |= reconciliation.figures if reconciliation is not None else {}
    return Audit(figures | {LOST: counts[LOST], UNEXPLAINED: counts[UNEXPLAINED]}, findings)


def _findings(
    tx: Connection,
    reconciliation: Reconciliation | None,
    overrides: dict[str, Overrides],
    accepted: set[str],
    counts: Counter[str],
) -> Iterator[Finding]:
    strays: list[Finding] = []
    yield from reconciliation.early if reconciliation else ()
    for message in message_positions(
        tx, lambda where, what: strays.append(Finding(UNEXPLAINED, where, what))
    ):
        accepted.discard(message.id)
        counts["messages"] += 1
        counts["segments"] += message.segments
        counts[message.status] += 1
        for segment in message.in_flight:
            counts["in_doubt" if segment.state == IN_DOUBT else "in_flight"] += 1
        for kind, what in (
            *_faults(message),
            *_too_many(message),
            *_find_unfounded(message, overrides.get(message.id, _NO_OVERRIDES)),
        ):
            yield Finding(kind, message.text_id, what)
        if reconciliation is not None:
            yield from reconciliation.check(message)
        yield from strays
        strays.clear()
    yield from strays
    yield from find_missing(accepted)
    if reconciliation is not None:
        yield from reconciliation.check_rest()


def _faults(message: MessagePosition) -> Iterator[tuple[str, str]]:
    """Yields what one message's own rows say against one another."""
    whole, accepted, delivered = message.all_parts, message.parts_accepted, message.parts_delivered
    if (accepted | delivered | message.parts_resent) & ~whole:
        yield (
            UNEXPLAINED,
            f"it has {message.segments} segments, but accepted or delivered ones beyond them",
        )
    if message.status == QUEUED:
        held = 0
        for segment in message.in_flight:
            held |= segment.parts
        if accepted == whole:
            yield LOST, "it is queued, but all of it is accepted"
        elif not message.places and whole & ~accepted & ~held:
            yield LOST, "it is queued, but neither waits for a carrier nor is in flight"
    if (message.status in (SENT, DELIVERED) and accepted != whole) or (
        message.status == DELIVERED and delivered != whole
    ):
        yield UNEXPLAINED, f"it is {message.status}, but not all of its segments are"
    if message.status == SENT and delivered == whole:
        yield UNEXPLAINED, "it is sent, but all of its segments are delivered"
    at_ms = {
        SENT: message.sent_at_ms,
        DELIVERED: message.delivered_at_ms,
        FAILED: message.failed_at_ms,
    }
    if message.status in at_ms and at_ms[message.status] is None:
        yield UNEXPLAINED, f"it is {message.status}, but the time of that is not stored"


def _too_many(message: MessagePosition) -> Iterator[tuple[str, str]]:
    """Yields faults of a message that waits or is in flight in more places than it may.

    A message of one segment is at one place. One of several may wait again while others of its
    segments are in flight, with each carrier that it came back from. When the message ends, those
    rows stay until their turn comes or their validity ends. What was sent once more after a doubt
    may also be settled by its first try.
    """
    places, in_flight, resent_parts = message.places, message.in_flight, message.parts_resent
    if message.segments == 1 and len(places) + len(in_flight) > 1:
        yield (
            UNEXPLAINED,
            (
                f"it has one segment, but is in {len(places) + len(in_flight)} places at once: in"
                " the queue, or in flight"
            ),
        )
    elif len({place.carrier_id for place in places}) < len(places):
        yield UNEXPLAINED, "it waits for one carrier more than once"
    elif any(place.is_first for place in places) and (
        len(places) > 1
        or in_flight
        or message.parts_accepted
        or resent_parts
        or message.status != QUEUED
    ):
        yield (
            UNEXPLAINED,
            (
                f"it is {message.status}, but waits in the queue as if it had never been handed to"
                " a carrier"
            ),
        )
    if (
        message.segments == 1
        and message.status != QUEUED
        and not resent_parts
        and (places or in_flight)
    ):
        yield UNEXPLAINED, f"it is {message.status}, but still waits in the queue, or is in flight"
    elif any(not segment.parts & (~message.parts_accepted | resent_parts) for segment in in_flight):
        yield UNEXPLAINED, "a segment in flight was accepted before, and was not to be sent again"


def _find_unfounded(message: MessagePosition, overrides: Overrides) -> Iterator[tuple[str, str]]:
    """Finds failures that no receipt brings about."""
    code, whole = message.error_code, message.all_parts
    if message.status != FAILED:
        return
    if (
        code == "canceled"
        and not overrides.cancels
        and (message.canceled_at_ms is None or (message.failed_at_ms or 0) < message.canceled_at_ms)
    ):
        yield (
            UNEXPLAINED,
            "it has failed (canceled), but neither an operator nor its campaign canceled it",
        )
    elif (
        code in ("carrier_rejected", "no_route", "blocked")
        and message.parts_accepted & ~overrides.accepted & ~message.parts_resent == whole
    ):
        yield UNEXPLAINED, f"it has failed ({code}), but all of it is accepted"
    if code == "carrier_rejected" and not any(
        why in (message.error_message or "") for why in (COMMAND_STATUS, NOT_ENCODED)
    ):
        yield UNEXPLAINED, f"it has failed ({code}), but no command_status is stored"
