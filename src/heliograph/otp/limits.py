"""Decides whether a one-time password may be sent to a phone, and whether a code that somebody
gives back is right (docs/api.md, "Limits of a phone"). It is pure.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, NamedTuple

from msgspec.structs import replace

from heliograph.base.clock import DAY_MS
from heliograph.base.errors import InvalidRequest, RateLimited, ServiceError
from heliograph.database.statements import BigInt, Bool, Bytes, Id, Row, SmallInt

VALID_MS: Final = 300_000
# wrong ones, across codes, until a success: a million codes and five tries are a chance of 1 in
# 200,000
TRIES_MAX: Final = 5
LOCK_MS: Final = 600_000
RESEND_AFTER_S: Final = 30
OFTEN_MS: Final = 600_000
OFTEN_MAX: Final = 3  # sends to a phone in OFTEN_MS
UNVERIFIED_MAX: Final = 10  # sends to a phone in a day, of codes that nobody has given back
REMEMBERED_MS: Final = DAY_MS  # of an OTP, from when it was sent: what is older counts for nothing
REFUSED: Final[dict[str, Any]] = {"verified": False}


class TooSoon(RateLimited):
    """The last one-time password to this phone is only seconds old."""

    reason = "otp_too_soon"


class TooOften(RateLimited):
    """This phone has been sent as many one-time passwords as it may be."""

    reason = "otp_too_often"


class Locked(RateLimited):
    """Too many wrong codes were given for this phone: none is taken, and none sent, for a while."""

    reason = "otp_attempts_exceeded"


class LockedForCodes(Locked):
    """Too many wrong codes were given for this phone: none is taken, and none sent, for a while."""

    beside: ClassVar[dict[str, Any]] = REFUSED


class Incorrect(InvalidRequest):
    """This is not the code that was sent last."""

    reason, beside = "otp_incorrect", REFUSED


class Expired(InvalidRequest):
    """The code that was sent last is not valid any more."""

    reason, beside = "otp_expired", REFUSED


class NoneOutstanding(InvalidRequest):
    """There is no unused one-time password for this phone."""

    reason, beside = "otp_not_found", REFUSED


class Otp(Row, frozen=True):
    """Holds a one-time password that was sent, as a row of `otps`. The latest of a phone holds the
    phone's failures and lock.
    """

    id: Id
    account_id: Id
    sandbox: Bool
    phone: BigInt
    code_hmac: Bytes
    failures: SmallInt
    locked_until_ms: BigInt | None
    verified_at_ms: BigInt | None
    verified_by: Id | None
    created_at_ms: BigInt


class JudgedTry(NamedTuple):
    """Says how a try ended. `otp` is its state after the try. If `refusal` is None, the code was
    right.
    """

    otp: Otp | None
    refusal: ServiceError | None


def is_locked(latest: Otp, now_ms: int) -> bool:
    """Returns whether wrong tries have locked the phone of this latest one-time password."""
    return latest.locked_until_ms is not None and latest.locked_until_ms > now_ms


def failures_kept(latest: Otp | None, now_ms: int) -> int:
    """Returns how many wrong tries the next code begins with. Those before a lock have been paid
    for by the lock.
    """
    if latest is None or latest.locked_until_ms is not None or not _is_remembered(latest, now_ms):
        return 0
    return latest.failures


class _PhoneLimit(NamedTuple):
    """Limits how many of `among` may be sent within a time, and names the error beyond that."""

    among: Sequence[Otp]
    sends_max: int
    within_ms: int
    error: type[TooSoon] | type[TooOften]


class PhoneWait(NamedTuple):
    """Says until when a phone must wait for its next OTP, and with which error it is refused."""

    until_ms: int
    error: type[TooSoon] | type[TooOften]


def refusal_to_send(sent: Sequence[Otp], now_ms: int) -> ServiceError | None:
    """Returns why a phone must not be sent another one, or None if it may be. `sent` holds those of
    the last day, the latest first.

    Of several reasons it returns the one that lasts longest: whoever waits so long may send.
    """
    if not sent:
        return None
    if is_locked(sent[0], now_ms):
        return Locked(retry_after_s=seconds_until(sent[0].locked_until_ms or 0, now_ms))
    unverified = [otp for otp in sent if otp.verified_at_ms is None]
    limits = (
        _PhoneLimit(sent, 1, RESEND_AFTER_S * 1_000, TooSoon),
        _PhoneLimit(sent, OFTEN_MAX, OFTEN_MS, TooOften),
        _PhoneLimit(unverified, UNVERIFIED_MAX, DAY_MS, TooOften),
    )
    waits = [
        PhoneWait(limit.among[limit.sends_max - 1].created_at_ms + limit.within_ms, limit.error)
        for limit in limits
        if len(limit.among) >= limit.sends_max
    ]
    longest = max(waits, key=lambda wait: wait.until_ms)
    if longest.until_ms <= now_ms:
        return None
    return longest.error(retry_after_s=seconds_until(longest.until_ms, now_ms))


def judge_try(latest: Otp | None, is_right: bool, tried_by: str, now_ms: int) -> JudgedTry:
    """Judges a code that was given back for the phone whose last OTP is `latest`, by the
    verification `tried_by` (raw id).
    """
    if latest is not None and is_locked(latest, now_ms):
        return JudgedTry(
            latest, LockedForCodes(retry_after_s=seconds_until(latest.locked_until_ms or 0, now_ms))
        )
    if latest is None or latest.verified_at_ms is not None or not _is_remembered(latest, now_ms):
        return JudgedTry(latest, NoneOutstanding())
    # A lock outlasts its code. Where clocks differ, the code may seem to be valid when it is over.
    if latest.locked_until_ms is not None or latest.created_at_ms <= now_ms - VALID_MS:
        return JudgedTry(latest, Expired())
    if is_right:
        return JudgedTry(
            replace(latest, failures=0, verified_at_ms=now_ms, verified_by=tried_by), None
        )
    failures = latest.failures + 1
    tried = replace(
        latest,
        failures=failures,
        locked_until_ms=now_ms + LOCK_MS if failures == TRIES_MAX else latest.locked_until_ms,
    )
    return JudgedTry(tried, Incorrect(attempts_remaining=TRIES_MAX - failures))


def _is_remembered(otp: Otp, now_ms: int) -> bool:
    return otp.created_at_ms > now_ms - REMEMBERED_MS


def seconds_until(until_ms: int, now_ms: int) -> int:
    """Returns how many seconds are left until a time, rounded up: it is what `Retry-After` says."""
    return -((now_ms - until_ms) // 1_000)
