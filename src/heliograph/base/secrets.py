"""Secrets are stored under keys that are derived from HELIOGRAPH_SECRET_KEY: SMPP passwords,
webhook secrets, and one-time passwords on their way.
"""

import base64
import binascii
import os
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SEALED: Final = "sealed:"
_NONCE_OCTETS: Final = 12  # AES-GCM, NIST SP 800-38D section 5.2.1.1


class SecretUnreadable(Exception):
    """A stored secret was encrypted with another HELIOGRAPH_SECRET_KEY."""


class SecretKeys(NamedTuple):
    """Holds two keys, while one replaces the other. What is stored may be under either, and what is
    new is encrypted with `sealing`.
    """

    sealing: str
    other: str


Keys: TypeAlias = str | SecretKeys  # what a process knows: one key, or two


def keys_of(keys: Keys) -> tuple[str, ...]:
    """Returns the keys, the one that seals first."""
    return (keys,) if isinstance(keys, str) else keys


def key_id(secret_key: str) -> str:
    """Returns a name of the key, which others may see: 64 bits that say nothing of the key."""
    return derived_key(secret_key, "id of a secret key")[:8].hex()


def key_ids(keys: Keys) -> str:
    """Returns the names of all of them, separated by commas."""
    return ",".join(map(key_id, keys_of(keys)))


def derived_key(secret_key: str, purpose: str) -> bytes:
    """Returns a key of 32 octets for one purpose. Whoever knows it learns nothing of the keys for
    other purposes.
    """
    return HKDF(
        algorithm=SHA256(), length=32, salt=None, info=f"heliograph {purpose}".encode()
    ).derive(secret_key.encode())


@lru_cache(64)
def _cipher(secret_key: str, purpose: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(derived_key(secret_key, purpose)))


def encrypt(keys: Keys, purpose: str, secret: str) -> str:
    """Returns the secret encrypted with the first of the keys, for one purpose. `decrypt` is the
    other way.
    """
    return _cipher(keys_of(keys)[0], purpose).encrypt(secret.encode()).decode()


def decrypt(keys: Keys, purpose: str, stored: str) -> str:
    """Returns the plain text of a stored secret. Raises SecretUnreadable when it was encrypted with
    none of these keys.
    """
    for key in keys_of(keys):
        with suppress(InvalidToken):
            return _cipher(key, purpose).decrypt(stored.encode()).decode()
    raise _unreadable(purpose)


def _unreadable(purpose: str) -> SecretUnreadable:
    return SecretUnreadable(f"The stored {purpose} cannot be read with this HELIOGRAPH_SECRET_KEY.")


class Sealer:
    """Seals texts that are stored for a while and must not be read where they are. It uses AES-GCM,
    because Fernet costs 40 µs a text. It is made once a process.
    """

    def __init__(self, keys: Keys, purpose: str) -> None:
        self._purpose = purpose
        self._ciphers = [AESGCM(derived_key(key, purpose)) for key in keys_of(keys)]

    def seal(self, text: str) -> str:
        nonce = os.urandom(_NONCE_OCTETS)
        return (
            SEALED
            + base64.b64encode(
                nonce + self._ciphers[0].encrypt(nonce, text.encode(), None)
            ).decode()
        )

    def unseal(self, stored: str) -> str:
        """Returns what was sealed; any other text is returned as it is. Raises SecretUnreadable
        when it was sealed with none of the keys.
        """
        if not stored.startswith(SEALED):
            return stored
        try:
            octets = base64.b64decode(stored.removeprefix(SEALED), validate=True)
        except binascii.Error as error:
            raise _unreadable(self._purpose) from error
        for cipher in self._ciphers:
            with suppress(InvalidTag, ValueError):
                return cipher.decrypt(octets[:_NONCE_OCTETS], octets[_NONCE_OCTETS:], None).decode()
        raise _unreadable(self._purpose)
