"""Reads the logs of SMSCs (`heliograph smsc --log`), once, so that the audit can compare messages
with them.

It reads JSON and nothing of the wire, and shares no code with what wrote the one or the other
(docs/decisions/carriers.md, S14).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

# Of a receipt's states those that end a message; others say that it is on its way (SMPP 3.4,
# appendix B).
FINAL_STATES: Final = ("DELIVRD", "UNDELIV", "DELETED", "FAILED", "EXPIRED", "REJECTD", "UNKNOWN")
STATE_BITS: Final = {state: 1 << place for place, state in enumerate(FINAL_STATES)}

# An answer that took so long, or whose connection ended so soon after it, may have been heard by
# nobody who could store it: a process that stands still is taken for dead after 30 s, and what it
# held is sent once more 120 s later.
LATE_MS: Final = 1_000
ENDED_SOON_MS: Final = 180_000

# What is dated later than the look at the database came while the logs are read, if it is not by
# more than this: else its clock is ahead.
AHEAD_MAX_MS: Final = 300_000


class NotALog(ValueError):
    """A file was given as an SMSC's log and is not one. The message says where."""


class _Line(msgspec.Struct):
    """Holds the fields of a line that are read; which of them it has depends on `event`."""

    event: str
    at_ms: int
    session: int = 0
    sequence: int = 0
    message_id: str | None = None
    status: int = 0
    sender: str = ""
    recipient: str = ""
    part: int = 1
    parts: int = 1
    user_message_reference: int | None = None
    text_sha256: str = ""
    registered_delivery: int = 0
    state: str = ""


class LoggedConnection:
    """Describes one client's connection. `waiting` holds its unanswered submissions by
    sequence_number.
    """

    __slots__ = ("lost_ms", "waiting")

    def __init__(self) -> None:
        self.lost_ms: int | None = None
        self.waiting: dict[int, Submit] = {}


@dataclass(slots=True, eq=False)
class Submit:
    """Describes one submit_sm as the SMSC read it, and what followed from it."""

    path: Path
    line: int
    connection: LoggedConnection
    at_ms: int
    status: int
    message_id: str | None
    sender: str
    recipient: str
    part: int
    parts: int
    reference: int | None
    text_sha256: str
    wants_receipt: bool
    answered_ms: int | None = None
    receipts: int = 0  # STATE_BITS of those that it sent
    # STATE_BITS of the receipts whose answer came before the database was looked at
    acknowledged: int = 0
    owner: str | None = None  # raw id of the message that has this submission's id in the database
    owner_parts: int = 0
    is_claimed: bool = False  # a message says that it is its
    why_not: str = ""  # what kept one from saying so

    @property
    def where(self) -> str:
        return f"{self.path.name} line {self.line}"

    @property
    def is_taken(self) -> bool:
        return self.status == 0

    @property
    def may_be_unheard(self) -> bool:
        """Returns whether the submission's answer may have reached nobody who could store it."""
        if self.answered_ms is None or self.answered_ms - self.at_ms >= LATE_MS:
            return True
        lost_ms = self.connection.lost_ms
        return lost_ms is not None and lost_ms - self.answered_ms <= ENDED_SOON_MS


class SmscLog:
    """Holds all submissions, in the order in which each SMSC read them. What came after `asked_ms`
    may explain something, but need not be explained, because the database was looked at before.
    `ahead` holds, for each file, the first line that is dated AHEAD_MAX_MS later than that, or
    more, and by how much; nobody can tell what is to be explained of such a file.
    """

    def __init__(self, asked_ms: int) -> None:
        self.asked_ms = asked_ms
        self.submits: list[Submit] = []
        self.ahead: dict[Path, tuple[int, int]] = {}
        self._by_message: defaultdict[tuple[str, int], list[Submit]] = defaultdict(list)
        self._by_id: defaultdict[str, list[Submit]] = defaultdict(list)
        # these two: of the SMSC's process whose lines are being read
        self._connections: dict[int, LoggedConnection] = {}
        self._ids: dict[str, Submit] = {}
        self._texts: dict[str, str] = {}  # one copy of each: a bulk send has few

    def submits_of(self, recipient: str, low_bits: int) -> list[Submit]:
        """Returns the submissions that may belong to a message: those to its recipient with a
        reference made from the lowest 12 bits of its id.
        """
        return self._by_message.get((recipient, low_bits), [])

    def submits_with_id(self, ref: str) -> list[Submit]:
        """Returns the submissions that were given this id. There are several when two SMSCs happen
        to have used the same.
        """
        return self._by_id.get(plain_id(ref), [])

    def receipt_states_of(self, recipient: str) -> int:
        """Returns STATE_BITS of all receipts to a handset, of whichever message."""
        return self._receipt_states.get(recipient, 0)

    @cached_property
    def _receipt_states(self) -> dict[str, int]:
        bits: defaultdict[str, int] = defaultdict(int)
        for submit in self.submits:
            bits[submit.recipient] |= submit.receipts
        return bits

    def read(self, path: Path) -> None:
        """Reads one file. The pieces of a log that was rotated come one after the other, oldest
        first. Raises OSError, NotALog.
        """
        last_ms = 0
        for number, line in _lines(path):
            if (
                line.event == "listening"
            ):  # another process: the connections of the one before are gone
                self._end_process(last_ms)
            last_ms = line.at_ms
            if last_ms - self.asked_ms >= AHEAD_MAX_MS:
                self.ahead.setdefault(path, (number, last_ms - self.asked_ms))
            self._take(path, number, line)

    def finish(self) -> None:
        """Sorts and indexes the submissions, once all files were read."""
        # stable: in each file they stay as they are
        self.submits.sort(key=lambda submit: submit.at_ms)
        for submit in self.submits:
            if submit.reference is not None:
                self._by_message[submit.recipient, submit.reference >> 4].append(submit)
            if submit.message_id is not None:
                self._by_id[plain_id(submit.message_id)].append(submit)

    def _end_process(self, at_ms: int) -> None:
        for connection in self._connections.values():
            if connection.lost_ms is None:
                connection.lost_ms = at_ms
        self._connections, self._ids = {}, {}

    def _take(self, path: Path, number: int, line: _Line) -> None:
        if line.event == "submit_sm":
            connection = self._connections.setdefault(line.session, LoggedConnection())
            text_sha256 = self._texts.setdefault(line.text_sha256, line.text_sha256)
            submit = Submit(
                path,
                number,
                connection,
                at_ms=line.at_ms,
                status=line.status,
                message_id=line.message_id,
                sender=line.sender,
                recipient=line.recipient,
                part=line.part,
                parts=line.parts,
                reference=line.user_message_reference,
                text_sha256=text_sha256,
                wants_receipt=line.registered_delivery & 0b11 != 0,
            )
            self.submits.append(submit)
            connection.waiting[line.sequence] = submit
            if submit.message_id is not None:
                self._ids[submit.message_id] = submit
        elif line.event == "answer":
            answered = self._connections.setdefault(line.session, LoggedConnection()).waiting.pop(
                line.sequence, None
            )
            if answered is not None:
                answered.answered_ms = line.at_ms
        elif line.event == "receipt" or (line.event == "acknowledged" and line.status == 0):
            self._note_receipt(line)
        elif line.event == "lost":
            self._connections.setdefault(line.session, LoggedConnection()).lost_ms = line.at_ms

    def _note_receipt(self, line: _Line) -> None:
        submit = self._ids.get(line.message_id or "")
        bit = STATE_BITS.get(line.state, 0)
        if submit is None:
            return
        if line.event == "receipt":
            submit.receipts |= bit
        elif line.at_ms <= self.asked_ms:
            submit.acknowledged |= bit


def read_logs(paths: Iterable[Path], asked_ms: int) -> SmscLog:
    """Reads the logs of all SMSCs into one. Raises OSError, NotALog."""
    log = SmscLog(asked_ms)
    for path in paths:
        log.read(path)
    log.finish()
    return log


def plain_id(message_id: str) -> str:
    """Returns an SMSC's id in one form, however it is printed: in either case, and with zeros in
    front or without.
    """
    return message_id.strip().lower().lstrip("0")


def _lines(path: Path) -> Iterator[tuple[int, _Line]]:
    decode = msgspec.json.Decoder(_Line).decode
    with path.open("rb") as file:
        for number, octets in enumerate(file, 1):
            if not octets.endswith(b"\n"):
                return  # it is being written, or was when its writer was killed
            try:
                yield number, decode(octets)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise NotALog(
                    f"{path} line {number}: found no event (allowed: what `heliograph smsc --log`"
                    " writes)"
                ) from error
