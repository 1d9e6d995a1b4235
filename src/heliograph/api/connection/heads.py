"""Decides what a request's head may contain. The head is judged while it comes in, and when it is
whole.
"""

from typing import Final

from heliograph.api.bodies import Headers
from heliograph.base.errors import HeadersTooLarge, InvalidRequest, ServiceError, UrlTooLong

URL_OCTETS_MAX: Final = 16 * 1024
# names and values, and 4 more of each field, for ": " and the end of its line
HEADERS_OCTETS_MAX: Final = 32 * 1024
FIELDS_MAX: Final = 100
# without an end of the head, or a piece of the body, between them
UNBROKEN_OCTETS_MAX: Final = URL_OCTETS_MAX + HEADERS_OCTETS_MAX


def refusal_while_reading(url: bytes, headers: Headers, octets: int) -> ServiceError | None:
    """Returns why a head of which so many octets have come is not read any further, or None if it
    is.
    """
    if len(url) > URL_OCTETS_MAX:
        return _url_too_long()
    if len(headers) > FIELDS_MAX or octets > UNBROKEN_OCTETS_MAX:
        return headers_too_large()
    return None


def refusal_of_head(url: bytes, headers: Headers, *, may_be_large: bool) -> ServiceError | None:
    """Returns why a whole head is refused; None when it is not. Without `may_be_large`, it has
    fewer octets than any limit.
    """
    if may_be_large:
        if len(url) > URL_OCTETS_MAX:
            return _url_too_long()
        if sum(len(name) + len(value) + 4 for name, value in headers) > HEADERS_OCTETS_MAX:
            return headers_too_large()
    if len(headers) > FIELDS_MAX:
        return headers_too_large()
    # no request has a fragment (RFC 9112, 3.2), and a proxy may take it for a part of the path
    if b"#" in url:
        return invalid_http()
    for name, value in headers:
        # llhttp says so too, but only while the request is being answered
        if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            return invalid_http()
    return None


def invalid_http() -> InvalidRequest:
    """Returns the refusal of what is not a request."""
    return InvalidRequest("This is not an HTTP request that can be read.", reason="invalid_http")


def headers_too_large(what: str = "The header fields") -> HeadersTooLarge:
    """Returns the refusal of fields, or of what counts as such."""
    return HeadersTooLarge(
        f"{what} are more than {FIELDS_MAX}, or have more than {HEADERS_OCTETS_MAX:,} octets in"
        " all."
    )


def _url_too_long() -> UrlTooLong:
    return UrlTooLong(f"The URL is longer than {URL_OCTETS_MAX:,} octets.")
