"""The rate of a carrier is kept, and becomes slower when the carrier says so. Time is a number
here.
"""

from collections import Counter

import pytest

from heliograph.carriers.smpp.send_rate import UNLIMITED, Pace


def send_for(
    pace: Pace,
    seconds: float,
    began_s: float,
    carrier_tps: int | None = None,
    refuses_every: int = 0,
) -> list[float]:
    """Sends all that is allowed, every 10 ms; the carrier takes `carrier_tps` in each whole second,
    or refuses every n-th. Returns when each went.
    """
    sent: list[float] = []
    in_second: Counter[int] = Counter()
    for tick in range(round(seconds * 100)):
        now_s = began_s + tick / 100
        count = min(pace.allowance(now_s), 50)
        pace.note_sent(count, now_s)
        for _ in range(count):
            sent.append(now_s)
            in_second[int(now_s)] += 1
            refused = (carrier_tps is not None and in_second[int(now_s)] > carrier_tps) or (
                refuses_every and len(sent) % refuses_every == 0
            )
            pace.note_answers(not refused, bool(refused), now_s)
    return sent


def test_without_a_rate_there_is_no_limit() -> None:
    assert Pace(None, 0).allowance(0) == UNLIMITED


@pytest.mark.parametrize("tps", [1, 3, 10, 100, 2.5, 0.5])
def test_the_rate_is_reached_and_not_exceeded(tps: float) -> None:
    sent = send_for(Pace(tps, 0), 20, 0)
    assert len(sent) == pytest.approx(20 * tps, abs=max(1, tps / 4))


def test_after_a_rest_no_more_than_a_quarter_second_goes_at_once() -> None:
    pace = Pace(100, 0)
    assert pace.allowance(60) == 25
    pace.note_sent(25, 60)
    assert pace.allowance(60) == 0
    assert pace.allowance(60.1) == 10


def test_a_carrier_that_refuses_most_is_sent_what_it_takes() -> None:
    pace = Pace(None, 0)
    send_for(pace, 3, 0, carrier_tps=60)
    later = send_for(pace, 10, 3, carrier_tps=60)
    assert pace.is_slowed
    assert 500 <= len(later) <= 900  # 600 are taken; without slowing down it would be 50,000


def test_a_full_queue_that_refuses_half_slows_the_link_down_little_by_little() -> None:
    pace = Pace(1_000, 0)
    sent = send_for(pace, 6, 0, refuses_every=2)
    per_second = [sum(int(at) == second for at in sent) for second in range(6)]
    assert per_second == sorted(per_second, reverse=True)
    assert 200 < per_second[-1] < 500


def test_the_pace_recovers_when_the_carrier_does() -> None:
    pace = Pace(100, 0)
    send_for(pace, 5, 0, carrier_tps=10)
    assert pace.is_slowed
    send_for(pace, 15, 5)
    assert not pace.is_slowed
    assert len(send_for(pace, 2, 20)) == pytest.approx(200, abs=25)


def test_the_pace_never_falls_to_nothing() -> None:
    pace = Pace(50, 0)
    send_for(pace, 30, 0, refuses_every=1)
    assert pace.tps == 5


def test_another_rate_counts_at_once() -> None:
    pace = Pace(100, 0)
    pace.agree(10)
    assert pace.allowance(10) == 2
    pace.agree(None)
    assert pace.allowance(10) == UNLIMITED


def test_a_rate_of_nothing_is_nothing_until_there_is_one_again() -> None:
    pace = Pace(100, 0)
    pace.agree(0)
    pace.note_answers(0, 5, 0.5)  # a throttle answer that was still to come
    assert [pace.allowance(second) for second in range(1, 10)] == [0] * 9
    pace.agree(100)
    assert pace.allowance(11) == 25
