"""Explains what is wrong with an Authorization header that was refused. It never repeats the key,
or a part of it.

It is looked at only when a request is refused. Nothing that it says depends on which keys there
are.
"""

import re
from typing import Final

SEND: Final = "Send the API key in the header: Authorization: Bearer <API_KEY>."
OTHER_HEADERS: Final = {
    b"x-api-key": "X-API-Key",
    b"api-key": "Api-Key",
    b"apikey": "ApiKey",
    b"x-auth-token": "X-Auth-Token",
}
# Any other word may be a part of a key, and is not repeated.
SCHEMES: Final = {
    name.lower(): name
    for name in ("Basic", "Token", "Key", "ApiKey", "Api-Key", "Digest", "JWT", "OAuth")
}
_KEY: Final = re.compile(r"sk_(?:live|test)_", re.ASCII)
_QUOTES: Final = "\"'`\u2018\u2019\u201c\u201d"


def explain_malformed(headers: list[tuple[bytes, bytes]], octets_max: int) -> str | None:
    """Returns the message of the refusal; None when the header has the right form, and there is no
    more to say than that the key is not valid.
    """
    given = [value for name, value in headers if name == b"authorization"]
    if not given:
        other = next((OTHER_HEADERS[name] for name, _ in headers if name in OTHER_HEADERS), None)
        return (
            None
            if other is None
            else f"The API key was sent in the header {other}, which is not read. {SEND}"
        )
    if len(given) > 1:
        return f"There is more than one Authorization header. {SEND}"
    if len(given[0]) > octets_max:
        return f"The Authorization header is longer than any API key. {SEND}"
    found = _of_header(given[0].decode("utf-8", "replace").strip())
    return None if found is None else f"{found} {SEND}"


def _of_header(text: str) -> str | None:
    if not text:
        return "The Authorization header is empty."
    scheme, _, key = text.partition(" ")
    if scheme[0] in _QUOTES:
        return "The Authorization header begins with a quotation mark."
    if _KEY.match(text):
        return "The Authorization header has an API key without the word Bearer before it."
    if scheme.lower() != "bearer":
        return _of_scheme(scheme)
    return _of_key(key.strip())


def _of_scheme(scheme: str) -> str:
    if scheme.lower() in SCHEMES:
        return (
            f"The Authorization header has the scheme {SCHEMES[scheme.lower()]} in place of Bearer."
        )
    if scheme.lower().startswith("bearer"):
        return "In the Authorization header something other than a space follows the word Bearer."
    return "The Authorization header does not begin with the word Bearer."


def _of_key(key: str) -> str | None:
    if not key:
        return "In the Authorization header nothing follows the word Bearer."
    if key[0] in _QUOTES or key[-1] in _QUOTES:
        return "The API key stands in quotation marks."
    if key[0] in "<{[$" or key[-1] in ">}]":
        return "In place of an API key there is a placeholder, or the key stands in brackets."
    if key.lower().startswith("bearer"):
        return "The word Bearer stands twice."
    if len(key.split()) > 1:
        return "There is a space within the API key, or something after it."
    return None
