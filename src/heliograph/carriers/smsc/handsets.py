"""Writes texts as handsets do: each is another phone's, and they come at a rate while somebody is
bound to receive them. Chaos brings their parts out of order, among others', twice, or never.
"""

import asyncio
from collections import deque
from collections.abc import Collection
from itertools import chain, zip_longest
from typing import Any, Final, Protocol

from heliograph.base import clock
from heliograph.carriers.delay_queue import DelayQueue
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smsc.chaos import Act, ActPlace, Chaos
from heliograph.carriers.smsc.handset_pdus import HandsetPdu, WrittenText
from heliograph.carriers.smsc.journal import Journal
from heliograph.carriers.smsc.settings import SmscSettings

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


class TextReceiver(Protocol):
    """Describes a session that may receive texts."""

    def text_room(self) -> int: ...
    def send_text(self, text: HandsetPdu) -> None: ...
    def flush(self) -> None: ...


class Handsets:
    """Writes texts at the rate of the settings. Each goes to the session that has most room, and
    to another one if that session ends before it has answered.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        settings: SmscSettings,
        chaos: Chaos,
        journal: Journal,
    ) -> None:
        self._loop = loop
        self._rate = settings.mo_rate
        self._chaos = chaos
        self._journal = journal
        self._text = WrittenText(settings)
        self._next_phone = clock.now_us() // _US_OF_PHONE % _PHONES
        self._receivers: list[TextReceiver] = []
        self._waiting: deque[HandsetPdu] = deque()  # there is nobody with room for them
        self._resends: DelayQueue[HandsetPdu] = DelayQueue(loop, SENT_AGAIN_S, self._send_due)
        self._timer: asyncio.Handle | None = None
        # how many texts may be written now: the first one at once. It falls below 0 when several
        # phones write at once.
        self._credit = 1.0
        self._credited_s = 0.0
        self.owed = 0  # what is not answered yet

    def add_receiver(self, receiver: TextReceiver) -> None:
        """Takes a session that receives. With the first one handsets begin to write."""
        self._receivers.append(receiver)
        if self._rate and self._timer is None:
            self._credited_s = self._loop.time()
            self._timer = self._loop.call_soon(self._tick)

    def remove_receiver(self, receiver: TextReceiver, unanswered: Collection[HandsetPdu]) -> None:
        """Takes back what a session that is gone had not answered. Without a session no handset
        writes.
        """
        if receiver in self._receivers:
            self._receivers.remove(receiver)
        if not self._receivers:
            self.close()
        self._waiting.extendleft(reversed(list(unanswered)))
        self.send_waiting()

    def note_answer(self, text: HandsetPdu, status: int) -> None:
        """Sends a text again in a moment if the answer asks for that; else it is over."""
        if status in RETRIED:
            self._journal.count("text_sent_back")
            self._resends.put([text])
        else:
            self._journal.count("text_taken" if status == pdu.ESME_ROK else "text_refused")
            self.owed -= 1
        self.send_waiting()

    def send_waiting(self) -> None:
        """Sends what waits, as far as there is room for it."""
        while self._waiting:
            freest = max(self._receivers, key=lambda each: each.text_room(), default=None)
            room = 0 if freest is None else freest.text_room()
            if freest is None or room <= 0:
                return
            for _ in range(min(room, len(self._waiting))):
                freest.send_text(self._waiting.popleft())
            freest.flush()

    def journal_fields(self, text: HandsetPdu) -> dict[str, Any]:
        """Returns the fields of the journal's lines about a text, or about a part of one."""
        return self._text.journal_fields(text)

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
            self._credit -= self._write()
        self.send_waiting()
        self._timer = self._loop.call_later(_WRITING_EVERY_S, self._tick)

    def _write(self) -> int:
        """Has the next phone write the text, or the next few at once; returns how many did. It is
        hot.
        """
        acts = self._chaos.acts(ActPlace.TEXT)
        reference = self._next_phone
        texts = [self._written(acts, reference)]
        for act in acts:
            if act.kind == "mo-interleave":
                others = [self._chaos.acts(ActPlace.TEXT) for _ in range(act.argument - 1)]
                texts += [self._written(each, reference) for each in others]
                break
        in_turns = texts[0] if len(texts) == 1 else chain.from_iterable(zip_longest(*texts))
        self._waiting.extend(part for part in in_turns if part is not None)
        self.owed += sum(map(len, texts))
        return len(texts)

    def _written(self, acts: tuple[Act, ...], reference: int) -> list[HandsetPdu]:
        """Returns what the carrier brings of the next phone's text, in the order in which it does
        so.
        """
        phone = self._next_phone
        self._next_phone = (phone + 1) % _PHONES
        self._journal.count("text")
        brought: list[HandsetPdu] = []
        for part in self._text.pdus(f"{_PHONE_PREFIX}{phone:07}", reference):
            brought += [part] * self._times(part)
        if acts and any(act.kind == "mo-shuffle" for act in acts):
            self._chaos.shuffle(brought)
        return brought

    def _times(self, part: HandsetPdu) -> int:
        """Returns how often a part comes."""
        acts = self._chaos.acts(ActPlace.PART)
        if not acts:
            return 1
        act = acts[0]  # of two that exclude each other, the first counts
        if act.kind == "mo-lose":
            self._journal.count("text_lost")
            if self._journal.is_kept:
                self._journal.note("text_lost", **self.journal_fields(part))
            return 0
        times: int = act.argument
        self._journal.counts["text_repeated"] += times - 1
        return times

    def _send_due(self, due: DelayQueue[HandsetPdu]) -> None:
        self._waiting.extend(due.take_due(WAITING_MAX))
        self.send_waiting()
