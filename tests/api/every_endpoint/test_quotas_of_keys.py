"""Quotas hold over HTTP for what is kept for Idempotency-Keys: answers, and keys of sends and of
verifications.
"""

import pytest
import sqlalchemy as sa

from heliograph.accounts import quotas
from heliograph.base.clock import DAY_MS
from heliograph.contacts.tables import contacts
from heliograph.messages.tables import sends
from heliograph.otp.tables import otps
from heliograph.requests.tables import idempotency_keys
from tests.support.api.cast import PHONE, Actor
from tests.support.api.quotas import allow, assert_full, rows, used
from tests.support.api.service import Service
from tests.support.factories import code_sent

pytestmark = pytest.mark.usefixtures("at_noon")


def test_answers_that_are_kept_are_held_and_those_that_are_not_go_on(
    api: Service, amina: Actor
) -> None:
    assert api.post(amina, "/contacts", {"phone": PHONE}, key="one").status == 200
    allow(api, amina, answers=used(api, amina, quotas.StoredKind.ANSWERS) + 100)
    assert_full(api.post(amina, "/contacts", {"phone": "233201234568"}, key="two"))
    assert (rows(api, contacts), rows(api, idempotency_keys)) == (1, 1)
    assert (
        api.post(amina, "/contacts", {"phone": PHONE}, key="one").headers["Idempotent-Replayed"]
        == "true"
    )
    assert api.post(amina, "/contacts", {"phone": "233201234568"}).status == 200, (
        "without a key nothing is kept"
    )


def test_keys_of_sends_are_held_in_each_mode_and_a_partners_are_its_own(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    body = {"sender": "AMINA", "message": "hello", "recipients": [PHONE]}
    first = api.post(amina, "/sms/send", body, key="one")
    assert first.status == 200
    allow(api, amina, keys=500)  # of 213 and three of each key
    assert api.post(amina, "/sms/send", body, key="two").status == 200
    credits = api.get(amina, "/balance").body["sms_credits"]
    assert_full(api.post(amina, "/sms/send", body, key="three"))
    assert_full(
        api.post(
            amina,
            "/sms/send",
            {**body, "customer_id": bilal.text_id, "sender": "nobody"},
            key="four",
        )
    )
    assert (rows(api, sends), api.get(amina, "/balance").body["sms_credits"]) == (2, credits)
    again = api.post(amina, "/sms/send", body, key="one")
    assert (again.data, again.headers["Idempotent-Replayed"]) == (first.data, "true")
    assert (
        api.post(amina, "/sms/send", {**body, "message": "other"}, key="one").reason
        == "idempotency_key_reused"
    )
    assert api.post(amina, "/sms/send", body).status == 200
    assert api.post(amina, "/sms/send", {**body, "dry_run": True}, key="five").status == 200, (
        "which stores nothing"
    )
    sandbox = amina.key(sandbox=True)
    replies = [
        api.post(sandbox, "/sms/send", {**body, "sender": "SANDBOX"}, key=f"{number}")
        for number in range(3)
    ]
    assert [reply.status for reply in replies] == [200, 200, 429]
    assert_full(replies[2])
    assert api.get(amina, "/balance").body["sms_credits"] == credits - 1, (
        "a sandbox send writes the wallet, and takes nothing"
    )
    assert (
        api.post(bilal, "/sms/send", {**body, "sender": "BILAL"}, key="one").reason
        == "sender_not_approved"
    ), "a quota of its own"
    api.move_clock(DAY_MS)
    assert api.post(amina, "/sms/send", body, key="six").status == 200


def test_keys_of_verifications_count_with_those_of_sends_and_no_try_is_spent(
    api: Service, amina: Actor
) -> None:
    otp = api.post(amina, "/otp/send", {"phone": PHONE}, key="send")
    assert otp.status == 200, otp
    allow(api, amina, keys=300)
    code = code_sent(api.db, otp.data["id"])
    for _ in range(6):
        assert_full(api.post(amina, "/otp/verify", {"phone": PHONE, "code": "wrong"}, key="verify"))
    allow(api, amina, keys=1_000)
    verified = api.post(amina, "/otp/verify", {"phone": PHONE, "code": code}, key="verify")
    assert verified.status == 200
    with api.db.read() as tx:
        assert tx.execute(
            sa.text(
                "SELECT keys_octets, sandbox_keys_octets FROM wallets w JOIN accounts a ON a.id ="
                " w.account_id WHERE a.name = 'amina'"
            )
        ).one() == (
            2 * 200
            + len("POST /otp/sendsendPOST /otp/verifyverify")
            + len(verified.response.content),
            0,
        )
    allow(api, amina, keys=300)
    assert (
        api.post(amina, "/otp/verify", {"phone": PHONE, "code": code}, key="verify").headers[
            "Idempotent-Replayed"
        ]
        == "true"
    )
    assert rows(api, otps) == 1
