"""Codes may be sent, lost, guessed and given back in any order: each answer is the one that
docs/api.md, "One-time passwords", says, and nothing is charged that was not sent. The model counts
in plain lists; time goes by in steps of 30 s, so that what a run takes itself decides nothing.
"""

from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import uvloop
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from heliograph.base import clock
from heliograph.messages.tables import messages
from heliograph.otp.tables import otps
from tests.support.capability.passwords import OtpHouse, Refusal, Sent, wrong
from tests.support.property.lives import lives

T = TypeVar("T")
PHONES = ("233201234567", "233209876543")
MINUTE, DAY = 60, 86_400  # seconds
STEPS = (30, 30, 60, 150, 300, 600, 3_600, 8 * 3_600, DAY)
FATES = st.sampled_from([[], [], [], ["lost"], ["reply lost"]])
REASONS = {
    "sent",
    "verified",
    "otp_too_soon",
    "otp_too_often",
    "otp_attempts_exceeded",
    "otp_incorrect",
    "otp_expired",
    "otp_not_found",
}


@dataclass
class Code:
    at: int
    code: str
    used: bool = False


@dataclass
class Model:
    """Models one phone by the rules of docs/api.md, "One-time passwords", and where those are
    silent, of docs/decisions/otp.md, P4 and P5.
    """

    sent: list[Code] = field(default_factory=list)
    wrong: int = 0
    locked_until: int = 0

    def send(self, now: int) -> str:
        if self.locked_until > now:
            return "otp_attempts_exceeded"
        unverified = [each.at for each in self.sent if not each.used and each.at > now - DAY]
        soon = max([each.at + 30 for each in self.sent], default=0)
        often = max(
            [each.at + 10 * MINUTE for each in self.sent[-3:-2]]
            + [at + DAY for at in unverified[-10:-9]],
            default=0,
        )
        if max(soon, often) <= now:
            return "sent"
        return "otp_too_often" if often > soon else "otp_too_soon"  # the one that lasts longer

    def went_out(self, code: str, now: int) -> None:
        if not self.sent or self.sent[-1].at <= now - DAY or self.locked_until:
            self.wrong, self.locked_until = 0, 0
        self.sent.append(Code(now, code))

    def takes(self, now: int) -> bool:
        """Returns whether a right code is right now."""
        return (
            self.locked_until <= now
            and bool(self.sent)
            and not self.sent[-1].used
            and self.sent[-1].at > now - 5 * MINUTE
        )

    def give(self, code: str, now: int) -> str:
        if self.locked_until > now:
            return "otp_attempts_exceeded"
        latest = self.sent[-1] if self.sent and self.sent[-1].at > now - DAY else None
        if latest is None or latest.used:
            return "otp_not_found"
        if latest.at <= now - 5 * MINUTE:
            return "otp_expired"
        if latest.code != code:
            self.wrong += 1
            self.locked_until = now + 10 * MINUTE if self.wrong == 5 else 0
            return "otp_incorrect"
        latest.used, self.wrong = True, 0
        return "verified"


class Passwords(RuleBasedStateMachine):
    """The machine is whoever signs in, whoever guesses, clock and network; there is one account,
    with two phones.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self.loop = uvloop.new_event_loop()
        self.house = OtpHouse(url)
        self.now = 0
        self.models = [Model() for _ in PHONES]
        self.seen: Counter[str] = Counter()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        self.run(self.house.close())
        self.loop.close()

    @rule(seconds=st.sampled_from(STEPS))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        clock.move(seconds * 1_000)

    @rule(phone=st.sampled_from([0, 1]), together=st.sampled_from([1, 1, 1, 3]), fates=FATES)
    def send(self, phone: int, together: int, fates: list[str]) -> None:
        """Asks for so many codes at once."""
        model = self.models[phone]
        requests = [self.house.request(PHONES[phone]) for _ in range(together)]
        self.house.db.fates = fates.copy()
        for outcome in self.run(self.house.asked(*requests)):
            expected = model.send(self.now)
            assert ("sent" if isinstance(outcome, Sent) else outcome[0]) == expected, (
                outcome,
                expected,
            )
            if isinstance(outcome, Sent):
                model.went_out(outcome.code, self.now)
            self.seen[expected] += 1

    @rule(
        phone=st.sampled_from([0, 1]),
        times=st.integers(2, 11),
        pause_s=st.sampled_from([30, 300]),
        guesses=st.booleans(),
    )
    def insist(self, phone: int, times: int, pause_s: int, guesses: bool) -> None:
        """Asks for one code after the other, each perhaps with a wrong code given back."""
        for _ in range(times):
            self.send(phone=phone, together=1, fates=[])
            if guesses:
                self.check(phone, ["wrong"])
            self.time_passes(seconds=pause_s)

    @rule(
        phone=st.sampled_from([0, 1]),
        what=st.lists(
            st.sampled_from(["right", "right", "old", "wrong", "junk"]), min_size=1, max_size=7
        ),
    )
    def give(self, phone: int, what: list[str]) -> None:
        """Gives back codes that come together."""
        self.check(phone, what)

    @rule(phone=st.sampled_from([0, 1]), fates=FATES)
    def give_and_lose(self, phone: int, fates: list[str]) -> None:
        """Gives back right codes only, because with a lost reply wrong ones count twice
        (docs/decisions/otp.md, P7).
        """
        self.check(phone, ["right", "right"], fates if self.models[phone].takes(self.now) else [])

    def check(self, phone: int, what: list[str], fates: list[str] | None = None) -> None:
        model = self.models[phone]
        codes = [self.code(model, each) for each in what]
        self.house.db.fates = list(fates or [])
        outcomes = self.run(
            self.house.given_together(*(self.house.given(code, PHONES[phone]) for code in codes))
        )
        for code, outcome in zip(codes, outcomes, strict=True):
            expected = model.give(code, self.now)
            assert reason_of(outcome) == expected, (outcome, expected)
            if expected == "otp_incorrect":
                assert outcome[1] == 5 - model.wrong
            self.seen[expected] += 1

    def code(self, model: Model, what: str) -> str:
        latest = model.sent[-1].code if model.sent else "123456"
        older = model.sent[-2].code if len(model.sent) > 1 else wrong(latest)
        return {"right": latest, "old": older, "wrong": wrong(latest), "junk": "x"}[what]

    @invariant()
    def what_was_sent_is_stored_and_charged(self) -> None:
        sent = sum(len(model.sent) for model in self.models)
        assert (self.house.count(otps), self.house.count(messages), self.house.credits()) == (
            sent,
            sent,
            1_000 - sent,
        )


def reason_of(outcome: str | Refusal) -> str:
    return outcome if isinstance(outcome, str) else outcome[0]


def test_every_answer_is_the_contracts_whatever_happens(
    database_url: str, emptied: Callable[[], str]
) -> None:
    reached: Counter[str] = Counter()

    class PasswordsHere(Passwords):
        def __init__(self) -> None:
            super().__init__(emptied())

        def teardown(self) -> None:
            super().teardown()
            reached.update(self.seen)

    # not shrunk: against a database that takes minutes, and what fails can be read as it is
    run_state_machine_as_test(
        PasswordsHere,
        settings=settings(
            max_examples=lives(database_url, 12),
            stateful_step_count=30,
            deadline=None,
            phases=(Phase.reuse, Phase.generate),
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert set(reached) == REASONS, "what the machine must have come through"
