"""Chaos is described by probabilities and scripts, and a wrong description is refused with the
reason.
"""

from collections import Counter

import pytest

from heliograph.carriers.link import ReceiptState
from heliograph.carriers.smsc import Chaos, SmscSettings, read_chances, read_script
from heliograph.carriers.smsc.chaos import Act, ActPlace, Chance
from heliograph.carriers.smsc.chaos_plan import plan_of

SCRIPT = """
# a comment
after 2 submits: drop
after 4 submits: throttle for 2, early   # two things on one line
every 3 submits: delay:50ms
after 1 bind: already-bound for 2
"""


def test_a_script_happens_when_it_says() -> None:
    chaos = Chaos(rules=read_script(SCRIPT))
    delay = Act("delay", 0.05)
    assert [chaos.acts(ActPlace.SUBMIT) for _ in range(7)] == [
        (),
        (),
        (Act("drop"), delay),
        (),
        (Act("throttle"), Act("early")),
        (Act("throttle"), delay),
        (),
    ]
    assert [len(chaos.acts(ActPlace.BIND)) for _ in range(4)] == [0, 1, 1, 0]


def test_chances_are_read_with_their_arguments() -> None:
    assert read_chances(
        "throttle=0.5, refuse:0x0a=.01,late:2m=1,duplicate:1000=0,contradict:UNDELIV=1"
    ) == [
        Chance(0.5, Act("throttle")),
        Chance(0.01, Act("refuse", 0x0A)),
        Chance(1, Act("late", 120)),
        Chance(0, Act("duplicate", 1_000)),
        Chance(1, Act("contradict", ReceiptState.UNDELIV)),
    ]


def test_a_probability_is_how_often_it_happens() -> None:
    chaos = Chaos(read_chances("throttle=0.25,early=1,drop=0"), seed=1)
    seen = Counter(kind for _ in range(10_000) for kind, _ in chaos.acts(ActPlace.SUBMIT))
    assert 2_300 < seen.pop("throttle") < 2_700
    assert seen == {"early": 10_000}


def test_of_two_that_exclude_each_other_the_first_counts_and_the_script_comes_first() -> None:
    chaos = Chaos(
        read_chances("throttle=1,drop=1"), read_script("after 0 submits: refuse:0x0a, half-open")
    )
    plan = plan_of(chaos.acts(ActPlace.SUBMIT))
    assert (plan.status, plan.ends) == (0x0A, "half-open")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("thrttle=1", "'thrttle' is not a kind of chaos"),
        ("throttle", "is not KIND=PROBABILITY"),
        ("throttle=1.5", "is not KIND=PROBABILITY"),
        ("throttle=-1", "is not KIND=PROBABILITY"),
        ("throttle=nan", "is not KIND=PROBABILITY"),
        ("mo-repeat:101=1", "mo-repeat: '101' is not a number from 2 to 100"),
        ("mo-interleave:1=1", "mo-interleave: '1' is not a number from 2 to 100"),
        ("mo-shuffle:3=1", "mo-shuffle takes no argument"),
        ("throttle:5=1", "throttle takes no argument"),
        ("delay:5=1", "delay: '5' is not a time"),
        ("delay:25h=1", "delay: '25h' is not a time"),
        ("delay:9999m=1", "delay: '9999m' is not a time"),
        ("refuse:0=1", "refuse: '0' is not a command_status"),
        ("duplicate:1=1", "duplicate: '1' is not a number"),
        ("contradict:LOST=1", "contradict: must be one of DELIVRD, .*, not 'LOST'"),
        ("malformed:odd=1", "malformed: must be one of length-0, .*, not 'odd'"),
        ("throttle=0.5,throttle=0.5", "'throttle' is named twice"),
        ("refuse=0.1,drop=0.1,refuse:0x45=0.2", "'refuse:0x45' is named twice"),
    ],
)
def test_what_is_wrong_with_a_chance_is_told(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_chances(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\nafter a while: drop", "line 2: 'after a while: drop' is not 'after N submits"),
        ("after 1 submit: nothing", "line 1: 'nothing' is not a kind"),
        (
            "after 1 submit: wrong-password",
            "line 1: wrong-password happens to binds, not to submits",
        ),
        ("after 1 text: mo-lose", "line 1: mo-lose happens to parts, not to texts"),
        ("every 0 submits: drop", "line 1: 'every' takes a number from 1"),
        ("after 5 submits: drop for 0", "line 1: 'for' takes a number from 1"),
        ("every 2 submits: drop for 3", "line 1: 'every' takes a number from 1"),
        ("after 1 submit: drop\n" * 1_001, "1001 lines"),
    ],
)
def test_what_is_wrong_with_a_script_is_told_with_its_line(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_script(text)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("window", 0),
        ("window", 10_001),
        ("over_window", "wait"),
        ("id_format", "oct"),
        ("answer_delay_s", -1),
        ("receipt_delay_s", float("nan")),
        ("late_receipt_s", float("inf")),
        ("enquire_link_s", 0),
        ("mo_rate", 10_001),
        ("mo_rate", float("nan")),
        ("mo_to", "45"),
        ("mo_to", "١٢٣"),
        ("mo_text", ""),
        ("mo_text", "a" * 1_531),
        ("mo_text", "\ud800"),
        ("mo_long", "both"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(setting: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{setting}: .*\(allowed: "):
        # values of the wrong type are what is tried
        SmscSettings(**{setting: value})  # type: ignore[arg-type]
