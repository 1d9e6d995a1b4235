"""Reconciles messages with the logs of the SMSCs: what one side has, the other must have too, or it
is known why not.

A submission is a message's if recipient and reference say so, and sender, text and part agree.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.audit.causes import DELIVRD, causes
from heliograph.audit.erased import ErasedMessages
from heliograph.audit.finding import LOST, UNEXPLAINED, Finding
from heliograph.audit.overrides import Overrides
from heliograph.audit.positions import MessagePosition
from heliograph.audit.repetitions import repetitions
from heliograph.audit.smsc_log import SmscLog, Submit, plain_id
from heliograph.audit.submissions import difference, forms_of, name_of, parts_in_words, parts_of
from heliograph.base import ids
from heliograph.carriers.tables import carriers
from heliograph.database.reads import raw_id, stream, stream_records
from heliograph.messages.read import MESSAGE_PREFIX, OTP
from heliograph.messages.states import CLAIMED, DELIVERED, FAILED
from heliograph.messages.tables import carrier_refs, unmatched_receipts

_ID_IN_TEXT: Final = re.compile(rb"\bid:([!-~]+)")


class _CarrierRef(NamedTuple):
    """Holds a carrier's id of a message. `message_id` is raw."""

    carrier_id: int
    ref: str
    printed: str | None
    message_id: str
    parts: int


class Reconciliation:
    """Compares one message after the other with the logs, and at the end what is left of the logs.
    `figures` counts.
    """

    def __init__(self, tx: Connection, log: SmscLog, overrides: dict[str, Overrides]) -> None:
        self._log = log
        self._simulators = set(
            tx.execute(sa.select(carriers.c.id).where(carriers.c.type == "simulator")).scalars()
        )
        # segments that the simulator accepted, by message: they are in nobody's log
        self._simulated: dict[str, int] = {}
        self._unmatched = _unmatched(tx)
        self._overrides = overrides
        self._forgotten = ErasedMessages(tx)
        self.early = list(self._own(tx))
        self.figures = {
            "submitted": len(log.submits),
            "taken": sum(submit.is_taken for submit in log.submits),
            "repeated": 0,
            "duplicates": 0,
            "receipts": sum(submit.acknowledged != 0 for submit in log.submits),
            "parked": len(self._unmatched),
        }

    def _own(self, tx: Connection) -> Iterator[Finding]:
        """Checks that each carrier's id that a message has was given by an SMSC, or by the
        simulator.
        """
        columns = carrier_refs.c
        query = sa.select(
            columns.carrier_id,
            columns.ref,
            columns.printed,
            raw_id(columns.message_id).label("message_id"),
            columns.parts,
        )
        query = query.where(columns.message_id.is_not(None))
        for stored_ref in stream_records(tx, query, _CarrierRef):
            if stored_ref.carrier_id in self._simulators:
                before = self._simulated.get(stored_ref.message_id, 0)
                self._simulated[stored_ref.message_id] = before | stored_ref.parts
                continue
            submits = self._log.submits_with_id(stored_ref.ref)
            # a doubt's, adopted from a receipt that was read in a wrong base
            if (
                not submits
                and stored_ref.printed
                and plain_id(stored_ref.ref) in forms_of(stored_ref.printed)
            ):
                submits = self._log.submits_with_id(stored_ref.printed)
            if not submits:
                yield Finding(
                    LOST,
                    ids.text_of_raw(MESSAGE_PREFIX, stored_ref.message_id),
                    f"it has the carrier's id {stored_ref.ref}, which no SMSC gave",
                )
            elif len(submits) > 1:
                continue  # of two SMSCs: which is whose, recipient and text tell
            elif submits[0].owner is not None:
                other = ids.text_of_raw(MESSAGE_PREFIX, submits[0].owner)
                yield Finding(
                    UNEXPLAINED,
                    ids.text_of_raw(MESSAGE_PREFIX, stored_ref.message_id),
                    f"it has the carrier's id {stored_ref.ref}, which {other} has too",
                )
            else:
                submits[0].owner, submits[0].owner_parts = stored_ref.message_id, stored_ref.parts

    def check(self, message: MessagePosition) -> Iterator[Finding]:
        """Yields what is wrong with one message."""
        if message.sandbox or message.encoding is None:
            return  # it has never gone to an SMSC
        if message.recipient is None or (message.text is None and message.type != OTP):
            return self._forgotten.add(message)  # nothing is left of it to compare
        submits = self._claimed(message)
        simulated = self._simulated.get(message.id, 0) or (
            message.all_parts if message.carrier_id in self._simulators and not submits else 0
        )
        overrides = self._overrides.get(message.id) or Overrides()
        found = [
            *_accepted_parts(message, submits, simulated, overrides),
            *self._submissions(message, submits, overrides),
            *self._receipts(message, submits, overrides),
        ]
        if not simulated:
            found += causes(message, submits, overrides, self._log, self._is_unmatched)
        for kind, what in found:
            yield Finding(kind, message.text_id, what)

    def check_rest(self) -> Iterator[Finding]:
        """Finds submissions that are nobody's, and logs that cannot be checked for such."""
        for path, (line, ahead_ms) in self._log.ahead.items():
            what = (
                f"it is dated {ahead_ms // 1_000} s later than now: the clock of that SMSC is"
                " ahead, so what it logged since cannot be checked"
            )
            yield Finding(UNEXPLAINED, f"{path.name} line {line}", what)
        for submit in self._log.submits:
            if (
                not submit.is_claimed
                and submit.at_ms <= self._log.asked_ms
                and not self._forgotten.explains(submit)
            ):
                why = submit.why_not or (
                    "its id belongs to " + ids.text_of_raw(MESSAGE_PREFIX, submit.owner)
                    if submit.owner
                    else "no message matches it"
                )
                yield Finding(UNEXPLAINED, submit.where, f"nobody sent this submit_sm: {why}")

    def _claimed(self, message: MessagePosition) -> list[Submit]:
        own = []
        for submit in self._log.submits_of(str(message.recipient), int(message.id[-3:], 16)):
            if submit.owner not in (None, message.id) or submit.is_claimed:
                continue
            why_not = difference(message, submit)
            if why_not:
                submit.why_not = f"{message.text_id} has another {why_not}"
            else:
                submit.is_claimed = True
                own.append(submit)
        return own

    def _submissions(
        self, message: MessagePosition, submits: list[Submit], overrides: Overrides
    ) -> Iterator[tuple[str, str]]:
        """Checks that each submission that was taken is known to us, or in doubt, and that each
        repetition has a reason.
        """
        on_the_wire = 0
        for segment in message.in_flight:
            on_the_wire |= segment.parts if segment.state != CLAIMED else 0
        known = message.parts_accepted | on_the_wire
        for submit in submits:
            if not submit.is_taken or submit.at_ms > self._log.asked_ms:
                continue
            unknown = parts_of(message, submit) & ~known
            if unknown and not (
                _may_be_unknown(message, submit, unknown) or overrides.explains_unknown(unknown)
            ):
                yield (
                    UNEXPLAINED,
                    (
                        f"the SMSC took {name_of(submit)} ({submit.where}), but here it is neither"
                        " accepted nor in doubt"
                    ),
                )
        if len(submits) > 1:
            yield from self._repetitions(message, submits, overrides)

    def _repetitions(
        self, message: MessagePosition, submits: list[Submit], overrides: Overrides
    ) -> Iterator[tuple[str, str]]:
        repeated: set[Submit] = set()
        for part in range(message.segments):
            of_part = [submit for submit in submits if parts_of(message, submit) >> part & 1]
            yield from repetitions(
                message, part, of_part, overrides.resent_ms(part), self._log.asked_ms, repeated
            )
            self.figures["duplicates"] += max(0, sum(submit.is_taken for submit in of_part) - 1)
        self.figures["repeated"] += len(repeated)

    def _receipts(
        self, message: MessagePosition, submits: list[Submit], overrides: Overrides
    ) -> Iterator[tuple[str, str]]:
        """Yields receipts that were acknowledged, and neither had their effect nor wait for
        their message.
        """
        if message.status in (DELIVERED, FAILED):
            return  # the first final receipt counts, the others change nothing
        # segments that were given a receipt: it may be of another one of the message
        spare = message.parts_delivered & overrides.matched
        for submit in submits:
            spare &= ~parts_of(message, submit) if submit.acknowledged & DELIVRD else spare
        for submit in submits:
            failed = submit.acknowledged & ~DELIVRD
            delivered = (
                submit.acknowledged & DELIVRD
                and parts_of(message, submit) & ~message.parts_delivered
            )
            if (failed or delivered) and not self._is_unmatched(submit):
                if spare and not failed:
                    spare &= spare - 1
                    continue
                yield (
                    LOST,
                    (
                        f"the receipt of {name_of(submit)} ({submit.where}) was acknowledged, but"
                        " it changed nothing"
                    ),
                )

    def _is_unmatched(self, submit: Submit) -> bool:
        return bool(forms_of(submit.message_id or "") & self._unmatched)


def _unmatched(tx: Connection) -> set[str]:
    """Returns the ids in receipts that have found no message."""
    refs, unmatched = carrier_refs.c, unmatched_receipts.c
    found = {
        plain_id(printed)
        for (printed,) in stream(
            tx, sa.select(sa.func.coalesce(refs.printed, refs.ref)).where(refs.message_id.is_(None))
        )
    }
    for ref, raw in stream(tx, sa.select(unmatched.ref, unmatched.raw)):
        text = _ID_IN_TEXT.search(raw)
        printed = ref or (text[1].decode("ascii") if text else None)
        if printed:
            found.add(plain_id(printed))
    return found


def _accepted_parts(
    message: MessagePosition, submits: list[Submit], simulated: int, overrides: Overrides
) -> Iterator[tuple[str, str]]:
    """Checks that the SMSC has taken every segment that counts as accepted, under the id that we
    have.
    """
    taken = 0
    for submit in submits:
        if submit.is_taken:
            parts = parts_of(message, submit)
            taken |= parts
            if (
                submit.owner is not None
                and not submit.owner_parts & parts
                and submit.owner_parts & ~overrides.matched
            ):
                yield (
                    UNEXPLAINED,
                    (
                        f"the SMSC gave its carrier's id {submit.message_id} to another part of it"
                        f" ({submit.where})"
                    ),
                )
    missing = message.parts_accepted & ~taken & ~simulated & ~overrides.accepted
    if missing:
        yield (
            LOST,
            (
                f"{parts_in_words(missing, message.segments)} counts as accepted, but the SMSC did"
                " not take it"
            ),
        )


def _may_be_unknown(message: MessagePosition, submit: Submit, parts: int) -> bool:
    """Returns whether the SMSC may have taken a submission without our knowing: it was in doubt,
    until it was sent once more or validity ended.
    """
    if not submit.may_be_unheard:
        return False
    # then another part decided before
    ended = message.status == FAILED and (message.error_code == "unknown" or message.segments > 1)
    return ended or parts & ~message.parts_resent == 0


def find_missing(accepted: Iterable[str]) -> Iterator[Finding]:
    """Finds messages that clients were promised, and that are not there."""
    return (
        Finding(
            LOST,
            ids.text_of_raw(MESSAGE_PREFIX, message_id),
            "it was answered 200, but it is not stored",
        )
        for message_id in sorted(accepted)
    )
