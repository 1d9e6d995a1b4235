"""The SMPP client is a Link: it makes one carrier's binds look like one."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from heliograph.base import cancelling
from heliograph.carriers.link import (
    HandsetText,
    Inbox,
    LinkState,
    Outgoing,
    Receipt,
    Submission,
    SubmitAnswer,
    SubmitOutcome,
    TextInbox,
)
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.bind import Bind
from heliograph.carriers.smpp.encode import Encoder
from heliograph.carriers.smpp.send_rate import Pace
from heliograph.carriers.smpp.session import SmppSession, Token
from heliograph.carriers.smpp.session_counters import SessionCounters
from heliograph.carriers.smpp.settings import SmppSettings

_COMMANDS: Final = {
    "trx": (pdu.BIND_TRANSCEIVER,),
    "tx+rx": (pdu.BIND_TRANSMITTER, pdu.BIND_RECEIVER),
}


class SmppLink:
    """Implements `Link` and `TextLink`. It is made and used in one event loop; every report to
    `inbox` and `texts` comes from there. `may_bind` is asked before each connection. Where nobody
    stores `texts` from handsets, the carrier is told to send them again.
    """

    def __init__(
        self,
        settings: SmppSettings,
        inbox: Inbox,
        may_bind: Callable[[], bool] = lambda: True,
        texts: TextInbox | None = None,
    ) -> None:
        self._settings = settings
        self._inbox = inbox
        self._texts = texts
        self._encoder = Encoder(settings)
        self._loop = asyncio.get_running_loop()
        self._pace = Pace(settings.tps or None, self._loop.time())
        self.tally = SessionCounters()
        commands = _COMMANDS[settings.bind] * settings.binds
        self._binds = [
            Bind(settings, command, self, self.tally, self._on_change, may_bind)
            for command in commands
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._is_closing = False
        self._is_drained = asyncio.Event()
        self._reported = (LinkState.CONNECTING, "")

    # --- Link

    @property
    def state(self) -> LinkState:
        return self._reported[0]

    @property
    def is_slowed(self) -> bool:
        """Returns whether the carrier's throttle answers keep the rate below the agreed one."""
        return self._pace.is_slowed

    @property
    def outstanding(self) -> int:
        """Returns how many submissions wait for their answer."""
        return sum(session.outstanding for session in self._sessions())

    def agree_tps(self, tps: float | None) -> None:
        """Sets another rate from now on: the processes that serve one carrier share its rate as
        they come and go. With 0, nothing at all is sent.
        """
        self._pace.agree(tps)

    def room(self) -> int:
        if self._is_closing or self.state is not LinkState.BOUND:
            return 0
        free = sum(session.window_free() for session in self._sessions(sending=True))
        return min(free, self._pace.allowance(self._loop.time())) if free else 0

    def prepare(self, message: Outgoing) -> list[Submission]:
        return self._encoder.submissions(message)

    def submit(self, submissions: Sequence[Submission]) -> None:
        """Spreads submissions evenly over the binds. Those that there is no room for are answered
        UNSPENT, from the event loop's next round.
        """
        # the fullest first: what it cannot take is shared by those with more room
        sessions = (
            []
            if self._is_closing
            else sorted(self._sessions(sending=True), key=SmppSession.window_free)
        )
        at = 0
        for number, session in enumerate(sessions):
            share = (len(submissions) - at) // (len(sessions) - number)
            batch = submissions[at : at + min(share, session.window_free())]
            if batch:
                session.submit(batch)
                at += len(batch)
        if at:
            self._pace.note_sent(at, self._loop.time())
        if at < len(submissions):
            unspent = [
                SubmitAnswer(s.message_id, s.part, s.parts, s.attempt, SubmitOutcome.UNSPENT)
                for s in submissions[at:]
            ]
            self._loop.call_soon(self._inbox.on_answers, unspent)

    def acknowledge(self, receipts: Sequence[Receipt]) -> None:
        _answer([receipt.token for receipt in receipts], pdu.ESME_ROK)

    def answer_texts(self, texts: Sequence[HandsetText], *, stored: bool) -> None:
        _answer([text.token for text in texts], pdu.ESME_ROK if stored else pdu.ESME_RX_T_APPN)

    async def start(self) -> None:
        self._inbox.on_state(*self._reported)
        self._tasks = [asyncio.create_task(bind.keep_bound()) for bind in self._binds]
        for task in self._tasks:
            task.add_done_callback(_raise_fault)

    async def close(self, grace_s: float) -> None:
        """Ends all sessions, after it has waited up to `grace_s` for their answers."""
        self._is_closing = True
        await cancelling.cancel_and_wait(*self._tasks)
        if self.outstanding:
            # what is still outstanding then is reported when its session ends
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._is_drained.wait()
        sessions = self._sessions()
        for session in sessions:
            session.unbind()
        for session in sessions:
            await session.closed.wait()
        self._show(LinkState.CLOSED, "")

    # --- what sessions and binds report

    def on_answers(self, answers: list[SubmitAnswer]) -> None:
        """Hands the answers on, and adapts the pace to them."""
        accepted = throttled = 0
        for answer in answers:
            if answer.outcome is SubmitOutcome.ACCEPTED:
                accepted += 1
            elif answer.outcome is SubmitOutcome.THROTTLED:
                throttled += 1
        self._pace.note_answers(accepted, throttled, self._loop.time())
        self._inbox.on_answers(answers)
        if self._is_closing and not self.outstanding:
            self._is_drained.set()

    def on_receipts(self, receipts: list[Receipt]) -> None:
        self._inbox.on_receipts(receipts)

    def on_texts(self, texts: list[HandsetText]) -> None:
        if self._texts is None:
            self.answer_texts(texts, stored=False)
        else:
            self._texts.on_texts(texts)

    def _on_change(self) -> None:
        if self._is_closing:
            return
        bound = [bind for bind in self._binds if bind.state is LinkState.BOUND]
        if any(bind.sends for bind in bound) and any(bind.receives for bind in bound):
            self._show(LinkState.BOUND, f"{len(bound)} of {len(self._binds)} binds")
            return
        for state in (LinkState.REFUSED, LinkState.BACKING_OFF, LinkState.CONNECTING):
            of_state = [bind for bind in self._binds if bind.state is state]
            if of_state:
                self._show(state, of_state[0].detail)
                return

    def _show(self, state: LinkState, detail: str) -> None:
        if (state, detail) != self._reported:
            self._reported = (state, detail)
            self._inbox.on_state(state, detail)

    def _sessions(self, sending: bool = False) -> list[SmppSession]:
        return [
            bind.session
            for bind in self._binds
            if bind.session is not None and (bind.sends or not sending)
        ]


def _answer(tokens: Sequence[object], status: int) -> None:
    sequences: defaultdict[SmppSession, list[int]] = defaultdict(list)
    for token in tokens:
        if isinstance(token, Token):
            sequences[token.session].append(token.sequence)
    for session, of_session in sequences.items():
        session.acknowledge(of_session, status)


def _raise_fault(task: asyncio.Task[None]) -> None:
    """Raises what ended a bind's task. Such a task ends only when it is cancelled; anything else
    is a mistake in it, and the event loop's handler logs it.
    """
    if not task.cancelled():
        task.result()
