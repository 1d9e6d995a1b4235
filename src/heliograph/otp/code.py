"""Codes: how they are made, and what is kept of them."""

import hmac
import secrets
from typing import Final

from heliograph.base.secrets import derived_key

DIGITS: Final = 6
SANDBOX_CODE: Final = "123456"  # specification section 5


class Codes:
    """With the service's own key: who reads the database cannot find a code by trying all million of them."""

    def __init__(self, secret_key: str) -> None:
        self._key = derived_key(secret_key, "codes of one-time passwords")

    def make(self, *, sandbox: bool) -> str:
        return SANDBOX_CODE if sandbox else f"{secrets.randbelow(10**DIGITS):0{DIGITS}d}"

    def keyed(self, otp_id: str, account_id: str, phone: int, code: str, *, sandbox: bool) -> bytes:
        """What is stored of a code: it belongs to one row, and is worth nothing on another. Ids are raw."""
        return hmac.digest(self._key, f"{otp_id} {account_id} {int(sandbox)} {phone} {code}".encode(), "sha256")


def equal(one: bytes, other: bytes) -> bool:
    """In constant time: how long it takes says nothing of where they differ."""
    return hmac.compare_digest(one, other)
