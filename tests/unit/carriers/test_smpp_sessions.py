"""Some parts of a session need no connection: its pulse, its window, its settings."""

from typing import Any

import pytest

from heliograph.carriers.link import Submission, SubmitOutcome
from heliograph.carriers.smpp import SmppSettings
from heliograph.carriers.smpp.enquire_link import PeerState, SilenceWatch
from heliograph.carriers.smpp.window import LATE_KEPT_MAX, Window


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def submission(number: int) -> Submission:
    return Submission(
        message_id=f"{number:032x}",
        part=1,
        parts=1,
        attempt=1,
        sender="AMINA",
        recipient="233201234567",
        data=b"",
    )


def test_a_silent_peer_is_asked_once_and_then_dead() -> None:
    clock = Clock()
    watch = SilenceWatch(clock, ask_after_s=15, dead_after_s=10)
    felt = []
    for _ in range(26):
        clock.now_s += 1
        felt.append(watch.check())
    assert (
        felt
        == [PeerState.ALIVE] * 14 + [PeerState.ASK] + [PeerState.ALIVE] * 9 + [PeerState.DEAD] * 2
    )
    watch.note_pdu()
    assert watch.check() is PeerState.ALIVE


def test_not_reading_is_not_silence() -> None:
    clock = Clock()
    watch = SilenceWatch(clock, ask_after_s=15, dead_after_s=10)
    clock.now_s += 14
    watch.pause()
    clock.now_s += 1_000
    assert watch.check() is PeerState.ALIVE
    watch.resume()
    assert watch.time_s() == 114
    clock.now_s += 1
    assert watch.check() is PeerState.ASK


def test_a_window_gives_each_submission_one_answer_and_one_more_if_late() -> None:
    window = Window(2)
    window.waiting.update({1: (submission(1), 10.0), 2: (submission(2), 20.0)})
    assert window.free() == 0
    assert [(answer.message_id[-1], answer.outcome) for answer in window.expire(15.0)] == [
        ("1", SubmitOutcome.UNANSWERED)
    ]
    assert window.free() == 1
    late = window.answer(1, SubmitOutcome.ACCEPTED, "ref", 0)
    assert late is not None
    assert (late.late, late.ref) == (True, "ref")
    assert window.answer(1, SubmitOutcome.ACCEPTED, "ref", 0) is None
    assert [answer.outcome for answer in window.give_up()] == [SubmitOutcome.UNANSWERED]
    assert window.give_up() == []


def test_a_window_remembers_only_so_many_late_ones() -> None:
    window = Window(LATE_KEPT_MAX + 5)
    window.waiting.update(
        {number: (submission(number), 0.0) for number in range(LATE_KEPT_MAX + 5)}
    )
    assert len(window.expire(1.0)) == LATE_KEPT_MAX + 5
    assert window.answer(4, SubmitOutcome.ACCEPTED, "ref", 0) is None
    assert window.answer(5, SubmitOutcome.ACCEPTED, "ref", 0) is not None


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        *(
            ("port", 0),
            ("port", 65_536),
            ("binds", 0),
            ("window", 0),
            ("window", 10_001),
            ("host", ""),
            ("tps", -1),
        ),
        *(
            ("alphabet", "ebcdic"),
            ("long", "both"),
            ("receipts", "some"),
            ("bind", "rx"),
            ("system_id", "a\0b"),
        ),
        *(("source_ton_npi", (1, 256)), ("password", "Пароль")),
    ],
)
def test_a_wrong_setting_is_refused_by_name(setting: str, found: object) -> None:
    given: dict[str, Any] = {
        "name": "test",
        "host": "127.0.0.1",
        "port": 2775,
        "system_id": "amina",
        "password": "secret",
        setting: found,
    }
    with pytest.raises(ValueError, match=f"^{setting}: .*allowed") as refused:
        SmppSettings(**given)
    assert "Пароль" not in str(refused.value)


def test_a_password_is_not_in_what_settings_print() -> None:
    assert "geheim" not in repr(SmppSettings("test", "127.0.0.1", 2775, "amina", "geheim"))
