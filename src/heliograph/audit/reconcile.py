"""Messages joined with what the SMSCs say that they were given: whatever the one side has, the
other has it too, or it is known why not.

A submission is a message's if recipient and reference say so, and sender, text and part agree. It
shares no code with what encodes them (docs/decisions/carriers.md, S14): the text's parts are made
anew, and the reference is taken apart as S1 says.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.audit.erased import Forgotten
from heliograph.audit.overrides import Word
from heliograph.audit.positions import Standing
from heliograph.audit.smsc_log import STATE_BITS, SmscLog, Submit, plain
from heliograph.base import ids
from heliograph.carriers.tables import carriers
from heliograph.messages.read import OTP
from heliograph.messages.states import DELIVERED, FAILED
from heliograph.messages.tables import carrier_refs, unmatched_receipts
from heliograph.text import split_segments
from heliograph.wallet import raw_id, streamed

LOST: Final = "lost"  # something that we or the SMSC answered for, and that is nowhere
UNEXPLAINED: Final = "unexplained"  # something that is there, or happened, without a cause

TEXTS_KEPT_MAX: Final = 512
_DELIVRD: Final = STATE_BITS["DELIVRD"]
# which receipts make a message fail so (docs/api.md, "Why a message failed")
_FAILED_BY: Final = {
    "undeliverable": STATE_BITS["UNDELIV"] | STATE_BITS["DELETED"] | STATE_BITS["FAILED"],
    "rejected": STATE_BITS["REJECTD"],
    "expired": STATE_BITS["EXPIRED"],
    "unknown": STATE_BITS["UNKNOWN"],
}
# … or by itself, when validity ends before all of it is accepted
_ENDS: Final = ("expired", "unknown")
COMMAND_STATUS: Final = "command_status 0x"  # in the error_message of what a carrier has refused
_STATUS: Final = re.compile(COMMAND_STATUS + "([0-9A-F]{8})")
_ID_IN_TEXT: Final = re.compile(rb"\bid:([!-~]+)")


class Finding(NamedTuple):
    """Something that must not be. `where`: a message's id, or a line of a log."""

    kind: str
    where: str
    what: str


class Join:
    """Asked of one message after the other, and of what is left at the end. `figures` counts."""

    def __init__(self, tx: Connection, log: SmscLog, said: dict[str, Word]) -> None:
        self._log = log
        self._simulators = set(
            tx.execute(sa.select(carriers.c.id).where(carriers.c.type == "simulator")).scalars()
        )
        # segments that the simulator accepted, by message: they are in nobody's log
        self._simulated: dict[str, int] = {}
        self._parked = _parked(tx)
        self._words = said
        self._forgotten = Forgotten(tx)
        self.early = list(self._own(tx))
        self.figures = {
            "submitted": len(log.submits),
            "taken": sum(submit.is_taken for submit in log.submits),
            "repeated": 0,
            "duplicates": 0,
            "receipts": sum(submit.acknowledged != 0 for submit in log.submits),
            "parked": len(self._parked),
        }

    def _own(self, tx: Connection) -> Iterator[Finding]:
        """The carriers' ids that messages have: each was given by an SMSC, or by the simulator."""
        columns = carrier_refs.c
        query = sa.select(
            columns.carrier_id,
            columns.ref,
            columns.printed,
            raw_id(columns.message_id),
            columns.parts,
        )
        for carrier_id, ref, printed, message_id, parts in streamed(
            tx, query.where(columns.message_id.is_not(None))
        ):
            if carrier_id in self._simulators:
                self._simulated[message_id] = self._simulated.get(message_id, 0) | parts
                continue
            given = self._log.with_id(ref)
            # a doubt's, adopted from a receipt that was read in a wrong base
            if not given and printed and plain(ref) in _forms(printed):
                given = self._log.with_id(printed)
            if not given:
                yield Finding(
                    LOST,
                    ids.text_of_raw("msg", message_id),
                    f"it has the carrier's id {ref}, which no SMSC has given",
                )
            elif len(given) > 1:
                continue  # of two SMSCs: which is whose, recipient and text tell
            elif given[0].owner is not None:
                other = ids.text_of_raw("msg", given[0].owner)
                yield Finding(
                    UNEXPLAINED,
                    ids.text_of_raw("msg", message_id),
                    f"it has the carrier's id {ref}, which {other} has too",
                )
            else:
                given[0].owner, given[0].owner_parts = message_id, parts

    def of(self, message: Standing) -> Iterator[Finding]:
        """What is wrong with one message."""
        if message.sandbox or message.encoding is None:
            return  # it has never gone to an SMSC
        if message.recipient is None or (message.text is None and message.type != OTP):
            return self._forgotten.add(message)  # nothing is left of it to compare
        submits = self._claimed(message)
        simulated = self._simulated.get(message.id, 0) or (
            message.all_parts if message.carrier_id in self._simulators and not submits else 0
        )
        word = self._words.get(message.id) or Word()
        found = [
            *_accepted_parts(message, submits, simulated, word),
            *self._submissions(message, submits, word),
            *self._receipts(message, submits, word),
        ]
        found += [] if simulated else self._causes(message, submits, word)
        for kind, what in found:
            yield Finding(kind, message.text_id, what)

    def left(self) -> Iterator[Finding]:
        """Submissions that are nobody's, and logs of which that cannot be told."""
        for path, (line, ahead_ms) in self._log.ahead.items():
            what = (
                f"it is dated {ahead_ms // 1_000} s later than now: the clock of that SMSC is"
                " ahead, and what it logged since cannot be judged"
            )
            yield Finding(UNEXPLAINED, f"{path.name} line {line}", what)
        for submit in self._log.submits:
            if (
                not submit.is_claimed
                and submit.at_ms <= self._log.asked_ms
                and not self._forgotten.explains(submit)
            ):
                why = submit.why_not or (
                    "its id is that of " + ids.text_of_raw("msg", submit.owner)
                    if submit.owner
                    else "no message is like it"
                )
                yield Finding(UNEXPLAINED, submit.where, f"a submit_sm that nobody has sent: {why}")

    def _claimed(self, message: Standing) -> list[Submit]:
        own = []
        for submit in self._log.of(str(message.recipient), int(message.id[-3:], 16)):
            if submit.owner not in (None, message.id) or submit.is_claimed:
                continue
            why_not = _difference(message, submit)
            if why_not:
                submit.why_not = f"{message.text_id} has another {why_not}"
            else:
                submit.is_claimed = True
                own.append(submit)
        return own

    def _submissions(
        self, message: Standing, submits: list[Submit], word: Word
    ) -> Iterator[tuple[str, str]]:
        """Each that was taken is known to us, or in doubt; each repetition has a reason."""
        on_the_wire = 0
        for segment in message.in_flight:
            on_the_wire |= segment.parts if segment.state != "claimed" else 0
        for submit in submits:
            unknown = (
                _parts(message, submit) & ~message.parts_accepted & ~on_the_wire
                if submit.is_taken
                else 0
            )
            if (
                unknown
                and submit.at_ms <= self._log.asked_ms
                and not (
                    _may_be_unknown(message, submit, unknown) or word.explains_unknown(unknown)
                )
            ):
                yield (
                    UNEXPLAINED,
                    (
                        f"the SMSC has taken {_named(submit)} ({submit.where}), and it is neither"
                        " accepted here nor in doubt"
                    ),
                )
        if len(submits) > 1:
            repeated: set[Submit] = set()
            for part in range(message.segments):
                of_part = [submit for submit in submits if _parts(message, submit) >> part & 1]
                yield from self._repetitions(message, part, of_part, word.resent_ms(part), repeated)
                self.figures["duplicates"] += max(0, sum(submit.is_taken for submit in of_part) - 1)
            self.figures["repeated"] += len(repeated)

    def _repetitions(
        self,
        message: Standing,
        part: int,
        submits: list[Submit],
        resent_ms: list[int],
        repeated: set[Submit],
    ) -> Iterator[tuple[str, str]]:
        """Of one segment. What was taken is sent again because nobody knew: once by itself, and
        once each time that the operator has said so, after which it is not sent again by itself.
        Both are marked, and neither ever happens to an OTP.
        """
        may_by_itself, is_marked = (
            True,
            bool(message.parts_resent >> part & 1) and message.type != OTP,
        )
        read_late: Submit | None = None
        for before, submit in zip([None, *submits], submits, strict=False):
            said = [at_ms for at_ms in resent_ms if at_ms <= submit.at_ms]
            # what was said several times before one submission: those between never came to the
            # SMSC
            resent_ms = resent_ms[len(said) :]
            if before is None:
                # or it is of before that, and was read when it was sent again already: on another
                # connection
                read_late = submit if said else None
            elif submit not in repeated:
                repeated.add(submit)
                by_itself = (
                    may_by_itself
                    and before.may_be_unheard
                    and not (before is read_late and before.connection is submit.connection)
                )
                if (
                    before.is_taken
                    and not (is_marked and (said or by_itself))
                    and submit.at_ms <= self._log.asked_ms
                ):
                    yield (
                        UNEXPLAINED,
                        (
                            f"{_named(submit)} was sent again ({submit.where}), though the SMSC had"
                            f" taken it ({before.where})"
                        ),
                    )
                may_by_itself &= not before.is_taken and not said

    def _receipts(
        self, message: Standing, submits: list[Submit], word: Word
    ) -> Iterator[tuple[str, str]]:
        """What was acknowledged has had its effect, or waits for its message."""
        if message.status in (DELIVERED, FAILED):
            return  # the first final receipt counts, the others change nothing
        # segments that were given a receipt: it may be of another one of the message
        spare = message.parts_delivered & word.matched
        for submit in submits:
            spare &= ~_parts(message, submit) if submit.acknowledged & _DELIVRD else spare
        for submit in submits:
            failed = submit.acknowledged & ~_DELIVRD
            delivered = (
                submit.acknowledged & _DELIVRD
                and _parts(message, submit) & ~message.parts_delivered
            )
            if (failed or delivered) and not self._is_parked(submit):
                if spare and not failed:
                    spare &= spare - 1
                    continue
                yield (
                    LOST,
                    (
                        f"the receipt of {_named(submit)} ({submit.where}) was acknowledged, and"
                        " nothing is known of it"
                    ),
                )

    def _is_parked(self, submit: Submit) -> bool:
        return bool(_forms(submit.message_id or "") & self._parked)

    def _causes(
        self, message: Standing, submits: list[Submit], word: Word
    ) -> Iterator[tuple[str, str]]:
        """What a terminal message came to is what the SMSC has said, or the operator."""
        said = delivered = owned = 0
        for submit in submits:
            owned |= _parts(message, submit) if submit.owner == message.id else 0
        for submit in submits:
            parts = _parts(message, submit)
            # of two tries the one that has counted
            is_heard = (
                submit.owner == message.id or not parts & owned or not self._is_parked(submit)
            )
            receipts = submit.receipts if is_heard else 0
            said |= receipts
            delivered |= (
                parts
                if submit.is_taken and (receipts & _DELIVRD or not submit.wants_receipt)
                else 0
            )
        if message.status == DELIVERED and not said & _DELIVRD:
            delivered = 0  # where one segment asks for a receipt, it decides for the others
        said |= self._log.said_to(str(message.recipient)) if word.matched else 0
        delivered |= word.delivered(
            [(submit.at_ms, _parts(message, submit)) for submit in submits if submit.is_taken],
            bool(said & _DELIVRD),
            message.segments,
        )
        if message.status == DELIVERED and (missing := message.all_parts & ~delivered):
            yield (
                UNEXPLAINED,
                (
                    "it is delivered, and the SMSC has not said so of"
                    f" {_which(missing, message.segments)}"
                ),
            )
        if message.status != FAILED:
            return
        status = _STATUS.search(message.error_message or "")
        if status and int(status[1], 16) not in {submit.status for submit in submits}:
            yield (
                UNEXPLAINED,
                (
                    f"it has failed with command_status 0x{status[1]}, and the SMSC has not"
                    " answered so"
                ),
            )
        code = message.error_code or ""
        is_over = (message.failed_at_ms or 0) >= (
            message.expires_at_ms or 0
        ) and message.parts_accepted != message.all_parts
        if (
            code in _FAILED_BY
            and not (code in _ENDS and is_over)
            and not said & _FAILED_BY[code]
            and not word.fails(code)
        ):
            yield UNEXPLAINED, f"it has failed ({code}), and no receipt of the SMSC has said so"
        if code == "no_route" and any(submit.is_taken for submit in submits):
            yield UNEXPLAINED, f"it has failed ({code}), and the SMSC has taken it"


def _parked(tx: Connection) -> set[str]:
    """Ids in receipts that have found no message."""
    refs, kept = carrier_refs.c, unmatched_receipts.c
    found = {
        plain(printed)
        for (printed,) in streamed(
            tx, sa.select(sa.func.coalesce(refs.printed, refs.ref)).where(refs.message_id.is_(None))
        )
    }
    for ref, raw in streamed(tx, sa.select(kept.ref, kept.raw)):
        text = _ID_IN_TEXT.search(raw)
        printed = ref or (text[1].decode("ascii") if text else None)
        if printed:
            found.add(plain(printed))
    return found


def _accepted_parts(
    message: Standing, submits: list[Submit], simulated: int, word: Word
) -> Iterator[tuple[str, str]]:
    """Every segment that counts as accepted was taken by the SMSC, under the id that we have."""
    taken = 0
    for submit in submits:
        if submit.is_taken:
            parts = _parts(message, submit)
            taken |= parts
            if (
                submit.owner is not None
                and not submit.owner_parts & parts
                and submit.owner_parts & ~word.matched
            ):
                yield (
                    UNEXPLAINED,
                    (
                        f"its carrier's id {submit.message_id} is not that of the same part at the"
                        f" SMSC ({submit.where})"
                    ),
                )
    missing = message.parts_accepted & ~taken & ~simulated & ~word.accepted
    if missing:
        yield (
            LOST,
            (
                f"{_which(missing, message.segments)} counts as accepted, and the SMSC has not"
                " taken it"
            ),
        )


def _may_be_unknown(message: Standing, submit: Submit, parts: int) -> bool:
    """Taken, and not known to be: it was in doubt, until it was sent once more or validity
    ended.
    """
    if not submit.may_be_unheard:
        return False
    # then another part decided before
    ended = message.status == FAILED and (message.error_code == "unknown" or message.segments > 1)
    return ended or parts & ~message.parts_resent == 0


def _difference(message: Standing, submit: Submit) -> str:
    """What tells a submission from the message that it may be of; nothing, if it is its."""
    if submit.sender != message.sender:
        return "sender"
    if (
        submit.parts not in (1, message.segments)
        or not 1 <= submit.part <= submit.parts
        or (submit.reference or 0) & 0xF != submit.part
    ):
        return "number of parts"
    if message.type == OTP:
        return ""  # its text is sealed while it is needed, and erased then
    hashes = _hashes(message.text or "", message.encoding or "")
    if submit.text_sha256 != (hashes[0] if submit.parts == 1 else hashes[submit.part]):
        return "text"
    return ""


@lru_cache(TEXTS_KEPT_MAX)
def _hashes(text: str, encoding: str) -> tuple[str, ...]:
    """Of the whole text, then of each of its parts."""
    parts = split_segments(text, encoding)
    return tuple(
        sha256(part.encode("utf-8")).hexdigest()
        for part in ([text, *parts] if len(parts) > 1 else [text])
    )


def _parts(message: Standing, submit: Submit) -> int:
    """The segments that a submission carries: one, or all of them."""
    return message.all_parts if submit.parts == 1 else 1 << (submit.part - 1)


def _named(submit: Submit) -> str:
    return "it" if submit.parts == 1 else f"part {submit.part} of {submit.parts}"


def _which(parts: int, segments: int) -> str:
    if segments == 1:
        return "it"
    return (
        f"part {', '.join(str(part + 1) for part in range(segments) if parts >> part & 1)} of"
        f" {segments}"
    )


def _forms(message_id: str) -> set[str]:
    """How receipts may print an id: as it is, or the same number in the other base."""
    forms = {plain(message_id)}
    if re.fullmatch(r"[0-9a-fA-F]+", message_id):
        forms.add(str(int(message_id, 16)))
    if re.fullmatch(r"[0-9]+", message_id):
        forms.add(f"{int(message_id):x}")
    return forms


def missing(accepted: Iterable[str]) -> Iterator[Finding]:
    """Messages that clients were promised, and that are not there."""
    return (
        Finding(LOST, ids.text_of_raw("msg", message_id), "it was answered 200, and is not there")
        for message_id in sorted(accepted)
    )
