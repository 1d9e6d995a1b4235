"""Finds submissions that were sent again, and the reason for each."""

from collections.abc import Iterator, Sequence

from heliograph.audit.finding import UNEXPLAINED
from heliograph.audit.positions import MessagePosition
from heliograph.audit.smsc_log import Submit
from heliograph.audit.submissions import name_of
from heliograph.messages.read import OTP


def repetitions(
    message: MessagePosition,
    part: int,
    submits: Sequence[Submit],
    resent_ms: Sequence[int],
    asked_ms: int,
    repeated: set[Submit],
) -> Iterator[tuple[str, str]]:
    """Tells which submissions of one segment, counted from 0, were sent again without a reason, and
    adds all that were sent again to `repeated`. `resent_ms` says when the operator has said that it
    is to be sent again. What came after `asked_ms` need not have a reason.

    What was taken is sent again because nobody knew: once by itself, and once each time that the
    operator has said so, after which it is not sent again by itself. Both are marked, and neither
    ever happens to an OTP.
    """
    is_marked = bool(message.parts_resent >> part & 1) and message.type != OTP
    may_by_itself = True
    read_late: Submit | None = None
    for before, submit in zip([None, *submits], submits, strict=False):
        resends_asked = [at_ms for at_ms in resent_ms if at_ms <= submit.at_ms]
        # what was said several times before one submission: those between never came to the SMSC
        resent_ms = resent_ms[len(resends_asked) :]
        if before is None:
            # The operator asked before the first submission was read. That one may be older than
            # the request, and was then read late, because it came over another connection.
            read_late = submit if resends_asked else None
            continue
        if submit in repeated:
            continue
        repeated.add(submit)
        is_late = before is read_late and before.connection is submit.connection
        by_itself = may_by_itself and before.may_be_unheard and not is_late
        has_reason = is_marked and (bool(resends_asked) or by_itself)
        if before.is_taken and not has_reason and submit.at_ms <= asked_ms:
            yield (
                UNEXPLAINED,
                (
                    f"{name_of(submit)} was sent again ({submit.where}), though the SMSC had"
                    f" taken it ({before.where})"
                ),
            )
        may_by_itself = may_by_itself and not before.is_taken and not resends_asked
