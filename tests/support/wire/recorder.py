"""Takes the turn's place in the wire tests: it is an Inbox that keeps what a link reports, and can
be waited on.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from heliograph.carriers.link import (
    HandsetText,
    Link,
    LinkState,
    Outgoing,
    Receipt,
    Submission,
    SubmitAnswer,
    SubmitOutcome,
)
from heliograph.carriers.smpp import SmppSettings
from heliograph.carriers.smpp.link import SmppLink

WAIT_S = 10.0  # longer than anything here takes; a test that reaches it has failed

_numbers = count(0x0197_0000_0000_7000_8000_0000_0000_0000)


class Recorder:
    """Keeps every report. Acknowledges receipts and texts as they come if `acknowledges`, as if it
    had stored them at once.
    """

    def __init__(self, acknowledges: bool = True) -> None:
        self.acknowledges = acknowledges
        self.answers: list[SubmitAnswer] = []
        self.receipts: list[Receipt] = []
        self.texts: list[HandsetText] = []
        self.states: list[tuple[LinkState, str]] = []
        self.link: Link | None = None
        self._news = asyncio.Event()

    def on_answers(self, answers: Sequence[SubmitAnswer]) -> None:
        self.answers.extend(answers)
        self._news.set()

    def on_receipts(self, receipts: Sequence[Receipt]) -> None:
        self.receipts.extend(receipts)
        if self.acknowledges and self.link is not None:
            self.link.acknowledge(receipts)
        self._news.set()

    def on_texts(self, texts: Sequence[HandsetText]) -> None:
        self.texts.extend(texts)
        if self.acknowledges and isinstance(self.link, SmppLink):
            self.link.answer_texts(texts, stored=True)
        self._news.set()

    def on_state(self, state: LinkState, detail: str) -> None:
        self.states.append((state, detail))
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until a report makes the condition true."""
        async with asyncio.timeout(WAIT_S):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def settle(self, quiet_s: float) -> None:
        """Waits until nothing was reported for so long: to show that something does not happen."""
        async with asyncio.timeout(WAIT_S):
            while True:
                self._news.clear()
                try:
                    async with asyncio.timeout(quiet_s):
                        await self._news.wait()
                except TimeoutError:
                    return

    async def until_answered(self, count: int) -> list[SubmitAnswer]:
        await self.until(lambda: len(self.answers) >= count)
        return self.answers

    async def until_received(self, count: int) -> list[Receipt]:
        await self.until(lambda: len(self.receipts) >= count)
        return self.receipts

    async def until_texts(self, count: int) -> list[HandsetText]:
        await self.until(lambda: len(self.texts) >= count)
        return self.texts

    async def until_state(self, state: LinkState) -> str:
        """Waits for the state, and returns its detail."""
        await self.until(lambda: bool(self.states) and self.states[-1][0] is state)
        return self.states[-1][1]

    async def until_times(self, state: LinkState, times: int) -> None:
        """Waits until the state was reported so often in all."""
        await self.until(lambda: [each for each, _ in self.states].count(state) == times)

    def outcomes(self) -> list[SubmitOutcome]:
        return [answer.outcome for answer in self.answers]


@asynccontextmanager
async def opened(
    settings: SmppSettings, acknowledges: bool = True
) -> AsyncIterator[tuple[SmppLink, Recorder]]:
    """Yields a started link and its inbox, not yet bound."""
    inbox = Recorder(acknowledges)
    link = SmppLink(settings, inbox, texts=inbox)
    inbox.link = link
    await link.start()
    try:
        yield link, inbox
    finally:
        await link.close(0)


@asynccontextmanager
async def bound(
    settings: SmppSettings, acknowledges: bool = True
) -> AsyncIterator[tuple[SmppLink, Recorder]]:
    """Yields a bound link and its inbox."""
    async with opened(settings, acknowledges) as (link, inbox):
        await inbox.until_state(LinkState.BOUND)
        yield link, inbox


def outgoing(text: str = "hello", recipient: str = "233201234567", **given: Any) -> Outgoing:
    """Returns a message of its own, as the turn would hand it over."""
    fields: dict[str, Any] = {
        "sender": "AMINA",
        "encoding": "GSM-7",
        "segments": 1,
        "validity_s": 3_600,
        **given,
    }
    return Outgoing(message_id=f"{next(_numbers):032x}", recipient=recipient, text=text, **fields)


def prepared(link: Link, messages: int, recipient: str = "233201234567") -> list[Submission]:
    """Returns submissions of so many one-part messages."""
    return [
        submission
        for number in range(messages)
        for submission in link.prepare(outgoing(f"message {number}", recipient))
    ]


async def submit_all(link: Link, inbox: Recorder, submissions: Sequence[Submission]) -> None:
    """Hands them over as `room` allows, and waits until each is answered."""
    wanted, at = len(inbox.answers) + len(submissions), 0
    async with asyncio.timeout(WAIT_S):
        while at < len(submissions):
            room = link.room()
            if room:
                link.submit(submissions[at : at + room])
                at += room
            # room by the rate comes with time alone, which nothing announces
            await asyncio.sleep(0 if room else 0.002)
    await inbox.until_answered(wanted)
