"""Stored secrets (SMPP passwords, webhook secrets): encrypted with a key derived from HELIOGRAPH_SECRET_KEY."""

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


class SecretUnreadable(Exception):
    """A stored secret was encrypted with another HELIOGRAPH_SECRET_KEY."""


def _cipher(secret_key: str, purpose: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"heliograph {purpose}".encode()).derive(secret_key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))


def encrypt(secret_key: str, purpose: str, secret: str) -> str:
    return _cipher(secret_key, purpose).encrypt(secret.encode()).decode()


def decrypt(secret_key: str, purpose: str, stored: str) -> str:
    """Raises SecretUnreadable when the key is another one."""
    try:
        return _cipher(secret_key, purpose).decrypt(stored.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable(f"The stored {purpose} cannot be read with this HELIOGRAPH_SECRET_KEY.") from error
