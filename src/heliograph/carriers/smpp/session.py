"""Runs one TCP session with a carrier. It binds, writes submit_sm within a window, reports answers
and receipts, and notices a dead peer.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, cast

from heliograph.carriers.link import (
    RECEIPTS_UNACKNOWLEDGED_MAX,
    HandsetText,
    Receipt,
    Submission,
    SubmitAnswer,
)
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.enquire_link import PeerState, SilenceWatch
from heliograph.carriers.smpp.framing import Framer
from heliograph.carriers.smpp.handset_text import read_handset_text
from heliograph.carriers.smpp.inbound import InboundTexts
from heliograph.carriers.smpp.outcomes import OUR_FAULTS, SESSION_FAULTS, outcome_of
from heliograph.carriers.smpp.receipt import is_receipt, read_receipt
from heliograph.carriers.smpp.session_counters import SessionCounters
from heliograph.carriers.smpp.settings import SmppSettings
from heliograph.carriers.smpp.statuses import meaning_of
from heliograph.carriers.smpp.window import Window

# per session: more than the largest window of the longest messages
UNSENT_OCTETS_MAX: Final = 32 * 1024 * 1024
# how exactly time-outs are kept; finer where a setting is shorter than four of these
_TICK_S: Final = 1.0

log = logging.getLogger(__name__)


class Token(NamedTuple):
    """Identifies the deliver_sm or data_sm that a receipt or a text came in."""

    session: "SmppSession"
    sequence: int


class SessionOwner(Protocol):
    """Describes the owner of a session, to which it reports."""

    def on_answers(self, answers: list[SubmitAnswer]) -> None: ...
    def on_receipts(self, receipts: list[Receipt]) -> None: ...
    def on_texts(self, texts: list[HandsetText]) -> None: ...


class BindRefused(Exception):
    """The carrier answered the bind with an error."""

    def __init__(self, status: int) -> None:
        super().__init__(f"bind refused with command_status 0x{status:08x}: {meaning_of(status)}")
        self.status = status


@dataclass(slots=True)
class _ToReport:
    """Collects what one chunk of octets brings, to be reported together."""

    answers: list[SubmitAnswer] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)
    texts: list[HandsetText] = field(default_factory=list)


class SmppSession(asyncio.Protocol):
    """A session lasts from connection to disconnection. Connect it, await `bound`, and submit;
    `closed` is set at the end, after the last report.
    """

    def __init__(
        self, settings: SmppSettings, bind_command: int, owner: SessionOwner, tally: SessionCounters
    ) -> None:
        self._settings = settings
        self._bind_command = bind_command
        self._owner = owner
        self._tally = tally
        self._inbound = InboundTexts(settings.name, tally)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._framer = Framer()
        self._sequence = 0
        self._window = Window(settings.window)
        self._unacknowledged: dict[int, int] = {}  # the command of each sequence number
        self._is_bound = False
        self._has_nacked = False
        self._is_write_paused = False
        self._watch = SilenceWatch(
            self._loop.time, settings.enquire_link_s, settings.enquire_link_timeout_s
        )
        self._tick_s = min(
            _TICK_S,
            settings.answer_timeout_s / 4,
            settings.enquire_link_s / 4,
            settings.enquire_link_timeout_s / 4,
        )
        self._timers: list[asyncio.TimerHandle] = []
        self.bound: asyncio.Future[None] = self._loop.create_future()
        self.closed = asyncio.Event()
        self.close_reason = ""
        self.fault_status = 0  # the session fault (outcomes.SESSION_FAULTS) that ended it

    # --- what the link asks for

    @property
    def outstanding(self) -> int:
        return len(self._window.waiting)

    def window_free(self) -> int:
        """Returns how many submissions may be written now."""
        if not self._is_bound or self._is_write_paused:
            return 0
        return self._window.free()

    def submit(self, submissions: Sequence[Submission]) -> None:
        """Writes submissions in one go; the caller has asked `window_free`. It is hot."""
        deadline = self._watch.time_s() + self._settings.answer_timeout_s
        pack, waiting, sequence = pdu.HEADER.pack, self._window.waiting, self._sequence
        octets: list[bytes] = []
        for submission in submissions:
            sequence = sequence % pdu.SEQUENCE_MAX + 1
            body = submission.data
            octets.append(
                pack(pdu.HEADER_OCTETS + len(body), pdu.SUBMIT_SM, pdu.ESME_ROK, sequence)
            )
            octets.append(body)
            waiting[sequence] = (submission, deadline)
        self._sequence = sequence
        self._write(b"".join(octets))
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                "submitted",
                extra={
                    "carrier": self._settings.name,
                    "count": len(submissions),
                    "last_sequence": sequence,
                },
            )

    def acknowledge(self, sequences: Sequence[int], status: int = pdu.ESME_ROK) -> None:
        """Answers the deliver_sm and data_sm of these sequence numbers. A number that waits for
        no answer is passed over.
        """
        waiting = [
            (self._unacknowledged.pop(sequence), sequence)
            for sequence in sequences
            if sequence in self._unacknowledged
        ]
        self._write(b"".join([_answer(command, status, sequence) for command, sequence in waiting]))
        if (
            self._watch.is_paused
            and len(self._unacknowledged) <= RECEIPTS_UNACKNOWLEDGED_MAX // 2
            and self._transport is not None
        ):
            self._watch.resume()
            self._transport.resume_reading()

    def unbind(self) -> None:
        """Asks the carrier to end the session. `closed` follows, after `unbind_timeout_s` at the
        latest.
        """
        if self._transport is None:
            return
        if self._is_bound:
            self._is_bound = False
            self._request(pdu.UNBIND)
        self._later(self._settings.unbind_timeout_s, self.abort, "no answer to unbind")

    def abort(self, why: str) -> None:
        """Drops the connection without another word."""
        self._is_bound = False
        self.close_reason = self.close_reason or why
        if self._transport is not None:
            self._transport.abort()

    # --- what the transport tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Sends the bind."""
        # as create_connection gives it; uvloop's is no subclass
        self._transport = cast(asyncio.Transport, transport)
        settings = self._settings
        self._request(
            self._bind_command,
            pdu.encode_bind(
                pdu.BindRequest(settings.system_id, settings.password, settings.system_type)
            ),
        )
        self._later(self._tick_s, self._tick)

    def connection_lost(self, fault: Exception | None) -> None:
        """Reports what is left without an answer."""
        self._is_bound = False
        self._transport = None
        for timer in self._timers:
            timer.cancel()
        self.close_reason = self.close_reason or (
            f"connection lost: {fault}" if fault else "the carrier closed the connection"
        )
        if not self.bound.done():
            self.bound.set_exception(ConnectionError(self.close_reason))
        unanswered = self._window.give_up()
        if unanswered:
            self._owner.on_answers(unanswered)
        self.closed.set()

    def pause_writing(self) -> None:
        self._is_write_paused = True

    def resume_writing(self) -> None:
        self._is_write_paused = False

    def data_received(self, data: bytes) -> None:
        """Reads the PDUs that came in, and reports what they say."""
        frames = self._framer.feed(data)
        if frames:
            self._watch.note_pdu()
        to_report = _ToReport()
        for command, status, sequence, body in frames:
            if command == pdu.SUBMIT_SM_RESP:
                self._on_answer(status, sequence, body, to_report)
            elif command == pdu.DELIVER_SM or command == pdu.DATA_SM:
                self._on_message(command, sequence, body, to_report)
            else:
                self._on_control(command, status, sequence, to_report)
        if log.isEnabledFor(logging.DEBUG):
            for command, status, sequence, body in frames:
                log.debug(
                    "pdu_received",
                    extra={
                        "carrier": self._settings.name,
                        "command": pdu.command_name(command),
                        "status": f"0x{status:08X}",
                        "sequence": sequence,
                        "octets": len(body),
                    },
                )
        self._report(to_report)
        if self._framer.broken is not None:
            self._nack(self._framer.broken, 0)
            self._close(f"framing lost: {self._framer.broken}")
        elif self.fault_status and not self._window.waiting:
            self._close(f"session fault 0x{self.fault_status:02x}")
        elif (
            len(self._unacknowledged) >= RECEIPTS_UNACKNOWLEDGED_MAX
            and self._transport is not None
            and not self._watch.is_paused
        ):
            self._watch.pause()
            self._transport.pause_reading()

    def _report(self, found: _ToReport) -> None:
        if found.answers:
            self._owner.on_answers(found.answers)
        if found.receipts:
            self._owner.on_receipts(found.receipts)
        if found.texts:
            self._owner.on_texts(found.texts)

    # --- one handler for each kind of PDU

    def _on_answer(self, status: int, sequence: int, body: bytes, found: _ToReport) -> None:
        outcome = outcome_of(status, self._settings.status_overrides)
        answer = self._window.answer(sequence, outcome, pdu.decode_string(body) or None, status)
        if answer is None:
            self._tally.unexpected += 1
            return
        found.answers.append(answer)
        if status in SESSION_FAULTS and not self.fault_status:
            # Bind anew; but first hear what becomes of the rest of the window, most likely the
            # same.
            self.fault_status, self._is_bound = status, False
            self._later(
                self._settings.unbind_timeout_s, self._close, f"session fault 0x{status:02x}"
            )
        elif status in OUR_FAULTS:
            log.error(
                "submission_wrongly_encoded",
                extra={"carrier": self._settings.name, "status": f"0x{status:08X}"},
            )

    def _on_message(self, command: int, sequence: int, body: bytes, found: _ToReport) -> None:
        try:
            message = pdu.decode_sm(body) if command == pdu.DELIVER_SM else pdu.decode_data_sm(body)
        except pdu.PduError as malformed:
            self._nack(malformed, sequence)
            return
        self._unacknowledged[sequence] = command
        if is_receipt(message):
            found.receipts.append(read_receipt(message, Token(self, sequence)))
        else:
            self._inbound.note_text(message)
            found.texts.append(read_handset_text(message, Token(self, sequence)))

    def _on_control(self, command: int, status: int, sequence: int, found: _ToReport) -> None:
        if command == pdu.GENERIC_NACK:
            status = status or pdu.ESME_RUNKNOWNERR  # it refuses, whatever its status says
        if command == pdu.ENQUIRE_LINK:
            self._write(pdu.encode_pdu(pdu.ENQUIRE_LINK_RESP, pdu.ESME_ROK, sequence))
        elif command == pdu.UNBIND:
            self._write(pdu.encode_pdu(pdu.UNBIND_RESP, pdu.ESME_ROK, sequence))
            self._close("the carrier unbound")
        elif command == pdu.UNBIND_RESP:
            self._close("unbound")
        elif command == self._bind_command | pdu.RESPONSE or (
            command == pdu.GENERIC_NACK and not self.bound.done()
        ):
            self._on_bind_answer(status)
        elif command == pdu.GENERIC_NACK:
            self._on_answer(status, sequence, b"", found)
        elif command & pdu.RESPONSE:
            self._tally.unexpected += command != pdu.ENQUIRE_LINK_RESP
        elif command != pdu.ALERT_NOTIFICATION:  # which has no response (SMPP 3.4, 4.12)
            self._nack(
                pdu.PduError(pdu.ESME_RINVCMDID, f"command {pdu.command_name(command)}"), sequence
            )

    def _on_bind_answer(self, status: int) -> None:
        if self.bound.done():
            self._tally.unexpected += 1
        elif status == pdu.ESME_ROK:
            self._is_bound = True
            self.bound.set_result(None)
        else:
            refused = BindRefused(status)
            self.bound.set_exception(refused)
            self._close(str(refused))

    # --- time

    def _tick(self) -> None:
        unanswered = self._window.expire(self._watch.time_s())
        if unanswered:
            self._owner.on_answers(unanswered)
        pulse = self._watch.check()
        if pulse is PeerState.DEAD:
            self._tally.half_open += 1
            self.abort("half-open connection: no answer to enquire_link")
        elif pulse is PeerState.ASK:
            self._request(pdu.ENQUIRE_LINK)
        self._timers = [timer for timer in self._timers if timer.when() > self._loop.time()]
        self._later(self._tick_s, self._tick)

    def _later(self, delay_s: float, call: Callable[..., None], *arguments: str) -> None:
        self._timers.append(self._loop.call_later(delay_s, call, *arguments))

    # --- writing

    def _request(self, command: int, body: bytes = b"") -> None:
        self._sequence = self._sequence % pdu.SEQUENCE_MAX + 1
        self._write(pdu.encode_pdu(command, pdu.ESME_ROK, self._sequence, body))
        log.debug(
            "pdu_sent",
            extra={
                "carrier": self._settings.name,
                "command": pdu.command_name(command),
                "sequence": self._sequence,
            },
        )

    def _nack(self, malformed: pdu.PduError, sequence: int) -> None:
        self._tally.malformed += 1
        # one line in the log for a session, whatever a broken peer floods it with
        if not self._has_nacked:
            log.warning(
                "pdu_malformed", extra={"carrier": self._settings.name, "detail": str(malformed)}
            )
        self._has_nacked = True
        self._write(pdu.encode_pdu(pdu.GENERIC_NACK, malformed.status, sequence))

    def _write(self, octets: bytes) -> None:
        if octets and self._transport is not None and not self._transport.is_closing():
            self._transport.write(octets)
            if (
                self._is_write_paused
                and self._transport.get_write_buffer_size() > UNSENT_OCTETS_MAX
            ):
                self.abort("the carrier sends, and reads nothing")

    def _close(self, why: str) -> None:
        """Ends the connection after what is written; soon, whether the peer reads it or not."""
        self._is_bound = False
        self.close_reason = self.close_reason or why
        if self._transport is not None:
            self._transport.close()
            self._later(self._settings.unbind_timeout_s, self.abort, why)


def _answer(command: int, status: int, sequence: int) -> bytes:
    """Returns the response to a deliver_sm or data_sm. Neither of them says an id (SMPP 3.4,
    4.6.2 and 4.7.2).
    """
    return pdu.encode_pdu(command | pdu.RESPONSE, status, sequence, b"\0")
