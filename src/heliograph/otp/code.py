"""Codes are made here, and so is what is kept of them."""

import hmac
import secrets
from typing import Final

from heliograph.base.secrets import Keys, derived_key, keys_of

ID_PREFIX: Final = "otp"  # of the id by which its code is verified
DIGITS: Final = 6
SANDBOX_CODE: Final = "123456"  # docs/api.md, "Sandbox"


class Codes:
    """Makes codes, and computes their HMACs with the service's own key. So whoever reads the
    database cannot find a code by trying all million of them.
    """

    def __init__(self, secret_key: Keys) -> None:
        self._keys = [
            derived_key(key, "codes of one-time passwords") for key in keys_of(secret_key)
        ]

    def make(self, *, sandbox: bool) -> str:
        return SANDBOX_CODE if sandbox else f"{secrets.randbelow(10**DIGITS):0{DIGITS}d}"

    def keyed(self, otp_id: str, account_id: str, phone: int, code: str, *, sandbox: bool) -> bytes:
        """Returns what is stored of a code. It belongs to one row, and is worth nothing on
        another. Ids are raw.
        """
        return self._of(otp_id, account_id, phone, code, sandbox=sandbox)[0]

    def is_right(
        self, stored: bytes, otp_id: str, account_id: str, phone: int, code: str, *, sandbox: bool
    ) -> bool:
        """Says whether `stored` is what is stored of this code, under any of the keys."""
        return any(
            equal(stored, each)
            for each in self._of(otp_id, account_id, phone, code, sandbox=sandbox)
        )

    def _of(
        self, otp_id: str, account_id: str, phone: int, code: str, *, sandbox: bool
    ) -> list[bytes]:
        payload = f"{otp_id} {account_id} {int(sandbox)} {phone} {code}".encode()
        return [hmac.digest(key, payload, "sha256") for key in self._keys]


def equal(one: bytes, other: bytes) -> bool:
    """Returns whether both are equal, in constant time: how long it takes says nothing of where
    they differ.
    """
    return hmac.compare_digest(one, other)
