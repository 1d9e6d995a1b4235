"""POST /otp/send and POST /otp/verify, described."""

from math import ceil
from typing import Final

from heliograph.base.clock import rfc3339
from heliograph.entry.openapi.parts import (
    CUSTOMER_ID_FIELD,
    EXAMPLE_AT,
    EXAMPLE_MS,
    EXAMPLE_PHONE,
    WARNINGS,
    Json,
    Link,
    Operation,
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
from heliograph.otp.code import DIGITS, SANDBOX_CODE
from heliograph.otp.guards import RANGE_DIGITS, SENDS_MAX
from heliograph.otp.limits import RESEND_AFTER_S, TRIES_MAX, UNVERIFIED_MAX, VALID_MS
from heliograph.otp.request import CODE_MAX, PLACE
from heliograph.otp.unverified import ACCOUNT_FLOOR, COUNTRY_SHARE, FACTOR

TAG: Final = "One-time passwords"

_COUNTRY: Final = "^[A-Za-z]{2}$"
_PHONE: Final = text("The phone number in international digits; with `countryCode` also as dialled in that country, and with a leading 0 as in "
              "the account's own.", minLength=1, maxLength=64)
_COUNTRY_CODE: Final = text("The country in which a number without `+` or `00` is read, ISO 3166-1 alpha-2.", nullable=True, pattern=_COUNTRY)
_ALIAS: Final = text("Another name of `countryCode`.", nullable=True, pattern=_COUNTRY)
_SENDER: Final[Json] = {"minLength": 3, "maxLength": 16}
_ANSWERED_PHONE: Final = text("E.164 digits without plus.", pattern="^[0-9]{7,15}$")

SCHEMAS: Final[dict[str, Json]] = {
    "OtpForm": form(
        "Whom to send a code.", required=["phone"], phone=_PHONE, countryCode=_COUNTRY_CODE,
        sender=text("An approved sender ID of the account; else its default sender, else the service's own.", nullable=True, **_SENDER),
        message=text(f"The text, with `{PLACE}` exactly once; with the code in it, it must fit one segment. Without it a text of ours, with the "
                     "account's name.", nullable=True, minLength=len(PLACE)),
        body=text("Another name of `message`.", nullable=True, minLength=len(PLACE)),
        customer_id=CUSTOMER_ID_FIELD, country_code=_ALIAS, **{"from": text("Another name of `sender`.", nullable=True, **_SENDER)}),
    "Otp": record(
        "A one-time password that is stored, paid and on its way.",
        id=identity("otp", "Its id."), message_id=identity("msg", "The message that carries it; its `message` is never shown."),
        phone=_ANSWERED_PHONE, status=one_of(("pending",), "It waits to be given back."),
        expires_at=moment("Until when the code is valid."),
        resend_after_s=integer("Seconds after which another one may be sent to this phone.", minimum=0),
        credits_used=integer("What was charged; 0 in sandbox.", minimum=0), sandbox=flag("Whether a sandbox key sent it.")),
    "OtpCodeForm": form(
        "The code that somebody gave back.", required=["phone", "code"], phone=_PHONE,
        code=text("As it was given; spaces and hyphens between its digits are passed over.", minLength=1, maxLength=CODE_MAX),
        countryCode=_COUNTRY_CODE, customer_id=CUSTOMER_ID_FIELD, country_code=_ALIAS),
    "OtpVerified": record("A code that was right.", id=identity("otp", "The one-time password's id."), phone=_ANSWERED_PHONE,
                          verified_at=moment("When it was.")),
}

_VERIFIED: Final[Json] = {
    "type": "object", "required": ["verified", "data"],
    "properties": {"verified": {"const": True, "description": "Always true with a 200."}, "data": ref("OtpVerified"), "warnings": WARNINGS}}

OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("POST", "/otp/send"): Operation(
        TAG, "Send a one-time password",
        f"Sends a code of {DIGITS} digits, valid for five minutes, ahead of all bulk, and priced like any message. A new one replaces the one "
        f"before.\n\nA phone is sent one in {RESEND_AFTER_S} s, three in ten minutes, and {UNVERIFIED_MAX} in 24 hours that are not verified. After "
        f"{SENDS_MAX} to one range of numbers (the first {RANGE_DIGITS} digits) in an hour without one verification the range is "
        f"blocked. Of the codes of an account, and of those to one country, at most {FACTOR} times as many may stay unverified in an hour as were "
        f"verified in its best hour of a week, and in 24 hours as were verified in them; {ACCOUNT_FLOOR} an hour always may, "
        f"{ceil(ACCOUNT_FLOOR * COUNTRY_SHARE)} to one country. "
        f"None of these is charged. Sandbox has no such limits, and nothing is sent there: the code is `{SANDBOX_CODE}`.",
        with_warnings(one_record(ref("Otp"))),
        {"data": {"id": example_id("otp"), "message_id": example_id("msg", 1), "phone": EXAMPLE_PHONE, "status": "pending",
                  "expires_at": rfc3339(EXAMPLE_MS + VALID_MS), "resend_after_s": RESEND_AFTER_S, "credits_used": 1, "sandbox": False}},
        body=ref("OtpForm"), body_example={"phone": EXAMPLE_PHONE},
        reasons=("no_such_record", "sender_not_approved", "no_valid_recipient", "too_many_segments", "otp_too_soon", "otp_too_often",
                 "otp_attempts_exceeded", "otp_range_blocked", "otp_too_many_unverified", "insufficient_credits", "daily_cap_reached"),
        links=(Link("itsMessage", ("GET", "/messages/{id}"), "id", "/data/message_id"),)),
    ("POST", "/otp/verify"): Operation(
        TAG, "Verify a one-time password",
        "Tells whether a code is the one that was sent to the phone last. It is right once: of two that come together one succeeds. **Whatever is no "
        f"success is no 200**, and says `\"verified\": false`.\n\n{TRIES_MAX} wrong codes, counted across all that were sent, lock the phone for ten "
        f"minutes, sends included; a success sets the count back. In sandbox `{SANDBOX_CODE}` is right for every phone, and nothing else is.",
        _VERIFIED,
        {"verified": True, "data": {"id": example_id("otp"), "phone": EXAMPLE_PHONE, "verified_at": EXAMPLE_AT.replace(":00.000", ":21.402")}},
        body=ref("OtpCodeForm"), body_example={"phone": EXAMPLE_PHONE, "code": SANDBOX_CODE},
        reasons=("no_such_record", "otp_incorrect", "otp_expired", "otp_not_found", "otp_attempts_exceeded")),
}
