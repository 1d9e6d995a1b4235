"""Finds the phone of a code that is given back without the country that was given to /otp/send.

Without a country a number is read as international, or with a single 0 in front by the account's
country (docs/api.md, "Phone numbers"; docs/decisions/text.md, N7). Where nothing was sent to the
phone that this makes of it, it may be written as it is dialled in the country of a phone that
something was sent to.
"""

from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.otp.limits import REMEMBERED_MS, VALID_MS
from heliograph.otp.tables import otps
from heliograph.text import (
    NUMBER_DIGITS_MAX,
    NUMBER_DIGITS_MIN,
    SEPARATORS,
    calling_codes_as_digits,
    parse_phone,
)

TRUNK_DIGITS_MAX: Final = 2  # in front of a number as it is dialled in its country: 0, 8, 06
OTPS_MAX: Final = 1_000  # looked at; a phone is sent 450 a day at most


def is_as_dialled(given: str) -> bool:
    """Tells whether a phone may be written as it is dialled in its country: without + or
    00, and long enough to be one.
    """
    digits = given.translate(SEPARATORS)
    return (
        digits.isascii()
        and digits.isdigit()
        and not digits.startswith("00")
        and NUMBER_DIGITS_MIN <= len(digits) <= NUMBER_DIGITS_MAX
    )


def sent_to(
    tx: Connection, account_id: str, given: str, now_ms: int, *, sandbox: bool
) -> int | None:
    """Returns the phone of an account (raw id) that was sent a code and is written so in its own
    country. `given` passes `is_as_dialled`.

    Of several such phones, those whose code is outstanding go before the others. It returns None
    unless exactly one is left.
    """
    newest = (
        sa.select(otps.c.phone, otps.c.created_at_ms, otps.c.verified_at_ms)
        .where(
            otps.c.account_id == account_id,
            otps.c.sandbox.is_(sandbox),
            otps.c.phone.in_(_possible(given.translate(SEPARATORS))),
            otps.c.created_at_ms > now_ms - REMEMBERED_MS,
        )
        .order_by(otps.c.id.desc())
        .limit(OTPS_MAX)
    )
    is_outstanding: dict[int, bool] = {}
    for otp in tx.execute(newest):
        if otp.phone not in is_outstanding and _is_written_so(otp.phone, given):
            is_valid = otp.created_at_ms > now_ms - VALID_MS
            is_outstanding[otp.phone] = otp.verified_at_ms is None and is_valid
    among = [phone for phone in is_outstanding if is_outstanding[phone]] or list(is_outstanding)
    return among[0] if len(among) == 1 else None


def _possible(digits: str) -> list[int]:
    """Returns all phones that end in these digits, with and without what is dialled in front."""
    ends = {digits[front:] for front in range(TRUNK_DIGITS_MAX + 1)}
    return [
        int(code + end)
        for code in calling_codes_as_digits()
        for end in ends
        if NUMBER_DIGITS_MIN <= len(code + end) <= NUMBER_DIGITS_MAX
    ]


def _is_written_so(phone: int, given: str) -> bool:
    whole = parse_phone(str(phone))
    return (
        whole is not None
        and whole.country_code is not None
        and parse_phone(given, whole.country_code) == whole
    )
