"""Describes POST /otp/send and POST /otp/verify."""

from math import ceil
from typing import Final

from heliograph.api.openapi.parts import (
    COUNTRY_PATTERN,
    CUSTOMER_ID_FIELD,
    EXAMPLE_AT,
    EXAMPLE_MS,
    EXAMPLE_PHONE,
    WARNINGS,
    Json,
    Operation,
    ResponseLink,
    also,
    always,
    example_id,
    flag,
    form,
    identity,
    integer,
    moment,
    one_of,
    one_record,
    record,
    ref,
    text,
    with_warnings,
)
from heliograph.base.clock import rfc3339
from heliograph.otp import RANGE_DIGITS, SENDS_MAX
from heliograph.otp.code import DIGITS, SANDBOX_CODE
from heliograph.otp.limits import RESEND_AFTER_S, TRIES_MAX, UNVERIFIED_MAX, VALID_MS
from heliograph.otp.request import CODE_MAX, PLACE
from heliograph.otp.unverified_allowance import ACCOUNT_FLOOR, COUNTRY_SHARE, FACTOR

TAG: Final = "One-time passwords"

_PHONE: Final = text(
    "The phone number in international digits; with `countryCode` also as dialled in that country."
    " Without `countryCode`, a number with one leading 0 is read as dialled in the account's own"
    " country.",
    minLength=1,
    maxLength=64,
)
_COUNTRY_CODE: Final = also(
    text(
        "The country whose dialling rules a number without `+` or `00` is read by, ISO 3166-1"
        " alpha-2.",
        nullable=True,
        pattern=COUNTRY_PATTERN,
    ),
    "country_code",
)
_ANSWERED_PHONE: Final = text("E.164 digits without plus.", pattern="^[0-9]{7,15}$")

SCHEMAS: Final[dict[str, Json]] = {
    "OtpForm": form(
        "A phone to send a code to.",
        required=["phone"],
        phone=_PHONE,
        countryCode=_COUNTRY_CODE,
        sender=also(
            text(
                "An approved sender ID of the account. Without it the account's default sender is"
                " used, or else the service's own.",
                nullable=True,
                minLength=3,
                maxLength=16,
            ),
            "from",
        ),
        message=also(
            text(
                f"The text. It holds `{PLACE}` exactly once, and must fit one segment with the code"
                " in it. Without this field, a standard text with the account's name is used.",
                nullable=True,
                minLength=len(PLACE),
            ),
            "body",
        ),
        customer_id=CUSTOMER_ID_FIELD,
    ),
    "Otp": record(
        "A one-time password that is stored, paid and queued.",
        id=identity("otp", "The one-time password's id."),
        message_id=identity("msg", "The message that carries the code. Its text is never shown."),
        phone=_ANSWERED_PHONE,
        status=one_of(("pending",), "The code waits to be verified."),
        expires_at=moment("Until when the code is valid."),
        resend_after_s=integer(
            "How many seconds must pass before another code may be sent to this phone.", minimum=0
        ),
        credits_used=integer("The credits charged. 0 in sandbox.", minimum=0),
        sandbox=flag("True for a code of a sandbox key."),
    ),
    "OtpCodeForm": form(
        "A code to verify.",
        required=["phone", "code"],
        phone=_PHONE,
        code=text(
            "The code that the person typed. Spaces and hyphens in it are ignored.",
            minLength=1,
            maxLength=CODE_MAX,
        ),
        countryCode=_COUNTRY_CODE,
        customer_id=CUSTOMER_ID_FIELD,
    ),
    "OtpVerified": record(
        "A code that was verified.",
        id=identity("otp", "The one-time password's id."),
        phone=_ANSWERED_PHONE,
        verified_at=moment("When it was verified."),
    ),
}

_VERIFIED: Final[Json] = {
    "type": "object",
    "required": ["verified", "data"],
    "properties": {
        "verified": always(True, "True for every success."),
        "data": ref("OtpVerified"),
        "warnings": WARNINGS,
    },
}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("POST", "/otp/send"): Operation(
        TAG,
        "Send a one-time password",
        f"Sends a code of {DIGITS} digits that is valid for five minutes. It is sent ahead of all"
        " bulk messages and priced like any message. A new code replaces the one before. With a"
        f" sandbox key nothing is sent, there are no limits, and the code is `{SANDBOX_CODE}`.\n\nA"
        f" phone gets one code in {RESEND_AFTER_S} s, three in ten minutes, and {UNVERIFIED_MAX} in"
        f" 24 hours that are not verified. A range of numbers (the first {RANGE_DIGITS} digits) is"
        f" blocked after {SENDS_MAX} codes in an hour without one verification. In one hour an"
        f" account may have at most {FACTOR} times as many unverified codes as it verified in its"
        f" best hour of the week. In 24 hours it may have at most {FACTOR} times as many as it"
        " verified in these 24 hours. The same holds for the codes to each country."
        f" {ACCOUNT_FLOOR} codes an hour are always allowed, {ceil(ACCOUNT_FLOOR * COUNTRY_SHARE)}"
        " of them to one country. A code that a limit refuses is not charged.",
        with_warnings(one_record(ref("Otp"))),
        {
            "data": {
                "id": example_id("otp"),
                "message_id": example_id("msg", 1),
                "phone": EXAMPLE_PHONE,
                "status": "pending",
                "expires_at": rfc3339(EXAMPLE_MS + VALID_MS),
                "resend_after_s": RESEND_AFTER_S,
                "credits_used": 1,
                "sandbox": False,
            }
        },
        body=ref("OtpForm"),
        body_example={"phone": EXAMPLE_PHONE},
        reasons=(
            "no_such_record",
            "sender_not_approved",
            "no_valid_recipient",
            "too_many_segments",
            "otp_too_soon",
            "otp_too_often",
            "otp_attempts_exceeded",
            "otp_range_blocked",
            "otp_too_many_unverified",
            "insufficient_credits",
            "daily_cap_reached",
        ),
        links=(ResponseLink("itsMessage", ("GET", "/messages/{id}"), "id", "/data/message_id"),),
    ),
    ("POST", "/otp/verify"): Operation(
        TAG,
        "Verify a one-time password",
        "Checks whether a code is the one that was last sent to the phone. A code succeeds only"
        " once, even if two requests come at once. A code "
        f'that is not accepted is answered with another status than 200, and with `"verified":'
        f" false`.\n\n"
        "Give the phone as you gave it to `/otp/send`. If you gave a `countryCode` there and not"
        " here, the phone is looked for among those that you "
        "have sent a code to.\n\n"
        f"{TRIES_MAX} wrong codes lock the phone for ten minutes, for new "
        "codes too. They are counted across all codes that were sent, and a success resets the"
        f" count. In sandbox `{SANDBOX_CODE}` is the only right "
        "code.",
        _VERIFIED,
        {
            "verified": True,
            "data": {
                "id": example_id("otp"),
                "phone": EXAMPLE_PHONE,
                "verified_at": EXAMPLE_AT.replace(":00.000", ":21.402"),
            },
        },
        body=ref("OtpCodeForm"),
        body_example={"phone": EXAMPLE_PHONE, "code": SANDBOX_CODE},
        reasons=(
            "no_such_record",
            "otp_incorrect",
            "otp_expired",
            "otp_not_found",
            "otp_attempts_exceeded",
        ),
    ),
}
