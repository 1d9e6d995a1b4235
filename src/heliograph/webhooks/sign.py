"""Makes an endpoint's secret, and the headers by which its receiver knows that a callback is ours
(docs/webhooks.md, "The headers").
"""

import hmac
import re
import secrets
from base64 import b64decode, b64encode
from functools import lru_cache
from typing import Final

PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32
USER_AGENT: Final = "Heliograph-Webhooks"
# the one spelling that 32 bytes have
_SECRET: Final = re.compile(PREFIX + r"[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=", re.ASCII)
_KEYS_KEPT: Final = 4_096  # endpoints whose keys stay decoded


def new_secret() -> str:
    """Returns `whsec_` and the base64 of 32 bytes from the system's random source."""
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def is_secret(text: str) -> bool:
    """Returns whether a text has the form that `new_secret` makes."""
    return _SECRET.fullmatch(text) is not None


def headers(
    event_id: str, kind: str, body: bytes, timestamp_s: int, secret: str, former: str | None = None
) -> dict[str, str]:
    """Returns the headers of one attempt, made at `timestamp_s` (Unix seconds), to deliver `body`.

    `former` is the secret before this one for as long as both hold (24 h, or until the rotation is
    finished), and None after that. X-Service-Signature has room for one signature, so the former
    secret still makes it; Standard Webhooks 1.0 lists one of each.
    """
    text, key = _keys(secret)
    signed = b"%b.%d.%b" % (event_id.encode(), timestamp_s, body)
    signature = "v1," + b64encode(_mac(key, signed)).decode()
    if former is not None:
        text, key = _keys(former)
        signature += " v1," + b64encode(_mac(key, signed)).decode()
    return {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "X-Service-Event": kind,
        "X-Service-Signature": _mac(text, body).hex(),
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": signature,
    }


def _mac(key: hmac.HMAC, signed: bytes) -> bytes:
    keyed = key.copy()  # half the time of beginning with the key anew
    keyed.update(signed)
    return keyed.digest()


@lru_cache(_KEYS_KEPT)
def _keys(secret: str) -> tuple[hmac.HMAC, hmac.HMAC]:
    """Returns two keyed hashes: that of X-Service-Signature, which is keyed with the secret as
    it is shown, and that of Standard Webhooks, which is keyed with what is encoded in it. Raises
    ValueError, without the secret.
    """
    if not is_secret(secret):
        raise ValueError(
            f"not a webhook secret: one is {PREFIX} and the base64 of {SECRET_BYTES} bytes"
        )
    return hmac.new(secret.encode(), digestmod="sha256"), hmac.new(
        b64decode(secret.removeprefix(PREFIX)), digestmod="sha256"
    )
