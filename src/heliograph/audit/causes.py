"""Compares how a terminal message ended with what the SMSCs and the operator said of it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from heliograph.audit.finding import UNEXPLAINED
from heliograph.audit.overrides import Overrides
from heliograph.audit.positions import MessagePosition
from heliograph.audit.smsc_log import STATE_BITS, SmscLog, Submit
from heliograph.audit.submissions import parts_in_words, parts_of
from heliograph.carriers.smpp.statuses import status_in_words, status_written_in
from heliograph.messages.states import DELIVERED, FAILED

DELIVRD: Final = STATE_BITS["DELIVRD"]
# which receipts make a message fail so (docs/api.md, "Why a message failed")
_FAILED_BY: Final = {
    "undeliverable": STATE_BITS["UNDELIV"] | STATE_BITS["DELETED"] | STATE_BITS["FAILED"],
    "rejected": STATE_BITS["REJECTD"],
    "expired": STATE_BITS["EXPIRED"],
    "unknown": STATE_BITS["UNKNOWN"],
}
# how a message fails by itself, when validity ends before all of it is accepted
_ENDS: Final = ("expired", "unknown")


class _Statements(NamedTuple):
    """Collects what was said of a message. `receipts` are STATE_BITS of its receipts. `delivered`
    has a bit for each segment that was said to be delivered.
    """

    receipts: int
    delivered: int


def causes(
    message: MessagePosition,
    submits: Sequence[Submit],
    overrides: Overrides,
    log: SmscLog,
    is_unmatched: Callable[[Submit], bool],
) -> Iterator[tuple[str, str]]:
    """Yields findings where neither the SMSC nor the operator has said that a terminal message
    ended as it did. `submits` are those of this message. `is_unmatched` says whether a submission's
    receipt has found no message.
    """
    statements = _statements_of(message, submits, overrides, log, is_unmatched)
    if message.status == DELIVERED:
        missing = message.all_parts & ~statements.delivered
        if missing:
            yield (
                UNEXPLAINED,
                (
                    "it is delivered, but the SMSC did not report that of"
                    f" {parts_in_words(missing, message.segments)}"
                ),
            )
    if message.status == FAILED:
        yield from _failures(message, submits, overrides, statements.receipts)


def _statements_of(
    message: MessagePosition,
    submits: Sequence[Submit],
    overrides: Overrides,
    log: SmscLog,
    is_unmatched: Callable[[Submit], bool],
) -> _Statements:
    owned = 0
    for submit in submits:
        owned |= parts_of(message, submit) if submit.owner == message.id else 0
    receipts = delivered = 0
    for submit in submits:
        parts = parts_of(message, submit)
        # of two tries the one that has counted
        is_heard = submit.owner == message.id or not parts & owned or not is_unmatched(submit)
        reported = submit.receipts if is_heard else 0
        receipts |= reported
        if submit.is_taken and (reported & DELIVRD or not submit.wants_receipt):
            delivered |= parts
    if message.status == DELIVERED and not receipts & DELIVRD:
        delivered = 0  # where one segment asks for a receipt, it decides for the others
    if overrides.matched:
        receipts |= log.receipt_states_of(str(message.recipient))
    taken = [(submit.at_ms, parts_of(message, submit)) for submit in submits if submit.is_taken]
    delivered |= overrides.delivered_bits(taken, bool(receipts & DELIVRD), message.segments)
    return _Statements(receipts, delivered)


def _failures(
    message: MessagePosition, submits: Sequence[Submit], overrides: Overrides, receipts: int
) -> Iterator[tuple[str, str]]:
    status = status_written_in(message.error_message)
    if status is not None and status not in {submit.status for submit in submits}:
        yield (
            UNEXPLAINED,
            f"it has failed with {status_in_words(status)}, but the SMSC did not answer so",
        )
    code = message.error_code or ""
    if code in _FAILED_BY:
        is_said = bool(receipts & _FAILED_BY[code]) or overrides.fails(code)
        ends_by_itself = code in _ENDS and _is_over(message)
        if not is_said and not ends_by_itself:
            yield UNEXPLAINED, f"it has failed ({code}), but no receipt of the SMSC said so"
    if code == "no_route" and any(submit.is_taken for submit in submits):
        yield UNEXPLAINED, f"it has failed ({code}), but the SMSC took it"


def _is_over(message: MessagePosition) -> bool:
    """Returns whether a message failed when its validity had ended, and before all of it was
    accepted.
    """
    has_ended = (message.failed_at_ms or 0) >= (message.expires_at_ms or 0)
    return has_ended and message.parts_accepted != message.all_parts
