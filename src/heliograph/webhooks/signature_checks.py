"""Shows how a receiver checks the signature of a webhook, in four languages. The tests run each
sample.
"""

from typing import Final

from heliograph.requests import CodeSample

_PYTHON: Final = '''\
import hashlib
import hmac

def is_signed(body: bytes, signature: str, secret: str) -> bool:
    """body: the raw bytes. signature: the header X-Service-Signature."""
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())'''

_NODE: Final = """\
const crypto = require('node:crypto');

// body: a Buffer with the raw bytes. signature: the header X-Service-Signature.
function isSigned(body, signature, secret) {
  const expected = Buffer.from(crypto.createHmac('sha256', secret).update(body).digest('hex'));
  const given = Buffer.from(signature);
  return expected.length === given.length && crypto.timingSafeEqual(expected, given);
}"""

_PHP: Final = """\
<?php
// $body: file_get_contents('php://input'). $signature: $_SERVER['HTTP_X_SERVICE_SIGNATURE'].
function is_signed(string $body, string $signature, string $secret): bool
{
    return hash_equals(hash_hmac('sha256', $body, $secret), $signature);
}"""

_RUBY: Final = """\
require "openssl"

# body: the raw bytes. signature: the header X-Service-Signature.
def signed?(body, signature, secret)
  expected = OpenSSL::HMAC.hexdigest("SHA256", secret, body)
  OpenSSL.secure_compare(expected, signature)
end"""

SIGNATURE_CHECKS: Final = (
    CodeSample("python", "Python", _PYTHON),
    CodeSample("node", "Node", _NODE),
    CodeSample("php", "PHP", _PHP),
    CodeSample("ruby", "Ruby", _RUBY),
)
