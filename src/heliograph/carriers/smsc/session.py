"""Serves one client's connection to the SMSC: it reads PDUs, and writes answers and receipts."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from heliograph.base import clock
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.enquire_link import PeerState, SilenceWatch
from heliograph.carriers.smpp.framing import Frame, Framer
from heliograph.carriers.smpp.outcomes import ESME_RALYBND, ESME_RINVBNDSTS
from heliograph.carriers.smsc.handset_pdus import HandsetPdu
from heliograph.carriers.smsc.handsets import RETRIED
from heliograph.carriers.smsc.receipt import ReceiptToWrite, receipt_body
from heliograph.carriers.smsc.shared import SharedState
from heliograph.carriers.smsc.submissions import SubmissionDesk

RECEIPTS_UNACKNOWLEDGED_MAX: Final = 1_000  # a real centre holds a window on deliver_sm too
TEXTS_UNANSWERED_MAX: Final = 1_000  # beside them, so that texts hold up no receipt
# to a client that reads nothing; with reading stopped no client of good will comes near
UNSENT_OCTETS_MAX: Final = 8 * 1024 * 1024
UNBIND_WITHIN_S: Final = 2.0
_TICK_S: Final = 5.0
_BIND_MODES: Final = {
    pdu.BIND_TRANSMITTER: (True, False),
    pdu.BIND_RECEIVER: (False, True),
    pdu.BIND_TRANSCEIVER: (True, True),
}
_BOUND: Final = b"heliograph\0" + pdu.encode_tlv(
    pdu.SC_INTERFACE_VERSION, bytes((pdu.INTERFACE_VERSION,))
)


class EsmeSession(asyncio.Protocol):
    """A session lasts from connection to disconnection. `closed` is set at the end."""

    def __init__(self, shared: SharedState, number: int) -> None:
        self._shared = shared
        self._journal = shared.journal
        self.number = number
        self.system_id = ""
        self._sends = self._receives = False  # what it has bound as
        self._transport: asyncio.Transport | None = None
        self._framer = Framer()
        # read, and not looked at before there is room in the window
        self._backlog: list[Frame] = []
        self._out: list[bytes] = []
        # PDUs that the journal knows of, and that never left: the last ones before the connection
        # broke
        self._unwritten = 0
        self._taken = SubmissionDesk(shared, self)
        self._unacknowledged: dict[int, ReceiptToWrite] = {}
        self._unanswered_texts: dict[int, HandsetPdu] = {}
        self._sequence = 0
        self._is_deaf = False  # half-open: nothing is answered any more
        self._is_write_paused = False
        self._paused_s = 0.0  # since when nothing more could be written
        settings = shared.settings
        self._watch = SilenceWatch(
            shared.loop.time, settings.enquire_link_s, settings.enquire_link_timeout_s
        )
        self._tick_s = min(
            _TICK_S, settings.enquire_link_s / 4, settings.enquire_link_timeout_s / 4
        )
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._why = ""
        self.quiet_since_s = 0.0
        self.closed = asyncio.Event()

    # --- what the outbox asks for

    def receipt_room(self) -> int:
        """Returns how many receipts may be sent now."""
        return (
            RECEIPTS_UNACKNOWLEDGED_MAX - len(self._unacknowledged) if self._may_write_to() else 0
        )

    def send_receipt(self, owed: ReceiptToWrite) -> None:
        """Queues a receipt, which the next `flush` writes. It is hot."""
        sequence = self._next_sequence()
        self._unacknowledged[sequence] = owed
        self._out.append(
            pdu.encode_pdu(
                pdu.DELIVER_SM, pdu.ESME_ROK, sequence, receipt_body(owed, self._shared.now_s())
            )
        )
        self._journal.count("receipt")
        if self._journal.is_kept:
            self.note(
                "receipt",
                sequence=sequence,
                message_id=owed.message_id,
                state=owed.state.value,
                dialect=sorted(owed.dialect),
            )

    # --- what the handsets ask for

    def text_room(self) -> int:
        """Returns how many texts of handsets may be sent now."""
        return TEXTS_UNANSWERED_MAX - len(self._unanswered_texts) if self._may_write_to() else 0

    def send_text(self, text: HandsetPdu) -> None:
        """Queues a text, which the next `flush` writes. It is hot."""
        sequence = self._next_sequence()
        self._unanswered_texts[sequence] = text
        self._out.append(pdu.encode_pdu(text.command, pdu.ESME_ROK, sequence, text.body))
        if self._journal.is_kept:
            self.note("text", sequence=sequence, **self._shared.handsets.journal_fields(text))

    # --- what `SubmissionDesk` asks for

    def write(self, octets: bytes) -> None:
        """Queues octets, which the next `flush` writes."""
        if not self._is_deaf:
            self._out.append(octets)

    def flush(self) -> None:
        """Writes what is to be written, after the journal knows of it."""
        self._journal.flush()
        if self._out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._out))
            if (
                self._is_write_paused
                and self._transport.get_write_buffer_size() > UNSENT_OCTETS_MAX
            ):
                self.abort("the client sends, and reads nothing")
        self._out.clear()

    def stop_answering(self) -> None:
        """Makes the connection half-open from here on: the SMSC reads, and never answers again."""
        self.note("half_open")
        self.flush()
        self._is_deaf = True
        self._taken.forget()
        for timer in self._timers.values():
            timer.cancel()

    def abort(self, why: str) -> None:
        """Breaks the connection without another word; what was not written yet never is."""
        self._why = self._why or why
        self._unwritten += len(self._out)
        self._out.clear()
        if self._transport is not None:
            self._transport.abort()

    def resume(self) -> None:
        """Goes on with the backlog, and reads on, because there may be room in the window."""
        frames, self._backlog = self._backlog, []
        self._take(frames)
        if self._framer.broken is not None and not self._backlog and self._is_open():
            self._nack(self._framer.broken, 0)
            self._close(str(self._framer.broken))
        self._pause_or_resume()

    def note(self, event: str, **fields: Any) -> None:
        self._journal.note(event, session=self.number, **fields)

    def unbind(self) -> None:
        """Asks the client to end the session; `closed` follows, soon whatever it does."""
        if self._is_bound():
            self._request(pdu.UNBIND)
            self.flush()
            self._later("unbind", UNBIND_WITHIN_S, self.abort, "no answer to unbind")
        else:
            self._close("the SMSC stops")

    # --- what the transport tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = str((transport.get_extra_info("peername") or ("",))[0])
        self.quiet_since_s = clock.monotonic_s()
        self._shared.sessions.admit(self, peer)
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own is no subclass
        self._journal.count("connection")
        self.note("connected", peer=peer)
        self._later("bind", self._shared.settings.bind_within_s, self._close, "not bound in time")
        self._later("tick", self._tick_s, self._tick)

    def connection_lost(self, fault: Exception | None) -> None:
        """Ends the session, and notes why."""
        self._transport = None
        for timer in self._timers.values():
            timer.cancel()
        why = self._why or (
            f"connection lost: {type(fault).__name__}"
            if fault
            else "the client closed the connection"
        )
        self._journal.count("lost")
        self.note(
            "lost",
            why=why,
            unanswered=self._taken.forget(),
            unwritten=self._unwritten,
            unacknowledged=len(self._unacknowledged),
            unanswered_texts=len(self._unanswered_texts),
        )
        self._backlog.clear()
        returned, self._unacknowledged = self._unacknowledged, {}
        self._shared.outbox.remove_receiver(self, returned.values())
        texts, self._unanswered_texts = self._unanswered_texts, {}
        self._shared.handsets.remove_receiver(self, texts.values())
        self._journal.flush()
        self._shared.sessions.remove(self)
        self.closed.set()

    def pause_writing(self) -> None:
        self._is_write_paused = True
        self._paused_s = self._shared.loop.time()
        self._pause_or_resume()

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self._shared.outbox.send_waiting(self.system_id)  # first: what waits is not to be overtaken
        self._shared.handsets.send_waiting()
        self.resume()

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            return
        frames = self._framer.feed(data)
        if frames:
            self._watch.note_pdu()
        self._backlog += frames
        self.resume()
        if frames and self._is_bound():
            self.quiet_since_s = clock.monotonic_s()

    # --- PDUs

    def _take(self, frames: list[Frame]) -> None:
        for at, (command, status, sequence, body) in enumerate(frames):
            if command == pdu.SUBMIT_SM:
                if self._taken.is_stopped():
                    self._backlog = frames[at:]
                    break
                if self._sends:
                    self._taken.take_submission(sequence, body)
                else:
                    self._journal.count("submit_sm")
                    self._taken.answer(sequence, ESME_RINVBNDSTS)
            elif command in (pdu.DELIVER_SM_RESP, pdu.DATA_SM_RESP):
                self._on_deliver_answer(sequence, status)
            else:
                self._on_control(command, status, sequence, body)
            if self._is_deaf or not self._is_open():
                return
        self.flush()

    def _on_deliver_answer(self, sequence: int, status: int) -> None:
        text = self._unanswered_texts.pop(sequence, None)
        if text is None:
            self._on_receipt_answer(sequence, status)
            return
        if self._journal.is_kept:
            fields = self._shared.handsets.journal_fields(text)
            self.note("text_answered", sequence=sequence, status=status, **fields)
        self._shared.handsets.note_answer(text, status)

    def _on_receipt_answer(self, sequence: int, status: int) -> None:
        owed = self._unacknowledged.pop(sequence, None)
        if owed is None:
            self._journal.count("unexpected")
            return
        self._journal.count("acknowledged" if status == pdu.ESME_ROK else "receipt_refused")
        if self._journal.is_kept:
            self.note(
                "acknowledged",
                sequence=sequence,
                message_id=owed.message_id,
                state=owed.state.value,
                status=status,
            )
        self._shared.note_acknowledged(self, owed, resend=status in RETRIED)

    def _on_control(self, command: int, status: int, sequence: int, body: bytes) -> None:
        if command in _BIND_MODES:
            self._on_bind(command, sequence, body)
        elif command == pdu.ENQUIRE_LINK:
            self._journal.count("enquire_link")
            self.note("enquire_link", sequence=sequence)
            self.write(pdu.encode_pdu(pdu.ENQUIRE_LINK_RESP, pdu.ESME_ROK, sequence))
        elif command == pdu.UNBIND:
            self._journal.count("unbind")
            self.note("unbind", sequence=sequence)
            self.write(pdu.encode_pdu(pdu.UNBIND_RESP, pdu.ESME_ROK, sequence))
            self._close("the client unbound")
        elif command == pdu.UNBIND_RESP:
            self._close("unbound")
        elif command == pdu.GENERIC_NACK:
            self._journal.count("nacked")
            self.note("nacked", sequence=sequence, status=status)
            if sequence in self._unacknowledged or sequence in self._unanswered_texts:
                self._on_deliver_answer(sequence, status or pdu.ESME_RUNKNOWNERR)
        elif command & pdu.RESPONSE:
            self._journal.counts["unexpected"] += command != pdu.ENQUIRE_LINK_RESP
        else:
            self._nack(pdu.PduError(pdu.ESME_RINVCMDID, pdu.command_name(command)), sequence)

    def _on_bind(self, command: int, sequence: int, body: bytes) -> None:
        try:
            asked = pdu.decode_bind(body)
        except pdu.PduError as malformed:
            self._nack(malformed, sequence)
            return
        status = ESME_RALYBND if self._is_bound() else self._shared.bind_status(asked)
        self._journal.count("bind" if status == pdu.ESME_ROK else "bind_refused")
        self.note(
            "bind", command=pdu.command_name(command), system_id=asked.system_id, status=status
        )
        if status != pdu.ESME_ROK:
            self.write(pdu.encode_pdu(command | pdu.RESPONSE, status, sequence))
            return
        self.system_id = asked.system_id
        self._sends, self._receives = _BIND_MODES[command]
        self._timers.pop("bind").cancel()
        self.write(pdu.encode_pdu(command | pdu.RESPONSE, pdu.ESME_ROK, sequence, _BOUND))
        self.flush()
        if self._receives:
            self._shared.outbox.add_receiver(self)
            self._shared.handsets.add_receiver(self)

    # --- time

    def _tick(self) -> None:
        pulse = self._watch.check()
        settings = self._shared.settings
        if (
            self._is_write_paused
            and self._shared.loop.time() - self._paused_s
            >= settings.enquire_link_s + settings.enquire_link_timeout_s
        ):
            # for as long as a silent one is waited for: `_watch` stands still meanwhile
            self.abort("the client reads nothing")
        elif pulse is PeerState.DEAD:
            self.abort("no answer to enquire_link")
        elif pulse is PeerState.ASK:
            self._request(pdu.ENQUIRE_LINK)
            self.flush()
        self._later("tick", self._tick_s, self._tick)

    def _later(self, what: str, delay_s: float, call: Callable[..., None], *arguments: str) -> None:
        self._timers[what] = self._shared.loop.call_later(delay_s, call, *arguments)

    # --- reading and writing

    def _is_bound(self) -> bool:
        return self._sends or self._receives

    def _is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def _pause_or_resume(self) -> None:
        """Reads while there is room for what would be read."""
        if self._transport is None or not self._is_open():
            return
        wants_to = not self._backlog and not self._is_write_paused
        if wants_to and self._watch.is_paused:
            self._watch.resume()
            self._transport.resume_reading()
        elif not wants_to and not self._watch.is_paused:
            self._watch.pause()
            self._transport.pause_reading()

    def _may_write_to(self) -> bool:
        """Returns whether receipts and texts may be written."""
        return (
            self._receives
            and not self._is_deaf
            and not self._is_write_paused
            and self._transport is not None
        )

    def _next_sequence(self) -> int:
        self._sequence = self._sequence % pdu.SEQUENCE_MAX + 1
        return self._sequence

    def _request(self, command: int) -> None:
        self.write(pdu.encode_pdu(command, pdu.ESME_ROK, self._next_sequence()))

    def _nack(self, malformed: pdu.PduError, sequence: int) -> None:
        self._journal.count("generic_nack")
        self.note("generic_nack", sequence=sequence, status=malformed.status, why=str(malformed))
        self.write(pdu.encode_pdu(pdu.GENERIC_NACK, malformed.status, sequence))

    def _close(self, why: str) -> None:
        """Ends the connection after what is written; soon, whether the client reads it or not."""
        self._why = self._why or why
        self._sends = self._receives = False
        self.flush()
        if self._transport is not None:
            self._transport.close()
            self._later("close", UNBIND_WITHIN_S, self.abort, why)
