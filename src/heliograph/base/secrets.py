"""Stored secrets (SMPP passwords, webhook secrets, one-time passwords on their way): under keys derived from HELIOGRAPH_SECRET_KEY."""

import base64
import binascii
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_SEALED: Final = "sealed:"
_NONCE_OCTETS: Final = 12  # AES-GCM, NIST SP 800-38D section 5.2.1.1


class SecretUnreadable(Exception):
    """A stored secret was encrypted with another HELIOGRAPH_SECRET_KEY."""


def derived_key(secret_key: str, purpose: str) -> bytes:
    """32 octets for one purpose: what is known of them says nothing of those for another."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=f"heliograph {purpose}".encode()).derive(secret_key.encode())


def _cipher(secret_key: str, purpose: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(derived_key(secret_key, purpose)))


def encrypt(secret_key: str, purpose: str, secret: str) -> str:
    return _cipher(secret_key, purpose).encrypt(secret.encode()).decode()


def decrypt(secret_key: str, purpose: str, stored: str) -> str:
    """Raises SecretUnreadable when the key is another one."""
    try:
        return _cipher(secret_key, purpose).decrypt(stored.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable(f"The stored {purpose} cannot be read with this HELIOGRAPH_SECRET_KEY.") from error


class Sealer:
    """Texts that are stored for a while and must not be read where they are: AES-GCM, for Fernet costs 40 µs a text. Made once a process."""

    def __init__(self, secret_key: str, purpose: str) -> None:
        self._purpose = purpose
        self._cipher = AESGCM(derived_key(secret_key, purpose))

    def seal(self, text: str) -> str:
        nonce = os.urandom(_NONCE_OCTETS)
        return _SEALED + base64.b64encode(nonce + self._cipher.encrypt(nonce, text.encode(), None)).decode()

    def unseal(self, stored: str) -> str:
        """What was sealed; any other text as it is. Raises SecretUnreadable when the key is another one."""
        if not stored.startswith(_SEALED):
            return stored
        try:
            octets = base64.b64decode(stored.removeprefix(_SEALED), validate=True)
            return self._cipher.decrypt(octets[:_NONCE_OCTETS], octets[_NONCE_OCTETS:], None).decode()
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise SecretUnreadable(f"The stored {self._purpose} cannot be read with this HELIOGRAPH_SECRET_KEY.") from error
