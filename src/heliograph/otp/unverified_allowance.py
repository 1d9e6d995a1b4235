"""Guards against pumping that is spread over many ranges: how many one-time passwords may stay
unverified depends on how many an account's users have verified.

It looks at an account's live sends, in all and for each country. A partner's tallies count its
customers' sends as well, which must pass both. Two bounds hold together, and below their floors
nothing is refused:

- of what was sent in this hour, at most FACTOR times the most that was verified of one hour in the
  last week may be unverified;
- of what was sent in the last 24 hours, at most FACTOR times what was verified of it, or of that
  one hour.

A code that is given back later counts as verified from then on. This is pure: it has no I/O and no
clock of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final, NamedTuple

import msgspec

from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.base.errors import RateLimited
from heliograph.otp.tables import ALL_COUNTRIES
from heliograph.text import parse_phone

HOURS: Final = 24  # that are counted one by one
DAYS: Final = 8  # a week, and today
# honest users verify 60 to 90 % of what they ask for, and pumping next to nothing: a third is far
# from both
FACTOR: Final = 2
# unverified an hour of an account without a past: users who have just asked, and mistyped numbers
ACCOUNT_FLOOR: Final = 100
# of it for each country: so a range, at 50, is blocked before its country is, and a country before
# all
COUNTRY_SHARE: Final = 0.75
DAY_FLOOR_FACTOR: Final = 2  # the floor of 24 hours is so many times the floor of an hour
NO_COUNTRY: Final = "ZZ"  # as ISO 3166 leaves it to its users

_as_json: Final = msgspec.json.Encoder().encode
_from_json: Final = msgspec.json.Decoder(list[int]).decode


class TooManyUnverified(RateLimited):
    """Too many one-time passwords of this account, or to this country, were not verified."""

    reason = "otp_too_many_unverified"


class UnverifiedAllowance(NamedTuple):
    """Says how many codes of an hour and of a day may be unverified."""

    hour: int
    day: int


def country_of(phone: int) -> str:
    """Returns the country that a number (E.164 digits) is counted in."""
    parsed = parse_phone(str(phone))
    return (parsed.country_code if parsed is not None else None) or NO_COUNTRY


@dataclass(slots=True)
class OtpTally:
    """Counts what an account (raw id) sent and verified in one country, or in all. `floor` is the
    floor of an hour.
    """

    account_id: str
    country_code: str
    floor: int
    hour: int = 0
    # in each hour up to `hour`, which is last
    sent: list[int] = field(default_factory=lambda: [0] * HOURS)
    verified: list[int] = field(default_factory=lambda: [0] * HOURS)  # of those
    # the most verified of one hour, of each day
    best: list[int] = field(default_factory=lambda: [0] * DAYS)
    capped_at_ms: int | None = None

    def move_to(self, now_ms: int) -> None:
        """Makes the hour of `now_ms` the last one. A clock that is behind counts in the hour that
        there is.
        """
        hour = now_ms // HOUR_MS
        if hour <= self.hour:
            return
        days = min(hour // HOURS - self.hour // HOURS, DAYS)
        hours = min(hour - self.hour, HOURS)
        self.sent = [*self.sent[hours:], *[0] * hours]
        self.verified = [*self.verified[hours:], *[0] * hours]
        self.best = [*self.best[days:], *[0] * days]
        self.hour = hour

    def add_sent(self, now_ms: int) -> None:
        """Counts one that is sent now."""
        self.move_to(now_ms)
        self.sent[-1] += 1

    def add_verified(self, sent_at_ms: int, now_ms: int) -> None:
        """Counts one that was sent then and is verified now: it counts where it was sent."""
        self.move_to(now_ms)
        ago = max(0, self.hour - sent_at_ms // HOUR_MS)
        days_ago = max(0, self.hour // HOURS - sent_at_ms // DAY_MS)
        if ago < HOURS and self.verified[-1 - ago] < self.sent[-1 - ago]:
            self.verified[-1 - ago] += 1
            self.best[-1 - days_ago] = max(self.best[-1 - days_ago], self.verified[-1 - ago])

    @property
    def unverified(self) -> int:
        """Returns how many of the last 24 hours are unverified."""
        return sum(self.sent) - sum(self.verified)

    @property
    def unverified_this_hour(self) -> int:
        return self.sent[-1] - self.verified[-1]

    def allowance(self) -> UnverifiedAllowance:
        best = max(self.best)
        return UnverifiedAllowance(
            max(self.floor, FACTOR * best),
            max(DAY_FLOOR_FACTOR * self.floor, FACTOR * max(best, sum(self.verified))),
        )

    def refuses(self, now_ms: int) -> bool:
        """Returns whether no further one may be sent now."""
        self.move_to(now_ms)
        return self._is_full()

    def refusal(self, now_ms: int) -> TooManyUnverified | None:
        """Returns why no further one may be sent now, or None if one may."""
        if not self.refuses(now_ms):
            return None
        where = (
            "of this account"
            if self.country_code == ALL_COUNTRIES
            else f"of this account to {self.country_code}"
        )
        allowed = self.allowance()
        return TooManyUnverified(
            f"{self.unverified_this_hour} one-time passwords {where} in this hour, and"
            f" {self.unverified} in 24 hours, were not verified; allowed are {allowed.hour} and"
            f" {allowed.day}.",
            retry_after_s=-((now_ms - self.free_at_ms(now_ms)) // 1_000),
        )

    def free_at_ms(self, now_ms: int) -> int:
        """Returns when the next one may be sent at the latest, if none is verified until then."""
        later = OtpTally(
            self.account_id,
            self.country_code,
            self.floor,
            hour=self.hour,
            sent=self.sent,
            verified=self.verified,
            best=self.best,
        )
        for _ in range(HOURS + 1):
            if not later._is_full():
                break
            later.move_to((later.hour + 1) * HOUR_MS)
        return max(later.hour * HOUR_MS, now_ms)

    def reset_unverified(self, now_ms: int) -> None:
        """Counts nothing as unverified any more. What was verified before stays counted."""
        self.move_to(now_ms)
        self.sent = list(self.verified)
        self.capped_at_ms = None

    def _is_full(self) -> bool:
        allowed = self.allowance()
        return self.unverified_this_hour >= allowed.hour or self.unverified >= allowed.day


def floor_of(set_by_operator: int | None, country_code: str) -> int:
    """Returns the floor of an hour, for each of an account's countries, or for all."""
    floor = ACCOUNT_FLOOR if set_by_operator is None else set_by_operator
    return floor if country_code == ALL_COUNTRIES else ceil(floor * COUNTRY_SHARE)


def encode_counts(counts: Sequence[int]) -> str:
    """Returns counts as a column holds them, `1,2,3`; `decode_counts` is the other way. It is JSON
    without its brackets, which is read and written ten times as fast.
    """
    return _as_json(counts)[1:-1].decode()


def decode_counts(text: str) -> list[int]:
    """Returns the counts that a column holds, such as `1,2,3`; `encode_counts` is the other way."""
    return _from_json(f"[{text}]")
