"""Lists why a request can fail: each code with its status, and each reason with its meaning
(docs/api.md, "Error codes and reasons").
"""

from typing import Final, NamedTuple


class Reason(NamedTuple):
    """Holds the `status` and `code` of the failure that a reason narrows, and what the reason
    means.
    """

    status: int
    code: str
    meaning: str


def _reasons(status: int, code: str, **meanings: str) -> dict[str, Reason]:
    return {reason: Reason(status, code, meaning) for reason, meaning in meanings.items()}


REASONS: Final[dict[str, Reason]] = {
    **_reasons(
        401,
        "UNAUTHORIZED",
        missing_key="There is no API key in the Authorization header.",
        invalid_key="The key is malformed, unknown, revoked or expired.",
    ),
    **_reasons(
        403,
        "FORBIDDEN",
        missing_permission="The key lacks a permission. The message names it.",
        account_suspended=(
            "The account, its partner, or the customer it acts for is suspended. It can read, but"
            " change nothing."
        ),
        sandbox_only=(
            "The account is in sandbox only, until the operator lets it go live with"
            " `heliograph account go-live`."
        ),
        nested_customer="The account is a Connect customer itself, and cannot have customers.",
    ),
    **_reasons(
        400,
        "INVALID_REQUEST",
        invalid_http="The bytes that came are not a valid HTTP request.",
        body_too_slow=(
            "The whole body did not arrive within 30 s. Nothing was stored, and the connection is"
            " closed."
        ),
        headers_too_slow=(
            "The headers did not all arrive within 10 s, and the connection is closed."
        ),
        invalid_json=(
            "The body is not a JSON object, is empty or compressed, holds more than 20,000 values,"
            " or has another Content-Type."
        ),
        invalid_field="A field is missing or wrong. `fields` names every one.",
        unknown_field=(
            "A field is unknown, and ignoring it could cost you money: its name is nearly a known"
            " one, or it asks for another time, price or effect. If another field is wrong too, the"
            " reason is `invalid_field`."
        ),
        invalid_query="A query parameter is unknown or wrong. `fields` names every one.",
        sender_not_approved="The sender is not approved for this account.",
        no_valid_recipient=(
            "None of the recipients can be sent to. `rejected` says why, for the first 100 of them."
        ),
        currency_mismatch="The initial balance is in another currency than the partner's.",
        phone_taken="Another contact has this phone number.",
        too_many_segments=(
            "The text takes more segments than allowed. If another field is wrong too, the reason"
            " is `invalid_field`."
        ),
        otp_incorrect=(
            "The code is wrong. `attempts_remaining` says how many more wrong codes lock the phone."
        ),
        otp_expired="The code has expired.",
        otp_not_found="No code was sent to this phone, or the last one has been used.",
    ),
    **_reasons(
        402,
        "INSUFFICIENT_CREDITS",
        insufficient_credits=(
            "The wallet holds fewer SMS credits than the request costs. `required` and `available`"
            " show both figures."
        ),
        insufficient_balance=(
            "The wallet holds less money than the request takes. `required` and `available` show"
            " both figures."
        ),
    ),
    **_reasons(
        404,
        "NOT_FOUND",
        no_such_path="There is nothing at this path.",
        no_such_record="There is no such record for this account and mode.",
        site_not_connected=(
            "The site is not linked to this account and mode. `POST /sitebuilder/connect` links it."
        ),
    ),
    **_reasons(
        405,
        "METHOD_NOT_ALLOWED",
        method_not_allowed=(
            "The path does not support this method. The Allow header names those that it does."
        ),
    ),
    **_reasons(
        409,
        "CONFLICT",
        idempotency_key_reused="The Idempotency-Key was used with another body.",
        idempotency_in_progress=(
            "A request with this Idempotency-Key is still being processed. Try again after"
            " `Retry-After`."
        ),
    ),
    **_reasons(413, "PAYLOAD_TOO_LARGE", payload_too_large="The body is larger than 1 MiB."),
    **_reasons(
        414,
        "INVALID_REQUEST",
        url_too_long="The URL is longer than 16 KiB. The connection is closed.",
    ),
    **_reasons(
        429,
        "RATE_LIMITED",
        rate_limited="The key has used all its requests of this minute.",
        otp_too_soon="A one-time password was sent to this phone only seconds ago.",
        otp_too_often=(
            "Too many one-time passwords were sent to this phone. Try again after `Retry-After`."
        ),
        otp_attempts_exceeded=(
            "Too many wrong codes were given for this phone. It is locked for a while, for new"
            " codes too."
        ),
        otp_range_blocked=(
            "Many one-time passwords were sent to this range of numbers, and none was verified."
        ),
        otp_too_many_unverified=(
            "Too many one-time passwords of the account, of its partner, or to this country are"
            " unverified."
        ),
        storage_quota_reached=(
            "The request would exceed what the account may store of this kind of data today (UTC)."
        ),
        daily_cap_reached=(
            "The request would exceed the credits that the account may spend or move to customers"
            " today (UTC)."
        ),
    ),
    **_reasons(
        431,
        "INVALID_REQUEST",
        headers_too_large=(
            "The headers are more than 32 KiB or more than 100, or the trailers are too large. The"
            " connection is closed."
        ),
    ),
    **_reasons(
        500,
        "INTERNAL_ERROR",
        internal_error=(
            "The service has failed. The operator finds the request in the log by its id."
        ),
    ),
    **_reasons(
        503,
        "UNAVAILABLE",
        unavailable=(
            "The database is unreachable or a queue is full. Nothing was stored: try again."
        ),
        too_many_connections=(
            "Too many connections are open, in all or from your address. Try again."
        ),
        stopping=(
            "This server is being stopped. Try again: another server answers, or this one after its"
            " restart."
        ),
    ),
}

ALWAYS: Final = (
    "invalid_query",
    "url_too_long",
    "headers_too_large",
    "missing_key",
    "invalid_key",
    "missing_permission",
    "rate_limited",
    "internal_error",
    "unavailable",
)
WITH_BODY: Final = (
    "invalid_json",
    "body_too_slow",
    "invalid_field",
    "unknown_field",
    "payload_too_large",
)
WHEN_CHANGING: Final = ("account_suspended",)
ON_POST: Final = (
    "invalid_field",
    "idempotency_key_reused",
    "idempotency_in_progress",
    "storage_quota_reached",
)
WITH_PATH_ID: Final = ("no_such_path", "no_such_record")


def of_status(reasons: tuple[str, ...]) -> dict[int, list[str]]:
    """Returns the reasons by their status, lowest first, each once."""
    by_status: dict[int, list[str]] = {}
    for reason in dict.fromkeys(reasons):
        by_status.setdefault(REASONS[reason].status, []).append(reason)
    return dict(sorted(by_status.items()))
