"""Acts as a security key that does what it is told, also what no good one would: sign for another
site, again, or less often than before.
"""

import hashlib
import json
import os
import struct
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2 import cbor
from fido2.utils import websafe_decode, websafe_encode

from tests.support.portal.visitor import SITE

PRESENT, VERIFIED, HAS_CREDENTIAL = 0x01, 0x04, 0x40


class SecurityKey:
    """Makes one passkey, and signs with it."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.credential_id = os.urandom(32)
        self.handle = b""
        self.signatures = 0

    def make(self, options: dict[str, Any], origin: str = SITE) -> str:
        """Answers what `navigator.credentials.create` would."""
        asked = options["publicKey"]
        self.handle = websafe_decode(asked["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
        public = cbor.encode({1: 2, 3: -7, -1: 1, -2: x, -3: y})  # ES256 (RFC 9053, section 2.1)
        credential = bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id
        data = self._data(asked["rp"]["id"], HAS_CREDENTIAL) + credential + public
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        said = self._said("webauthn.create", asked["challenge"], origin)
        return self._answer(clientDataJSON=said, attestationObject=attestation)

    def sign(self, options: dict[str, Any], origin: str = SITE, *, flags: int = VERIFIED) -> str:
        """Answers what `navigator.credentials.get` would."""
        asked = options["publicKey"]
        self.signatures += 1
        data = self._data(asked["rpId"], 0, flags)
        said = self._said("webauthn.get", asked["challenge"], origin)
        signature = self.key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(SHA256()))
        return self._answer(
            clientDataJSON=said,
            authenticatorData=data,
            signature=signature,
            userHandle=self.handle,
        )

    def _data(self, site: str, more: int, flags: int = VERIFIED) -> bytes:
        begins = hashlib.sha256(site.encode()).digest()
        return begins + struct.pack(">BI", PRESENT | flags | more, self.signatures)

    @staticmethod
    def _said(kind: str, challenge: str, origin: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": origin}).encode()

    def _answer(self, **response: bytes) -> str:
        name = websafe_encode(self.credential_id)
        texts = {each: websafe_encode(value) for each, value in response.items()}
        answer = {"id": name, "rawId": name, "type": "public-key", "response": texts}
        return json.dumps(answer)
