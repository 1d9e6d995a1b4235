"""Describes failures: the schemas of their bodies, and an answer for each status with the reasons
that it can have.
"""

from typing import Any, Final

from heliograph.api.openapi.parts import (
    EXAMPLE_REQUEST_ID,
    HEADERS,
    RATE_HEADERS,
    Json,
    always,
    array,
    headers,
    one_of,
    record,
    ref,
    text,
)
from heliograph.api.openapi.reasons import REASONS
from heliograph.base.errors import FIELDS_REPORTED_MAX
from heliograph.messages.accept import REJECTED_REPORTED_MAX

# Answers that many operations have in common. The first two belong to none: any other path, and any
# other method, is answered so.
_SHARED: Final[dict[tuple[str, ...], str]] = {
    ("no_such_path",): "NoSuchPath",
    ("method_not_allowed",): "MethodNotAllowed",
    ("invalid_query",): "InvalidQuery",
    (
        "invalid_query",
        "invalid_json",
        "body_too_slow",
        "invalid_field",
        "unknown_field",
    ): "InvalidRequest",
    ("url_too_long",): "UrlTooLong",
    ("headers_too_large",): "HeadersTooLarge",
    ("missing_key", "invalid_key"): "Unauthorized",
    ("insufficient_credits",): "InsufficientCredits",
    ("missing_permission",): "Forbidden",
    ("missing_permission", "account_suspended"): "ForbiddenOrSuspended",
    ("no_such_record",): "NoSuchRecord",
    ("no_such_path", "no_such_record"): "NoSuchPathOrRecord",
    ("idempotency_key_reused", "idempotency_in_progress"): "IdempotencyConflict",
    ("payload_too_large",): "PayloadTooLarge",
    ("rate_limited",): "RateLimited",
    ("rate_limited", "storage_quota_reached"): "RateLimitedOrQuotaReached",
    ("internal_error",): "InternalError",
    ("unavailable",): "Unavailable",
}
_PAYMENT_REQUIRED: Final = 402

_MESSAGE: Final = text("What happened, for people.")
_AROUND: Final[dict[str, Json]] = {
    "message": text("The same as `error.message`."),
    "request_id": text("The request's id. The operator can find it in the log."),
}

SCHEMAS: Final[dict[str, Json]] = {
    "ErrorResponse": {
        "type": "object",
        "required": ["success", "error", "message", "request_id"],
        "description": "The body of every failure.",
        "properties": {
            "success": always(False, "False for every failure."),
            "error": {"description": "What happened, and why.", **ref("Error")},
            **_AROUND,
            "verified": always(
                False,
                "Only at `/otp/verify`, with the reasons that begin with `otp_`: the code was not"
                " accepted.",
            ),
        },
    },
    "Error": {
        "type": "object",
        "required": ["code", "message", "reason"],
        "description": "What happened, and why.",
        "properties": {
            "code": one_of(
                dict.fromkeys(reason.code for reason in REASONS.values()),
                "What happened, for programs.",
            ),
            "message": _MESSAGE,
            "reason": one_of(REASONS, "Why it happened, for programs."),
            "fields": array(ref("FieldError"), "Every bad field.", maxItems=FIELDS_REPORTED_MAX),
            "rejected": array(
                ref("RejectedRecipient"),
                "With `no_valid_recipient`: the recipients to whom nothing is sent, and why.",
                maxItems=REJECTED_REPORTED_MAX,
            ),
            "attempts_remaining": {
                "type": "integer",
                "minimum": 0,
                "description": (
                    "With `otp_incorrect`: how many more codes may be wrong before the phone is"
                    " locked."
                ),
            },
        },
    },
    "FieldError": record(
        "One bad field.",
        field=text("Its JSON path, such as `recipients[3]`."),
        message=text("What was found, and what is allowed."),
    ),
    "CreditsErrorResponse": record(
        "The body of a failure with status 402.",
        success=always(False, "False for every failure."),
        error={"description": "What is missing.", **ref("CreditsError")},
        **_AROUND,
    ),
    "CreditsError": record(
        "What the request would cost, and what there is.",
        code=always("INSUFFICIENT_CREDITS", "What happened, for programs."),
        message=_MESSAGE,
        reason=one_of(
            (name for name, reason in REASONS.items() if reason.status == _PAYMENT_REQUIRED),
            "Which of the two is missing, for programs.",
        ),
        required={
            "type": "number",
            "description": "What the request would cost: SMS credits or money.",
        },
        available={"type": "number", "description": "What the wallet holds: SMS credits or money."},
    ),
}


def shared_failures() -> Json:
    """Returns the answers of `components/responses`."""
    return {
        name: _failure(REASONS[reasons[0]].status, list(reasons))
        for reasons, name in _SHARED.items()
    }


def failure(status: int, reasons: list[str]) -> Json:
    """Returns the answer of this status, by its reference where others share it. `x-reasons` tells
    programs which reasons it can have.
    """
    shared = _SHARED.get(tuple(reasons))
    return (
        _failure(status, reasons)
        if shared is None
        else {"$ref": f"#/components/responses/{shared}"}
    )


def _failure(status: int, reasons: list[str]) -> Json:
    sent = headers(*_headers_of(status))
    if "idempotency_in_progress" in reasons:  # with this one of the two reasons
        sent["Retry-After"] = {**HEADERS["Retry-After"], "required": False}
    schema = ref("CreditsErrorResponse" if status == _PAYMENT_REQUIRED else "ErrorResponse")
    return {
        "description": "\n".join(f"- `{name}`: {REASONS[name].meaning}" for name in reasons),
        "x-reasons": reasons,
        "headers": sent,
        "content": {
            "application/json": {"schema": schema, "example": _example(status, reasons[0])}
        },
    }


def _headers_of(status: int) -> tuple[str, ...]:
    """Returns the names of the headers of an answer. The headers of the rate are missing where the
    rate may not have been counted: without a valid key, with a URL or headers that are too long,
    after an error of the service, and while the database cannot be reached.
    """
    further = {405: ("Allow",), 429: ("Retry-After",)}
    alone = {
        401: ("X-Request-Id", "WWW-Authenticate"),
        503: ("X-Request-Id", "Retry-After"),
    } | dict.fromkeys((414, 431, 500), ("X-Request-Id",))
    return alone.get(status) or ("X-Request-Id", *RATE_HEADERS, *further.get(status, ()))


def _example(status: int, reason: str) -> Json:
    message = REASONS[reason].meaning
    error: dict[str, Any] = {"code": REASONS[reason].code, "message": message, "reason": reason}
    if status == _PAYMENT_REQUIRED:
        error |= {"required": 2, "available": 1}
    return {"success": False, "error": error, "message": message, "request_id": EXAMPLE_REQUEST_ID}
