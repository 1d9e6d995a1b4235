"""The submissions of one session are judged and answered, now or later, and their receipts are
owed.
"""

from typing import Final, NamedTuple, Protocol

from heliograph.carriers.delay_queue import DelayQueue
from heliograph.carriers.link import ReceiptState
from heliograph.carriers.simulated_endings import simulated_ending
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smsc import journal_entry
from heliograph.carriers.smsc.chaos import ActPlace
from heliograph.carriers.smsc.chaos_plan import SubmissionPlan, plan_of
from heliograph.carriers.smsc.malformed_pdus import malformed_pdu
from heliograph.carriers.smsc.outbox import AddressedReceipt, Receiver
from heliograph.carriers.smsc.receipt import ReceiptToWrite
from heliograph.carriers.smsc.refusals import mistake_in
from heliograph.carriers.smsc.shared import SharedState

# when the first word is stored: what comes with it, a client may weigh at once
CONTRADICTED_AFTER_S: Final = 0.2
_RMSGQFUL: Final = 0x14
_RTHROTTLED: Final = 0x58


class Client(Receiver, Protocol):
    """Describes the session, as its submissions need it."""

    def write(self, octets: bytes) -> None: ...
    def stop_answering(self) -> None: ...
    def abort(self, why: str) -> None: ...
    def resume(self) -> None: ...
    def note(self, event: str, **fields: object) -> None: ...


class _DelayedAnswer(NamedTuple):
    sequence: int
    status: int
    message_id: str | None


class SubmissionDesk:
    """Answers every submit_sm once, in the order of its delay, unless its plan says that it never
    is answered.
    """

    def __init__(self, shared: SharedState, client: Client) -> None:
        self._shared = shared
        self._client = client
        self._journal = shared.journal
        self._unanswered: dict[
            float, DelayQueue[_DelayedAnswer]
        ] = {}  # by how long they are delayed
        self._outstanding = 0

    def is_full(self) -> bool:
        return self._outstanding >= self._shared.settings.window

    def is_stopped(self) -> bool:
        """Returns whether nothing more is read before an answer has left."""
        return self._shared.settings.over_window == "stop" and self.is_full()

    def forget(self) -> int:
        """Gives up all answers that are still to come, and returns how many there were."""
        for delayed in self._unanswered.values():
            delayed.take_all()
        forgotten, self._outstanding = self._outstanding, 0
        return forgotten

    def take_submission(self, sequence: int, body: bytes) -> None:
        """Takes one submit_sm. It is hot."""
        self._journal.count("submit_sm")
        try:
            message = pdu.decode_sm(body)
        except pdu.PduError as malformed:
            self._journal.count("malformed")
            self.answer(sequence, malformed.status)
            return
        acts = self._shared.chaos.acts(ActPlace.SUBMIT)
        plan = plan_of(acts)
        status = self._status_of(message, plan)
        number, message_id = self._shared.next_id() if status == pdu.ESME_ROK else (0, None)
        if self._journal.is_kept:
            self._client.note(
                "submit_sm",
                sequence=sequence,
                message_id=message_id,
                status=status,
                chaos=[kind for kind, _ in acts],
                **journal_entry.journal_fields(message),
            )
        for kind, _ in acts:
            self._journal.count(f"chaos {kind}")
        if message_id is not None:
            self._owe(message, plan, number, message_id)
        self._say(_DelayedAnswer(sequence, status, message_id), plan)

    def answer(self, sequence: int, status: int, message_id: str | None = None) -> None:
        """Queues an answer, which the session's next flush writes. It is hot."""
        self._journal.count(
            "submit_sm_resp" if status == pdu.ESME_ROK else f"submit_sm_resp 0x{status:02x}"
        )
        if self._journal.is_kept:
            self._client.note("answer", sequence=sequence, message_id=message_id, status=status)
        body = b"" if message_id is None else message_id.encode("ascii") + b"\0"
        self._client.write(pdu.encode_pdu(pdu.SUBMIT_SM_RESP, status, sequence, body))

    def _status_of(self, message: pdu.ShortMessage, plan: SubmissionPlan) -> int:
        if plan.status:
            return plan.status
        mistake = mistake_in(message)
        if mistake:
            return mistake
        if self.is_full():
            return _RTHROTTLED
        if not self._shared.outbox.has_room():
            return _RMSGQFUL
        return simulated_ending(message.destination_addr).command_status

    def _say(self, answer: _DelayedAnswer, plan: SubmissionPlan) -> None:
        """Tells the client what its plan lets it hear of an answer, if anything."""
        if plan.ends == "drop":
            self._outstanding += 1
            self._client.abort("chaos: drop")
        elif plan.ends == "half-open":
            self._client.stop_answering()
        else:
            delay_s = plan.answer_delay_s or self._shared.settings.answer_delay_s
            if delay_s and not (answer.status == _RTHROTTLED and self.is_full()):
                self._later(answer, delay_s)
            else:
                self.answer(*answer)
            if plan.malformed:
                self._client.note("malformed", form=plan.malformed)
                self._client.write(malformed_pdu(plan.malformed))

    def _later(self, answer: _DelayedAnswer, delay_s: float) -> None:
        delayed = self._unanswered.get(delay_s)
        if delayed is None:
            delayed = self._unanswered[delay_s] = DelayQueue(
                self._shared.loop, delay_s, self._answer_due
            )
        self._outstanding += 1
        delayed.put([answer])

    def _answer_due(self, delayed: DelayQueue[_DelayedAnswer]) -> None:
        due = delayed.take_due(self._shared.settings.window)
        for answer in due:
            self.answer(*answer)
        self._outstanding -= len(due)
        self._client.flush()
        self._client.resume()

    def _owe(
        self, message: pdu.ShortMessage, plan: SubmissionPlan, number: int, message_id: str
    ) -> None:
        """Owes the receipts of a submission, if it asks for any (SMPP 3.4, 5.2.17)."""
        ending = simulated_ending(message.destination_addr)
        state = plan.state or ending.state
        wanted = message.registered_delivery & 0b11
        if wanted == 0 or (wanted == 2 and state is ReceiptState.DELIVRD):  # 2: of failures only
            return
        addresses = pdu.encode_addresses(
            "",
            pdu.SourceAddress(message.dest_ton, message.dest_npi, message.destination_addr),
            (message.source_ton, message.source_npi),
        )
        owed = ReceiptToWrite(
            number,
            message_id,
            addresses,
            destination=message.source_addr.encode("latin-1"),
            state=state,
            error=ending.error,
            submitted_at_s=self._shared.now_s(),
            dialect=plan.dialect,
            reference=message.tlvs.get(pdu.USER_MESSAGE_REFERENCE),
        )
        outbox, settings, client = self._shared.outbox, self._shared.settings, self._client
        delay_s = settings.receipt_delay_s + settings.late_receipt_s * ending.is_late + plan.late_s
        copies = plan.copies
        addressed = AddressedReceipt(owed, client.system_id, client)
        if plan.is_early:
            outbox.owe_at_once(addressed)
            copies -= 1
        if copies:
            outbox.owe(addressed, delay_s, copies)
        if plan.contradiction is not None:
            outbox.owe(
                addressed._replace(owed=owed._replace(state=plan.contradiction)),
                delay_s + CONTRADICTED_AFTER_S,
            )
