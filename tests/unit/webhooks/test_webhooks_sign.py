"""The headers of a webhook are right for verifiers that others wrote: PyPI `standardwebhooks`, and
`openssl dgst` for X-Service-Signature.
"""

import json
import subprocess
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from heliograph.webhooks.sign import headers, is_secret, new_secret

BODY = '{"id": "evt_1", "event": "message.sent", "data": {"message": "Your order: 5 € ☎"}}'.encode()
OLD, NEW, OTHER = new_secret(), new_secret(), new_secret()
OPENSSL_S_MAX = 20


def now_s() -> int:
    return int(time.time())


def verified(secret: str, body: bytes, sent: dict[str, str]) -> bool:
    try:
        Webhook(secret).verify(body, sent)
    except WebhookVerificationError:
        return False
    return True


def openssl_hmac(secret: str, body: bytes) -> str:
    """Returns the HMAC-SHA256 in lower-case hex, by openssl."""
    said = subprocess.run(
        ["openssl", "dgst", "-sha256", "-hmac", secret],
        input=body,
        capture_output=True,
        check=True,
        timeout=OPENSSL_S_MAX,
    ).stdout
    return said.decode().split("= ")[1].strip()


documents = st.dictionaries(st.text(), st.text() | st.integers() | st.none())


@given(data=documents, number=st.integers(0, 2**128 - 1))
def test_a_signature_is_verified_with_its_secret_and_with_no_other(
    data: dict[str, Any], number: int
) -> None:
    body = json.dumps(data, ensure_ascii=False).encode()
    moment_s = now_s()
    sent = headers(f"evt_{number:x}", "message.sent", body, moment_s, NEW)
    assert verified(NEW, body, sent)
    assert not verified(OTHER, body, sent)
    assert not verified(NEW, body + b" ", sent)
    assert not verified(NEW, body, sent | {"webhook-id": "evt_other"})
    assert not verified(NEW, body, sent | {"webhook-timestamp": str(moment_s - 1)})


def test_while_rotating_both_secrets_verify_and_the_old_one_makes_the_hex_signature() -> None:
    sent = headers("evt_1", "message.sent", BODY, now_s(), NEW, OLD)
    assert [verified(secret, BODY, sent) for secret in (OLD, NEW, OTHER)] == [True, True, False]
    assert sent["webhook-signature"].count(" ") == 1
    assert sent["X-Service-Signature"] == openssl_hmac(OLD, BODY)
    assert headers("evt_1", "message.sent", BODY, now_s(), NEW)[
        "X-Service-Signature"
    ] == openssl_hmac(NEW, BODY)


def test_the_headers_are_those_of_the_contract() -> None:
    sent = headers("evt_1", "wallet.low_balance", BODY, 1_770_000_000, NEW)
    assert len(sent.pop("X-Service-Signature")) == 64
    assert sent.pop("webhook-signature").startswith("v1,")
    assert sent == {
        "Content-Type": "application/json",
        "User-Agent": "Heliograph-Webhooks",
        "X-Service-Event": "wallet.low_balance",
        "webhook-id": "evt_1",
        "webhook-timestamp": "1770000000",
    }


def test_a_new_secret_is_another_one_each_time_in_the_one_form() -> None:
    made = {new_secret() for _ in range(100)}
    assert len(made) == 100
    assert all(is_secret(secret) for secret in made)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "whsec_",
        NEW.removeprefix("whsec_"),
        NEW.upper(),
        NEW[:-1],
        NEW + "\n",
        f"{NEW} ",
        NEW.replace("whsec_", "whsec-"),
        "whsec_" + "A" * 42 + "B=",  # the last character holds two bits that are not there
        "whsec_" + "A" * 43 + "A",
        "whsec_" + "-" * 43 + "=",
        "whsec_" + "Ａ" * 43 + "=",
    ],
    ids=lambda text: f"{len(text)} characters",
)
def test_what_is_no_secret_signs_nothing_and_is_not_repeated(text: str) -> None:
    assert not is_secret(text)
    with pytest.raises(ValueError, match="not a webhook secret") as refused:
        headers("evt_1", "message.sent", BODY, 0, text)
    assert "A" * 40 not in str(refused.value)
    assert NEW.removeprefix("whsec_")[:20] not in str(refused.value)
