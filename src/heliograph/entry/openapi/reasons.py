"""Why a request can fail: each code with its status, and each reason with its meaning (specification section 7, contract section 2)."""

from typing import Final, NamedTuple


class Reason(NamedTuple):
    """`status` and `code` of the failure that a reason narrows, and what it means."""

    status: int
    code: str
    meaning: str


def _reasons(status: int, code: str, **meanings: str) -> dict[str, Reason]:
    return {reason: Reason(status, code, meaning) for reason, meaning in meanings.items()}


REASONS: Final[dict[str, Reason]] = {
    **_reasons(
        401, "UNAUTHORIZED",
        missing_key="There is no API key in the Authorization header.",
        invalid_key="The key is malformed, unknown, revoked or expired."),
    **_reasons(
        403, "FORBIDDEN",
        missing_permission="The key lacks a permission; the message names it.",
        account_suspended="The account, its partner, or the customer it acts for is suspended: it can read, but change nothing.",
        nested_customer="The account is a Connect customer itself, and can have none."),
    **_reasons(
        400, "INVALID_REQUEST",
        invalid_http="What came is no HTTP request that can be read.",
        body_too_slow="The body did not come whole within 30 s. Nothing was stored; the connection is closed.",
        headers_too_slow="The headers of the request did not come whole within 10 s; the connection is closed.",
        invalid_json="The body is not the JSON object that is asked for, is empty or compressed, or holds more than 20,000 values; or its "
                     "Content-Type is another one.",
        invalid_field="A field is missing or wrong; `fields` names every one.",
        unknown_field="A field is unknown, and ignoring it could cost: it is nearly a known one, or asks for another time, price or effect; and "
                      "nothing else is wrong (else `invalid_field`).",
        invalid_query="A query parameter is unknown or wrong; `fields` names every one.",
        sender_not_approved="The sender is not approved for this account.",
        no_valid_recipient="None of the recipients can be sent to; `rejected` tells why of each.",
        currency_mismatch="Money to begin with is given in another currency than the partner's.",
        phone_taken="Another contact has this phone.",
        too_many_segments="The text takes more segments than allowed, and nothing else is wrong (else `invalid_field`).",
        otp_incorrect="The code is not the one that was sent last; `attempts_remaining` tells how many more may be wrong.",
        otp_expired="The code that was sent last is not valid any more.",
        otp_not_found="No code was sent to this phone, or the last one was used."),
    **_reasons(
        402, "INSUFFICIENT_CREDITS",
        insufficient_credits="The wallet holds fewer SMS credits than this costs; `required` and `available` tell both figures.",
        insufficient_balance="The wallet holds less money than this takes; `required` and `available` tell both figures."),
    **_reasons(
        404, "NOT_FOUND",
        no_such_path="There is nothing at this path.",
        no_such_record="There is no such record for this account and mode.",
        site_not_connected="The site is not linked to this account and mode; `POST /sitebuilder/connect` links it."),
    **_reasons(405, "METHOD_NOT_ALLOWED", method_not_allowed="The path does not answer this method; the Allow header names those it does."),
    **_reasons(
        409, "CONFLICT",
        idempotency_key_reused="The Idempotency-Key was used with another body.",
        idempotency_in_progress="A request with this Idempotency-Key is being carried out; try again after `Retry-After`."),
    **_reasons(413, "PAYLOAD_TOO_LARGE", payload_too_large="The body is larger than 1 MiB."),
    **_reasons(414, "INVALID_REQUEST", url_too_long="The URL is longer than 16 KiB; the connection is closed."),
    **_reasons(
        429, "RATE_LIMITED",
        rate_limited="The key has made all the requests it may make this minute.",
        otp_too_soon="The last one-time password to this phone is only seconds old.",
        otp_too_often="The phone was sent as many one-time passwords as it may be.",
        otp_attempts_exceeded="Too many wrong codes were given for this phone: it is locked, for codes and for sends.",
        otp_range_blocked="Many one-time passwords went to this range of numbers, and none was verified.",
        otp_too_many_unverified="More one-time passwords of the account, or to this country, are unverified than its users' verifications allow; or "
                                "of its partner and the partner's customers together.",
        storage_quota_reached="The account has had as much stored today (UTC) as it may, of what this request would store.",
        daily_cap_reached="The account has spent the credits it may spend today (UTC), or moved them to its customers."),
    **_reasons(
        431, "INVALID_REQUEST",
        headers_too_large="The header fields have more than 32 KiB in all, or are more than 100, or trailer fields have more; the connection is "
                          "closed."),
    **_reasons(500, "INTERNAL_ERROR", internal_error="A fault of ours; the request id finds it in our log."),
    **_reasons(
        503, "UNAVAILABLE",
        unavailable="The database is unreachable or a queue is full. Nothing was stored; try again.",
        too_many_connections="As many connections are open as may be, in all or from one address; try again.",
        stopping="This server is being stopped: `/readyz` says so, and whoever distributes requests takes another one."),
}

ALWAYS: Final = ("invalid_query", "url_too_long", "headers_too_large", "missing_key", "invalid_key", "missing_permission", "rate_limited",
                 "internal_error", "unavailable")
WITH_BODY: Final = ("invalid_json", "body_too_slow", "invalid_field", "unknown_field", "payload_too_large")
WHEN_CHANGING: Final = ("account_suspended",)
ON_POST: Final = ("invalid_field", "idempotency_key_reused", "idempotency_in_progress", "storage_quota_reached")
WITH_PATH_ID: Final = ("no_such_path", "no_such_record")


def of_status(reasons: tuple[str, ...]) -> dict[int, list[str]]:
    """The reasons by their status, lowest first, each once."""
    by_status: dict[int, list[str]] = {}
    for reason in dict.fromkeys(reasons):
        by_status.setdefault(REASONS[reason].status, []).append(reason)
    return dict(sorted(by_status.items()))
