"""A `Link` is what a carrier looks like to the rest of the service: it takes submissions, and hands
back answers and delivery receipts.

The SMPP client and the simulator are both Links, and pass one conformance suite. A Link knows the
wire and nothing of the database. It never decides what a message becomes; it only reports. Its
owner, the carrier's turn, stores what was reported first and acknowledges it afterwards.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final, Protocol

import msgspec

# receipts of a link that are handed over and not yet stored; then nothing more is read until half
# of them are stored: memory stays flat
RECEIPTS_UNACKNOWLEDGED_MAX: Final = 2_000
# how the octets of a text from a handset are to be read, beside text.GSM_7 and text.UCS_2
LATIN_1: Final = "Latin-1"
BINARY: Final = "binary"  # whatever is no text that we can read
# a bulk send has one text for 10,000 recipients: it is split and encoded once
TEXTS_KEPT_MAX: Final = 512


class Outgoing(msgspec.Struct, frozen=True):
    """Describes a message as the turn hands it to `Link.prepare`: whole, not yet split into
    submissions.
    """

    message_id: str  # raw form: 32 hex digits
    sender: str  # as approved: letters, or 3..15 digits
    recipient: str  # E.164 digits without plus
    text: str
    encoding: str  # "GSM-7" or "UCS-2": how the text was counted and paid
    segments: int  # 1..10
    validity_s: int  # what is left of it; goes into validity_period (SMPP 3.4, 5.2.16)
    priority: int = 0  # 0 bulk, 1 OTP
    attempt: int = 1


class Submission(msgspec.Struct, frozen=True):
    """Describes one submit_sm. `parts` has bit k-1 set for every segment k that it carries: one
    bit, or all of them for message_payload.
    """

    message_id: str
    part: int  # its number: the lowest segment it carries, from 1
    parts: int
    attempt: int
    sender: str
    recipient: str
    data: Any  # the Link's own: an encoded PDU body, or whatever the simulator needs
    wants_receipt: bool = True


class SubmitOutcome(Enum):
    """Classifies an answer to submit_sm. `carriers/smpp/outcomes.py` maps command_status values to
    these.
    """

    ACCEPTED = "accepted"
    THROTTLED = "throttled"  # RTHROTTLED, RMSGQFUL: try again, and the Link has slowed itself down
    RETRY = "retry"  # RSYSERR, RX_T_APPN and unknown codes: try this message again, 3 tries in all
    # a fault of the session (RINVBNDSTS…), or never written: the message was not tried at all
    UNSPENT = "unspent"
    REFUSED = "refused"  # permanent: it will never be accepted
    # written, and no answer came in time or the connection went: in doubt
    UNANSWERED = "unanswered"


class SubmitAnswer(msgspec.Struct, frozen=True):
    """Reports what became of one Submission. Exactly one is reported for each submission, and one
    more if the carrier's answer comes late (see `late`).
    """

    message_id: str
    part: int
    parts: int
    attempt: int
    outcome: SubmitOutcome
    ref: str | None = None  # the carrier's message_id, as it printed it
    command_status: int = 0
    late: bool = False  # an answer that came after UNANSWERED had been reported for it


class ReceiptState(Enum):
    """Lists the final and the intermediate states of a delivery receipt (SMPP 3.4 appendix B and
    5.2.28).
    """

    DELIVRD = "DELIVRD"
    EXPIRED = "EXPIRED"
    DELETED = "DELETED"
    UNDELIV = "UNDELIV"
    FAILED = "FAILED"
    REJECTD = "REJECTD"
    UNKNOWN = "UNKNOWN"
    ACCEPTD = "ACCEPTD"
    ENROUTE = "ENROUTE"


class Receipt(msgspec.Struct, frozen=True):
    """Holds a delivery receipt as it came in. `state` is None if it could not be read; such a
    receipt is stored and acknowledged all the same.
    """

    # the carrier's message id, exactly as printed; the TLV's where present, else the text's
    ref: str | None
    state: ReceiptState | None
    error: str | None  # err: of the text, or network_error_code
    recipient: str | None  # digits: the handset, source_addr of the deliver_sm
    sender: str | None  # destination_addr of the deliver_sm
    user_message_reference: int | None
    # what an operator may see of its text, without what it quotes of the message; at most 1 KiB
    raw: bytes
    token: object  # the Link's own: which deliver_sm to answer, on which session
    at_ms: int | None = None  # when it came, if that was not just now


class PartOf(msgspec.Struct, frozen=True):
    """Says which part of a long text a short message is. `reference` is the same for all of its
    parts, and also tells in which of the ways it was written; `number` counts from 1.
    """

    reference: int
    total: int
    number: int


class HandsetText(msgspec.Struct, frozen=True):
    """Holds a short message that a handset sent: a whole text, or a part of one. It is acknowledged
    only when it is stored.
    """

    sender: str  # the handset: digits without plus, or a name
    recipient: str  # our number
    alphabet: str  # GSM-7, Latin-1, UCS-2, or binary
    octets: bytes  # without the user data header; of GSM-7 a septet an octet
    part: PartOf | None
    digest: str  # 32 hex digits, the same whenever the carrier sends this again
    token: object  # the Link's own: which PDU to answer, on which session
    # the account whose sandbox has the phone (raw id): carriers bring live texts only
    sandbox_of: str | None = None
    # the carrier says that the sender is a number of its country, without the country's code
    is_national: bool = False


class LinkState(Enum):
    CONNECTING = "connecting"
    BOUND = "bound"
    BACKING_OFF = "backing_off"
    REFUSED = "refused"  # wrong password or already bound: slow retry, an operator should look
    CLOSED = "closed"


class Inbox(Protocol):
    """Describes what a Link reports to. It is called in the event loop's thread, and must not
    block.
    """

    def on_answers(self, answers: Sequence[SubmitAnswer]) -> None: ...
    def on_receipts(self, receipts: Sequence[Receipt]) -> None: ...
    def on_state(self, state: LinkState, detail: str) -> None: ...


class TextInbox(Protocol):
    """Describes what a Link hands texts from handsets to. It is called in the event loop's thread,
    and must not block.
    """

    def on_texts(self, texts: Sequence[HandsetText]) -> None: ...


class TextLink(Protocol):
    """Describes a Link that texts from handsets come from."""

    def answer_texts(self, texts: Sequence[HandsetText], *, stored: bool) -> None:
        """Answers the PDUs of these texts: they are stored, or the carrier shall send them again. A
        text whose session is gone is dropped: the carrier sends it again.
        """
        ...


class Link(Protocol):
    """Shows one carrier's connections, one or many binds, as one."""

    @property
    def state(self) -> LinkState: ...

    def room(self) -> int:
        """Returns how many submissions may be handed over now: what the windows of all bound
        sessions have free, and what the rate allows at once. It is 0 when nothing is bound.
        """
        ...

    def prepare(self, message: Outgoing) -> list[Submission]:
        """Splits a message into its submissions. It is pure: the same message always gives the same
        split and the same UDH reference.
        """
        ...

    def submit(self, submissions: Sequence[Submission]) -> None:
        """Writes submissions to the wire (no more than `room()` said). Never raises for the wire's
        sake: what cannot be written is answered UNSPENT.

        Nothing is reported from within the call: answers come in a later round of the event loop.
        """
        ...

    def acknowledge(self, receipts: Sequence[Receipt]) -> None:
        """Answers the deliver_sm of receipts that are now stored. One whose session is gone is
        dropped: the carrier sends it again.
        """
        ...

    async def start(self) -> None:
        """Begins connecting, and goes on reconnecting (1..60 s, jitter) until `close`."""
        ...

    async def close(self, grace_s: float) -> None:
        """Stops: waits up to `grace_s` for outstanding answers, unbinds, closes.
        Outstanding ones are reported UNANSWERED.
        """
        ...
