"""Runs a state machine of hypothesis: whatever happens to money and messages."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Coroutine
from decimal import Decimal
from typing import Any, TypeVar

import sqlalchemy as sa
import uvloop
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from heliograph import wallet
from heliograph.base import clock
from heliograph.base.errors import InsufficientCredits, Unavailable
from heliograph.carriers import ReceiptState, Submission, SubmitOutcome
from heliograph.messages.accept.batch import SendResult as Accepted
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.doubt.receipts import match_doubts
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.sweeps import fail_expired, settle_doubts
from heliograph.messages.tables import inflight, queue
from heliograph.wallet import ledger
from tests.support.books import BOOKS_EVERY, assert_books_agree
from tests.support.capability.sending import WORKER, House
from tests.support.factories import phones
from tests.support.property.situations import situation_of

T = TypeVar("T")


FIRST_CREDITS = 1_000


TEXTS = {1: "hello", 2: "x" * 161, 4: "x" * 500}


FATES = st.sampled_from(["", "", "", "lost", "reply lost"])


STORE_ENDED = st.sampled_from(
    [*[SubmitOutcome.ACCEPTED] * 6, *[SubmitOutcome.REFUSED] * 2, *SubmitOutcome]
)


RECEIPTS = st.sampled_from([*[ReceiptState.DELIVRD] * 8, *ReceiptState])


class Money(RuleBasedStateMachine):
    """Holds one account and one carrier with a window of 5; the machine is client, carrier,
    operator, clock and network.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self.loop = uvloop.new_event_loop()
        self.house = House(url)
        self.worker = WORKER
        self.link = self.house.turn(window=5)
        self.granted = FIRST_CREDITS
        self.charged = 0
        self.terminal: dict[str, str] = {}
        # of each message that was seen to be over, bits: what was stored as taken then
        self.parts_at_end: dict[str, int] = {}
        # of each message, bits: what the carrier has said it took
        self.accepted_parts: dict[str, int] = defaultdict(int)
        # messages of which a part was taken when they had failed already
        self.taken_after_all: set[str] = set()
        self.spent: set[tuple[str, int]] = set()  # segments that are on the wire, taken or refused
        # how often a segment was in doubt, and no answer came later
        self.doubts: Counter[tuple[str, int]] = Counter()
        self.unanswered: list[Submission] = []  # their answers may come late
        # segments answered late, as no turn has stored yet; whether that ended a doubt
        self.late: list[tuple[tuple[str, int], bool]] = []
        # the carrier's ids and recipients of what it has taken and sent no receipt for
        self.unreceipted: list[tuple[str, str]] = []
        self.money_minor = 0
        self.seen: set[str] = set()  # of SITUATIONS
        self.sent = 0
        self.moved_ms = 0
        self.steps = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, 30))

    def teardown(self) -> None:
        self.settle_everything()
        self.run(self.house.close())
        self.loop.close()
        clock.move(by_ms=-self.moved_ms)

    def move(self, by_ms: int) -> None:
        clock.move(by_ms=by_ms)
        self.moved_ms += by_ms

    # what may happen

    @precondition(lambda self: self.sent > 20)
    @rule(credits=st.integers(1, 50))
    def grant(self, credits: int) -> None:
        with self.house.db.write() as tx:
            ledger.grant(tx, self.house.amina_id, credits, "more", now_ms=clock.now_ms())
        self.granted += credits

    @initialize(count=st.integers(1, 6), segments=st.sampled_from(sorted(TEXTS)))
    def begin(self, count: int, segments: int) -> None:
        self.send(count, segments, 3_600, "")

    @rule(
        count=st.integers(1, 6),
        segments=st.sampled_from(sorted(TEXTS)),
        validity_s=st.sampled_from([60, 3_600]),
        fate=FATES,
    )
    def send(self, count: int, segments: int, validity_s: int, fate: str) -> None:
        self.house.db.fates = [fate]
        held = self.house.credits()
        accepted = self.run(
            self.house.tried(phones(count, first=self.sent), TEXTS[segments], validity_s=validity_s)
        )
        if isinstance(accepted, InsufficientCredits):
            assert count * segments > held
            return
        assert isinstance(accepted, Accepted)
        assert accepted.send.credits_used == count * segments
        self.sent += count
        self.charged += accepted.send.credits_used

    @precondition(lambda self: self.sent > 20)
    @rule()
    def ask_for_more_than_there_is(self) -> None:
        refused = self.run(self.house.tried(phones(10_000)))
        assert isinstance(refused, InsufficientCredits)
        self.seen.add("a send refused for its price")

    @precondition(lambda self: self.sent > 10)
    @rule(
        credits=st.sampled_from([-1, -40, 15, -1_000_000]),
        cents=st.sampled_from([250, -100, 1_999, -1_000_000]),
    )
    def the_operator_corrects(self, credits: int, cents: int) -> None:
        """Corrects credits and money, up and down; what would leave less than nothing is refused,
        and then nothing of it is stored.
        """
        held = self.house.credits()
        try:
            with self.house.db.write() as tx:
                ledger.adjust_credits(
                    tx, self.house.amina_id, credits, "corrected", now_ms=clock.now_ms()
                )
                if cents > 0:
                    ledger.topup(
                        tx,
                        self.house.amina_id,
                        Decimal(cents) / 100,
                        "paid in",
                        now_ms=clock.now_ms(),
                    )
                else:
                    ledger.adjust_money(
                        tx,
                        self.house.amina_id,
                        Decimal(cents) / 100,
                        "corrected",
                        now_ms=clock.now_ms(),
                    )
        except InsufficientCredits:
            assert held + credits < 0 or self.money_minor + cents < 0
            self.seen.add("a correction refused")
        else:
            self.granted += credits
            self.money_minor += cents
            self.seen.add("a correction downward" if credits < 0 else "a correction upward")

    @rule(
        answers=st.lists(STORE_ENDED, min_size=2, max_size=5),
        receipts=st.lists(RECEIPTS, max_size=4),
        fate=FATES,
    )
    def turn(self, answers: list[SubmitOutcome], receipts: list[ReceiptState], fate: str) -> None:
        """Lets the carrier answer some of what is on the wire, and send receipts for some of what
        it has taken; then comes a turn.
        """
        for submission, outcome in zip(list(self.link.open.values()), answers, strict=False):
            (ref,) = self.link.answer(
                submission,
                outcome=outcome,
                command_status=8 if outcome is SubmitOutcome.RETRY else 0,
            )
            self.note(submission, outcome)
            if outcome is SubmitOutcome.ACCEPTED:
                self.unreceipted.append((ref, submission.recipient))
            elif outcome is SubmitOutcome.UNANSWERED:
                self.unanswered.append(submission)
        for receipt in receipts[: len(self.unreceipted)]:
            self.link.receive(*self.unreceipted.pop(), receipt)
        self.house.db.fates = [fate]
        before = len(self.link.submitted)
        try:
            self.run(self.link.turn.run_once())
        except Unavailable:
            assert fate
        else:
            self.late = []
        self.house.db.fates = []
        for submission in self.link.submitted[before:]:
            segment = (submission.message_id, submission.part)
            assert segment not in self.spent
            assert self.doubts[segment] <= 1  # in doubt once: sent once more; twice: never again
            self.spent.add(segment)

    def note(self, submission: Submission, outcome: SubmitOutcome) -> None:
        segment = (submission.message_id, submission.part)
        if outcome is SubmitOutcome.ACCEPTED:
            self.spent.add(segment)
            self.accepted_parts[submission.message_id] |= submission.parts
            if submission.message_id in self.terminal:
                self.taken_after_all.add(submission.message_id)
        elif outcome is not SubmitOutcome.REFUSED:
            self.spent.discard(segment)
            self.doubts[segment] += outcome is SubmitOutcome.UNANSWERED

    @precondition(lambda self: self.unanswered)
    @rule(
        outcome=st.sampled_from(
            [SubmitOutcome.ACCEPTED, SubmitOutcome.REFUSED, SubmitOutcome.THROTTLED]
        )
    )
    def answer_late(self, outcome: SubmitOutcome) -> None:
        submission = self.unanswered.pop()
        self.link.answer(submission, outcome=outcome, late=True)
        segment = (submission.message_id, submission.part)
        is_in_doubt = segment not in self.link.open  # else it was sent once more meanwhile
        self.doubts[segment] -= is_in_doubt
        self.late.append((segment, is_in_doubt))
        if outcome is SubmitOutcome.ACCEPTED:
            self.note(submission, outcome)

    @precondition(lambda self: self.sent)
    @rule(by_ms=st.sampled_from([0, 600, 15_000, RESEND_AFTER_MS, RESEND_AFTER_MS, 3_700_000]))
    def time_passes(self, by_ms: int) -> None:
        self.move(by_ms)
        self.sweep()

    def sweep(self) -> None:
        self.run(fail_expired(self.house.db, clock.now_ms()))
        self.run(
            match_doubts(
                self.house.db,
                CarrierFacts(self.house.carrier_id, "carrier", id_format="as_is"),
                0,
                clock.now_ms(),
            )
        )
        self.run(settle_doubts(self.house.db, self.house.carrier_id, clock.now_ms(), resend=True))

    @precondition(lambda self: self.link.submitted)
    @rule()
    def the_process_dies_and_another_begins(self) -> None:
        self.worker += 1
        self.unreceipted = []
        self.unanswered = []  # nobody hears the answers of connections that are gone
        with self.house.db.read() as tx:
            rows = tx.execute(
                sa.select(inflight.c.state, inflight.c.message_id, inflight.c.part)
            ).all()
        # as far as anybody can know; an answer that was not stored is forgotten
        for state, *segment in rows:
            place = (segment[0], segment[1])
            if state == "submitting":
                self.doubts[place] += place in self.spent
                self.spent.discard(place)
            elif state == "in_doubt" and (place, True) in self.late:
                self.doubts[place] += 1
                self.spent.discard(place)
        self.late = []
        self.run(self.house.succeeded(self.worker))
        self.link = self.house.turn(window=5, worker=self.worker)
        self.link.refs = 1_000 * self.worker

    # what must hold

    @invariant()
    def the_books_agree_every_few_steps(self) -> None:
        self.steps += 1
        if self.steps % BOOKS_EVERY == 0:
            self.the_books_agree()

    def the_books_agree(self) -> None:
        self.house.assert_sound()
        assert_books_agree(self.house.db)

    @invariant()
    def the_ledger_proves_the_balance(self) -> None:
        with self.house.db.read() as tx:
            assert wallet.wallet_of(tx, self.house.amina_id).balance_minor == self.money_minor
        refunded = sum(row.refunded for row in self.house.messages())
        assert self.house.credits() == self.granted - self.charged + refunded
        assert (sum(self.house.entries("sms_charge")), sum(self.house.entries("sms_refund"))) == (
            -self.charged,
            refunded,
        )

    @invariant()
    def terminal_states_stick(self) -> None:
        for row in self.house.messages():
            if row.status in ("delivered", "failed"):
                assert (
                    self.terminal.setdefault(row.id, f"{row.status}/{row.error_code}")
                    == f"{row.status}/{row.error_code}"
                )
                if row.parts_accepted != self.parts_at_end.setdefault(row.id, row.parts_accepted):
                    # an answer that was given before the end, and stored after it
                    self.taken_after_all.add(row.id)
            else:
                assert row.id not in self.terminal

    def settle_everything(self) -> None:
        """Does some more of everything, so that each situation is met; then time goes by until
        nothing can happen any more, and what no carrier took has been paid back, and nothing else.
        """
        self.grant(50)
        self.ask_for_more_than_there_is()
        for credits, cents in ((15, 250), (-1, -100), (-1_000_000, 250)):
            self.the_operator_corrects(credits, cents)
        self.send(4, 1, 3_600, "")
        self.send(2, 4, 3_600, "")
        for _ in range(8):
            self.turn(
                [
                    SubmitOutcome.ACCEPTED,
                    SubmitOutcome.REFUSED,
                    SubmitOutcome.ACCEPTED,
                    SubmitOutcome.ACCEPTED,
                    SubmitOutcome.UNANSWERED,
                ],
                [ReceiptState.DELIVRD, ReceiptState.UNDELIV],
                "",
            )
            self.terminal_states_stick()
        self.send(3, 1, 60, "")
        self.house.db.fates = []
        self.run(self.link.close(0))
        self.run(self.link.turn.finish())
        self.terminal_states_stick()
        self.move(2 * 86_400_000)
        for _ in range(5):
            self.sweep()
            self.terminal_states_stick()
        assert self.house.count(queue) == self.house.count(inflight) == 0
        for row in self.house.messages():
            assert row.status != "queued"
            assert row.parts_accepted & ~self.accepted_parts[row.id] == 0
            not_taken = row.credits - row.parts_accepted.bit_count()  # a segment costs one credit
            if row.id in self.taken_after_all:
                # what was paid back is not charged again
                assert not_taken <= row.refunded <= row.credits
            else:
                assert row.refunded == (not_taken if row.status == "failed" else 0), row
        self.the_ledger_proves_the_balance()
        self.the_books_agree()
        self.seen |= {
            situation
            for row in self.house.messages()
            if (situation := situation_of(row)) is not None
        }
