"""Defines the base of all errors that clients see. Their classes carry `code`, `status` and
`reason`, and one handler renders them (docs/api.md, "Failure").
"""

from typing import Any, ClassVar, NamedTuple

FIELDS_REPORTED_MAX = 100  # an answer stays readable, and small, whatever the body held


class FieldError(NamedTuple):
    """Describes one bad field: its JSON path (`recipients[3]`), and a message that says what was
    found and what is allowed.
    """

    field: str
    message: str


class ServiceError(Exception):
    """The request could not be carried out."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    status: ClassVar[int] = 500
    reason: str = "internal_error"
    beside: ClassVar[dict[str, Any]] = {}  # further keys beside `error`

    def __init__(
        self,
        message: str | None = None,
        *,
        reason: str | None = None,
        fields: list[FieldError] | None = None,
        retry_after_s: int | None = None,
        **extra: Any,
    ) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        if reason is not None:
            self.reason = reason
        self.fields = (fields or [])[:FIELDS_REPORTED_MAX]
        self.retry_after_s = retry_after_s
        self.extra = extra  # further keys of `error`, such as `required` and `available`
        super().__init__(self.message)


class Unauthorized(ServiceError):
    """The API key is not valid."""

    code, status, reason = "UNAUTHORIZED", 401, "invalid_key"


class Forbidden(ServiceError):
    """This API key may not do that."""

    code, status, reason = "FORBIDDEN", 403, "missing_permission"


class InvalidRequest(ServiceError):
    """The request is not valid."""

    code, status, reason = "INVALID_REQUEST", 400, "invalid_field"


class DoneAlready(InvalidRequest):
    """What is asked for is so already."""

    reason = "done_already"


class UrlTooLong(InvalidRequest):
    """The URL of the request is too long."""

    status, reason = 414, "url_too_long"


class HeadersTooLarge(InvalidRequest):
    """The header fields of the request are too many, or too large."""

    status, reason = 431, "headers_too_large"


class NotFound(ServiceError):
    """There is no such record for this account and mode."""

    code, status, reason = "NOT_FOUND", 404, "no_such_record"


class NoSuchPath(NotFound):
    """There is nothing at this path."""

    reason = "no_such_path"


class MethodNotAllowed(ServiceError):
    """This path does not answer that method."""

    code, status, reason = "METHOD_NOT_ALLOWED", 405, "method_not_allowed"

    def __init__(self, allowed: list[str], message: str) -> None:
        super().__init__(message)
        self.allowed = allowed


class RateLimited(ServiceError):
    """Too many requests."""

    code, status, reason = "RATE_LIMITED", 429, "rate_limited"


class InsufficientCredits(ServiceError):
    """The wallet holds fewer SMS credits than this costs."""

    code, status, reason = "INSUFFICIENT_CREDITS", 402, "insufficient_credits"


class PayloadTooLarge(ServiceError):
    """The body is larger than 1 MiB."""

    code, status, reason = "PAYLOAD_TOO_LARGE", 413, "payload_too_large"


class Conflict(ServiceError):
    """This Idempotency-Key was used with another body."""

    code, status, reason = "CONFLICT", 409, "idempotency_key_reused"


class Unavailable(ServiceError):
    """The service cannot take this right now; nothing was stored. Try again."""

    code, status, reason = "UNAVAILABLE", 503, "unavailable"

    def __init__(self, message: str | None = None, *, retry_after_s: int = 1, **more: Any) -> None:
        super().__init__(message, retry_after_s=retry_after_s, **more)
