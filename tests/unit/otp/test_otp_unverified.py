"""Only so many codes may stay unverified: an honest account is never held back, however it grows,
and a past that is not there lends nothing.
"""

import heapq
import random
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.otp.tables import ALL_COUNTRIES
from heliograph.otp.unverified_allowance import (
    ACCOUNT_FLOOR,
    DAYS,
    FACTOR,
    HOURS,
    OtpTally,
    decode_counts,
    encode_counts,
    floor_of,
)

NOON_MS = 20_000 * DAY_MS + DAY_MS // 2
# of a day's sends in each hour
CURVE = (1, 1, 1, 1, 1, 2, 4, 8, 12, 14, 14, 13, 12, 13, 14, 14, 13, 12, 14, 16, 14, 10, 6, 3)


class Lived(NamedTuple):
    sent: int
    refused: int
    verified: int


def tally(country: str = ALL_COUNTRIES) -> OtpTally:
    return OtpTally("a" * 32, country, floor_of(None, country))


def honest(seed: int, days: list[int]) -> Iterator[tuple[int, float]]:
    """Yields moments at which users ask for a code, so many each day, more of them by day; and how
    long each takes to give it back, infinite if never. Of each hour, 60 to 90 % do, after 5 s to 2
    minutes.
    """
    dice = random.Random(seed)
    for day, sends in enumerate(days):
        for hour, share in enumerate(CURVE):
            rate = dice.uniform(0.6, 0.9)
            start_ms = 20_000 * DAY_MS + day * DAY_MS + hour * HOUR_MS
            at_ms = sorted(
                start_ms + dice.randrange(HOUR_MS) for _ in range(round(sends * share / sum(CURVE)))
            )
            for moment_ms in at_ms:
                yield (
                    moment_ms,
                    dice.uniform(5_000, 120_000) if dice.random() < rate else float("inf"),
                )


def live(guards: list[OtpTally], moments: Iterator[tuple[int, float]]) -> Lived:
    """Returns what becomes of the moments: each is refused when a guard refuses it."""
    pending: list[tuple[float, int]] = []
    sent = refused = verified = 0
    for now_ms, after_ms in moments:
        while pending and pending[0][0] <= now_ms:
            at_ms, sent_at_ms = heapq.heappop(pending)
            verified += 1
            for guard in guards:
                guard.add_verified(sent_at_ms, round(at_ms))
        if any(guard.refusal(now_ms) for guard in guards):
            refused += 1
            continue
        sent += 1
        for guard in guards:
            guard.add_sent(now_ms)
        if after_ms != float("inf"):
            heapq.heappush(pending, (now_ms + after_ms, now_ms))
    return Lived(sent, refused, verified)


@pytest.mark.parametrize("usual", [20, 300, 5_000, 15_000], ids="{} a day".format)
def test_an_account_that_grows_threefold_in_a_day_is_refused_nothing(usual: int) -> None:
    seen = live(
        [tally("GH"), tally()],
        honest(usual, [usual, usual, 3 * usual, 9 * usual if usual < 15_000 else usual]),
    )
    assert seen.refused == 0, seen
    assert 0.6 <= seen.verified / seen.sent <= 0.9


def test_a_new_account_and_a_new_country_begin_small_without_being_refused() -> None:
    assert live([tally("KE"), tally()], honest(1, [4_000, 12_000])).refused == 0


def flood(guards: list[OtpTally], start_ms: int, sends: int, apart_ms: int) -> int:
    """Returns how many of so many that nobody verifies go out."""
    return live(
        guards, ((start_ms + number * apart_ms, float("inf")) for number in range(sends))
    ).sent


def test_without_a_past_the_floors_are_all_there_is() -> None:
    assert flood([tally()], NOON_MS, 10_000, 10) == ACCOUNT_FLOOR
    assert flood([tally("KE")], NOON_MS, 10_000, 10) == 75
    assert flood([tally()], NOON_MS, 10_000, DAY_MS // 10_000) == 2 * ACCOUNT_FLOOR, (
        "of 24 hours, however slowly"
    )


def test_a_past_lends_so_much_and_only_where_it_was_made() -> None:
    everywhere, ghana = tally(), tally("GH")
    live([ghana, everywhere], honest(7, [5_000, 5_000]))
    best, later_ms = max(everywhere.best), 20_002 * DAY_MS + HOUR_MS // 2
    assert best > 200
    abroad = flood([tally("KE"), everywhere], later_ms, 10_000, 10)
    assert abroad == 75
    everywhere.reset_unverified(later_ms)
    assert flood([ghana, everywhere], later_ms, 10_000, 10) == FACTOR * best


def test_what_is_verified_later_is_counted_where_it_was_sent_and_frees_at_once() -> None:
    one = tally("GH")
    assert flood([one], NOON_MS, 200, 1) == 75
    refusal = one.refusal(NOON_MS + 1_000)
    assert refusal is not None
    assert refusal.retry_after_s == 3_599, "until the next hour"
    one.add_verified(NOON_MS, NOON_MS + 2_000)
    assert one.refusal(NOON_MS + 2_000) is None
    assert (one.sent[-1], one.verified[-1], one.best[-1]) == (75, 1, 1)
    one.add_verified(NOON_MS, NOON_MS + HOUR_MS)  # sent before the hour began
    assert (one.sent[-2:], one.verified[-2:], one.unverified) == ([75, 0], [2, 0], 73)


def test_retry_after_is_when_it_is_free_if_nobody_verifies() -> None:
    one = tally()
    assert flood([one], NOON_MS, 100, 1) + flood([one], NOON_MS + 3 * HOUR_MS, 200, 1) == 200
    now_ms = NOON_MS + 4 * HOUR_MS + 5_500
    refusal = one.refusal(now_ms)
    assert refusal is not None
    assert refusal.retry_after_s is not None
    assert one.refusal(now_ms + (refusal.retry_after_s - 1) * 1_000) is not None
    assert one.refusal(now_ms + refusal.retry_after_s * 1_000) is None
    assert now_ms + refusal.retry_after_s * 1_000 - NOON_MS <= DAY_MS + 1_000


def test_hours_and_days_pass_and_a_clock_that_is_behind_counts_in_the_hour_that_there_is() -> None:
    one = tally()
    one.add_sent(NOON_MS)
    one.add_verified(NOON_MS, NOON_MS)
    one.add_sent(NOON_MS - HOUR_MS)
    assert (sum(one.sent), one.sent[-1], one.best[-1]) == (2, 2, 1)
    one.move_to(NOON_MS + 7 * DAY_MS)
    assert (one.sent, one.unverified, one.best[0], len(one.best)) == ([0] * HOURS, 0, 1, DAYS)
    one.move_to(NOON_MS + 8 * DAY_MS)
    assert max(one.best) == 0
    assert decode_counts(encode_counts([1, 0, 23])) == [1, 0, 23]
