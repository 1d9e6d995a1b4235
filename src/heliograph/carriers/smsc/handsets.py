"""Writes texts as handsets do: each is another phone's, and they come at a rate while somebody is
bound to receive them.
"""

import asyncio
from collections import deque
from collections.abc import Collection
from typing import Any, Final, NamedTuple, Protocol

from heliograph.base import clock
from heliograph.carriers.delay_queue import Delayed
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.encode import ton_npi_of
from heliograph.carriers.smpp.receipt import UCS2
from heliograph.carriers.smsc.journal import Journal
from heliograph.carriers.smsc.journal_entry import text_hash
from heliograph.carriers.smsc.settings import SmscSettings
from heliograph.text import UCS_2, segments

WAITING_MAX: Final = 10_000  # deliver_sm that nobody has room for; past it no handset writes
SENT_AGAIN_S: Final = 1.0  # after an answer that asks for another try
# answers to a deliver_sm after which it is sent again (SMPP 3.4, 5.1.3)
RETRIED: Final = frozenset({0x08, 0x14, 0x58, 0x64})
_BEHIND_S: Final = 1.0  # what a busy event loop makes up for; a longer pause is no burst later
_WRITING_EVERY_S: Final = 0.02
_PHONE_PREFIX: Final = "23320"  # phones of Ghana, as the other examples have them
_PHONES: Final = 10_000_000
# The time says which phone begins, so that a run does not repeat what the one before it wrote.
_US_OF_PHONE: Final = 100


class HandsetPdu(NamedTuple):
    """Holds a text that a handset sends, or a part of one, until the client has taken it."""

    sender: str
    part: int
    body: bytes  # of the deliver_sm


class TextReceiver(Protocol):
    """Describes a session that may receive texts."""

    def text_room(self) -> int: ...
    def send_text(self, text: HandsetPdu) -> None: ...
    def flush(self) -> None: ...


class _TextPart(NamedTuple):
    """Holds what all texts have in common: one of the parts of the text that handsets write."""

    octets: bytes
    text_sha256: str


class Handsets:
    """Writes texts at the rate of the settings. Each goes to the session that has most room, and
    to another one if that session ends before it has answered.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, settings: SmscSettings, journal: Journal
    ) -> None:
        self._loop = loop
        self._rate = settings.mo_rate
        self._recipient = settings.mo_to
        self._journal = journal
        encoding = segments.count(settings.mo_text).encoding
        self._data_coding = UCS2 if encoding == UCS_2 else 0
        encoded = segments.ucs2_octets if encoding == UCS_2 else segments.gsm7_octets
        octets = [encoded(part) for part in segments.split(settings.mo_text, encoding)]
        self._parts = [_TextPart(each, text_hash(self._data_coding, each)) for each in octets]
        self._next_phone = clock.now_us() // _US_OF_PHONE % _PHONES
        self._receivers: list[TextReceiver] = []
        self._waiting: deque[HandsetPdu] = deque()  # there is nobody with room for them
        self._again: Delayed[HandsetPdu] = Delayed(loop, SENT_AGAIN_S, self._again_due)
        self._timer: asyncio.Handle | None = None
        self._credit = 1.0  # how many texts may be written now: the first one at once
        self._credited_s = 0.0
        self.owed = 0  # what is not answered yet

    def joined(self, receiver: TextReceiver) -> None:
        """Takes a session that receives. With the first one handsets begin to write."""
        self._receivers.append(receiver)
        if self._rate and self._timer is None:
            self._credited_s = self._loop.time()
            self._timer = self._loop.call_soon(self._tick)

    def left(self, receiver: TextReceiver, unanswered: Collection[HandsetPdu]) -> None:
        """Takes back what a session that is gone had not answered. Without a session no handset
        writes.
        """
        if receiver in self._receivers:
            self._receivers.remove(receiver)
        if not self._receivers:
            self.close()
        self._waiting.extendleft(reversed(list(unanswered)))
        self.look_again()

    def answered(self, text: HandsetPdu, status: int) -> None:
        """Sends a text again in a moment if the answer asks for that; else it is over."""
        if status in RETRIED:
            self._journal.count("text_sent_back")
            self._again.put([text])
        else:
            self._journal.count("text_taken" if status == pdu.ESME_ROK else "text_refused")
            self.owed -= 1
        self.look_again()

    def look_again(self) -> None:
        """Sends what waits, as far as there is room for it."""
        while self._waiting:
            freest = max(self._receivers, key=lambda each: each.text_room(), default=None)
            room = 0 if freest is None else freest.text_room()
            if freest is None or room <= 0:
                return
            for _ in range(min(room, len(self._waiting))):
                freest.send_text(self._waiting.popleft())
            freest.flush()

    def told(self, text: HandsetPdu) -> dict[str, Any]:
        """Returns the fields of the journal's lines about a text, or about a part of one."""
        sha256 = self._parts[text.part - 1].text_sha256
        return {"sender": text.sender, "part": text.part, "text_sha256": sha256}

    def close(self) -> None:
        """Lets no handset write until a session joins."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        now_s = self._loop.time()
        most = max(1.0, self._rate * _BEHIND_S)
        self._credit = min(most, self._credit + self._rate * (now_s - self._credited_s))
        self._credited_s = now_s
        while self._credit >= 1 and len(self._waiting) < WAITING_MAX:
            self._credit -= 1
            self._write()
        self.look_again()
        self._timer = self._loop.call_later(_WRITING_EVERY_S, self._tick)

    def _write(self) -> None:
        """Has the next phone write the text."""
        phone = self._next_phone
        self._next_phone = (phone + 1) % _PHONES
        sender = f"{_PHONE_PREFIX}{phone:07}"
        addresses = pdu.encode_addresses("", (1, 1, sender), ton_npi_of(self._recipient))
        total = len(self._parts)
        for number, part in enumerate(self._parts, 1):
            # Information element 0: 8-bit reference, total, number (3GPP TS 23.040, 9.2.3.24.1)
            header = b"" if total == 1 else bytes((5, 0, 3, phone & 0xFF, total, number))
            body = pdu.encode_body(
                addresses,
                self._recipient.encode("ascii"),
                pdu.ESM_UDH if header else 0,
                priority_flag=0,
                validity_period=b"",
                registered_delivery=0,
                data_coding=self._data_coding,
                short_message=header + part.octets,
                tlvs=b"",
            )
            self._waiting.append(HandsetPdu(sender, number, body))
        self.owed += total
        self._journal.count("text")

    def _again_due(self, due: Delayed[HandsetPdu]) -> None:
        self._waiting.extend(due.take_due(WAITING_MAX))
        self.look_again()
