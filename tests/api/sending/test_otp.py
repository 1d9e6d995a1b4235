"""POST /otp/send and POST /otp/verify say what became of a code. Which limits hold exactly is for
tests/capability and the state machine to ask.
"""

import re
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import senders
from heliograph.base import clock
from heliograph.messages.tables import messages, sends
from heliograph.otp.tables import otps
from heliograph.requests.tables import idempotency_keys
from tests.support.api.cast import PHONE, Actor
from tests.support.api.service import Reply, Service
from tests.support.factories import code_sent

OTHER = "233201234568"
SANDBOX_CODE = "123456"
MINUTE_MS = 60_000


def sent(api: Service, who: Actor | str, phone: str = PHONE, **more: Any) -> dict[str, Any]:
    reply = api.post(who, "/otp/send", {"phone": phone, **more})
    assert reply.status == 200, reply
    return dict(reply.data)


def verify(api: Service, who: Actor | str, code: str, phone: str = PHONE, **more: Any) -> Reply:
    return api.post(who, "/otp/verify", {"phone": phone, "code": code, **more})


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 10**6:06d}"


def refused(reply: Reply) -> tuple[int, Any, Any, Any]:
    return reply.status, reply.code, reply.reason, reply.body.get("verified")


def test_a_code_is_sent_given_back_and_right_once(api: Service, amina: Actor) -> None:
    data = sent(api, amina)
    assert data == {
        "id": data["id"],
        "message_id": data["message_id"],
        "phone": PHONE,
        "status": "pending",
        "expires_at": data["expires_at"],
        "resend_after_s": 30,
        "credits_used": 1,
        "sandbox": False,
    }
    code = code_sent(api.db, data["id"])
    message = api.get(amina, f"/messages/{data['message_id']}").data
    assert (message["type"], message["message"], message["sender"], message["recipient"]) == (
        "otp",
        None,
        "Heliograph",
        PHONE,
    )
    reply = verify(api, amina, code)
    assert reply.body == {
        "success": True,
        "verified": True,
        "data": {"id": data["id"], "phone": PHONE, "verified_at": reply.data["verified_at"]},
    }
    assert refused(verify(api, amina, code)) == (400, "INVALID_REQUEST", "otp_not_found", False)


def test_whatever_is_no_success_is_no_200_and_says_that_it_is_not_verified(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    assert refused(verify(api, amina, "000000")) == (400, "INVALID_REQUEST", "otp_not_found", False)
    code = code_sent(api.db, sent(api, amina)["id"])
    for stranger in (chidi, amina.key(sandbox=True)):
        assert verify(api, stranger, code).status == (400 if code != SANDBOX_CODE else 200)
    for remaining in (4, 3):
        reply = verify(api, amina, wrong(code))
        assert refused(reply) == (400, "INVALID_REQUEST", "otp_incorrect", False)
        assert reply.error["attempts_remaining"] == remaining
    api.move_clock(5 * MINUTE_MS)
    assert refused(verify(api, amina, code)) == (400, "INVALID_REQUEST", "otp_expired", False)
    code = code_sent(api.db, sent(api, amina)["id"])
    assert [verify(api, amina, wrong(code)).error["attempts_remaining"] for _ in range(3)] == [
        2,
        1,
        0,
    ]
    locked = verify(api, amina, code)
    assert refused(locked) == (429, "RATE_LIMITED", "otp_attempts_exceeded", False)
    assert locked.headers["retry-after"] == "600"
    send = api.post(amina, "/otp/send", {"phone": PHONE})
    assert refused(send) == (429, "RATE_LIMITED", "otp_attempts_exceeded", None)
    assert api.get(amina, "/balance").body["sms_credits"] == 998


def test_too_soon_says_when(api: Service, amina: Actor) -> None:
    sent(api, amina)
    api.move_clock(9_500)
    reply = api.post(amina, "/otp/send", {"phone": f"+{PHONE}"})
    assert refused(reply) == (429, "RATE_LIMITED", "otp_too_soon", None)
    assert 15 <= int(reply.headers["retry-after"]) <= 21
    assert sent(api, amina, OTHER)["phone"] == OTHER
    assert api.get(amina, "/balance").body["sms_credits"] == 998


def test_in_sandbox_one_code_is_right_for_every_phone_and_nothing_is_limited_or_charged(
    api: Service, amina: Actor
) -> None:
    key = amina.key(sandbox=True)
    assert verify(api, key, SANDBOX_CODE, OTHER).body["verified"] is True
    for _ in range(12):
        data = sent(api, key)
        assert (data["sandbox"], data["credits_used"]) == (True, 0)
    for _ in range(7):
        reply = verify(api, key, "654321")
        assert refused(reply) == (400, "INVALID_REQUEST", "otp_incorrect", False)
    assert [verify(api, key, SANDBOX_CODE).data["id"] for _ in range(2)] == [data["id"]] * 2
    assert api.post(key, "/otp/send", {"phone": "233201234004"}).reason == "insufficient_credits"
    assert api.get(amina, "/balance").body["sms_credits"] == 1_000


def test_the_text_and_its_sender_can_be_chosen(api: Service, amina: Actor) -> None:
    def stored(data: dict[str, Any]) -> tuple[str, int]:
        with api.db.read() as tx:
            row = tx.execute(
                sa.select(sends.c.sender, sends.c.expires_at_ms - sends.c.created_at_ms).order_by(
                    sends.c.id.desc()
                )
            ).first()
        assert row is not None
        return row[0], row[1]

    assert stored(sent(api, amina, sender="amina", message="Amina: {code}.")) == ("AMINA", 300_000)
    with api.db.write() as tx:
        senders.register(
            tx, amina.account_id, "AMINA", sandbox=False, set_default=True, now_ms=clock.now_ms()
        )
    api.refresh()
    assert stored(sent(api, amina, OTHER))[0] == "AMINA"
    assert (
        api.post(
            amina, "/otp/send", {"phone": "0201234569", "countryCode": "gh", "sender": "NOBODY"}
        ).reason
        == "sender_not_approved"
    )
    assert sent(api, amina, "0201234569", countryCode="GH")["phone"] == "233201234569"


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("body", "fields", "reason"),
    [
        ({}, ["phone"], "invalid_field"),
        ({"phone": 233201234567}, ["phone"], "invalid_field"),
        ({"phone": "12"}, ["phone"], "invalid_field"),
        ({"phone": [PHONE]}, ["phone"], "invalid_field"),
        ({"phone": PHONE, "countryCode": "XX"}, ["countryCode"], "invalid_field"),
        ({"phone": PHONE, "message": "no place"}, ["message"], "invalid_field"),
        ({"phone": PHONE, "message": "{code}{code}"}, ["message"], "invalid_field"),
        ({"phone": PHONE, "message": "{code} " + "x" * 154}, ["message"], "too_many_segments"),
        ({"phone": PHONE, "message": "{code} " + "ё" * 64}, ["message"], "too_many_segments"),
        (
            {"phone": "x", "message": "x", "sender": ""},
            ["phone", "sender", "message"],
            "invalid_field",
        ),
    ],
)
def test_what_is_wrong_with_a_body_is_named(
    api: Service, amina: Actor, body: dict[str, Any], fields: list[str], reason: str
) -> None:
    reply = api.post(amina, "/otp/send", body)
    assert (reply.status, reply.reason, reply.bad_fields) == (400, reason, fields)
    if "message" not in body:
        reply = api.post(amina, "/otp/verify", {**body, "code": 402913})
        assert (reply.status, reply.reason, reply.bad_fields) == (
            400,
            "invalid_field",
            [*fields, "code"],
        )


def test_a_text_that_just_fits_is_sent(api: Service, amina: Actor) -> None:
    sent(api, amina, message="{code}" + "x" * 154)
    sent(api, amina, OTHER, message="{code}" + "ё" * 64)


def test_a_verification_that_is_repeated_is_answered_again(api: Service, amina: Actor) -> None:
    body: dict[str, Any] = {
        "phone": PHONE,
        "code": code_sent(api.db, sent(api, amina)["id"]),
        "unknown": 1,
    }
    missed = api.post(amina, "/otp/verify", {**body, "code": wrong(body["code"])}, key="k-1")
    assert missed.reason == "otp_incorrect"
    first, again = (api.post(amina, "/otp/verify", body, key="k-1") for _ in range(2))
    assert (first.status, first.headers.get("idempotent-replayed")) == (200, None)
    assert (again.status, again.headers.get("idempotent-replayed"), again.body) == (
        200,
        "true",
        first.body,
    )
    assert first.body["warnings"] == ["unknown field 'unknown' was ignored"]
    other = api.post(amina, "/otp/verify", {**body, "code": "1"}, key="k-1")
    assert (other.status, other.reason) == (409, "idempotency_key_reused")
    assert api.post(amina, "/otp/verify", body).reason == "otp_not_found"


def test_of_equal_requests_at_once_one_acts_and_the_others_replay(
    api: Service, amina: Actor
) -> None:
    body = {"phone": PHONE, "code": code_sent(api.db, sent(api, amina)["id"])}
    one = {"json": body, "headers": {"Idempotency-Key": "k-1"}}
    replies = api.at_once(*(api.requested("POST", amina, "/otp/verify", **one) for _ in range(20)))
    assert [reply.status for reply in replies] == [200] * 20
    assert sum("idempotent-replayed" in reply.headers for reply in replies) == 19


def test_a_partner_sends_and_verifies_for_its_customer(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    data = sent(api, amina, customer_id=bilal.text_id)
    code = code_sent(api.db, data["id"])
    assert verify(api, amina, code).reason == "otp_not_found"
    assert verify(api, bilal, wrong(code)).error["attempts_remaining"] == 4
    assert verify(api, amina, code, customer_id=bilal.text_id).body["verified"] is True
    assert (
        api.get(amina, "/balance").body["sms_credits"],
        api.get(bilal, "/balance").body["sms_credits"],
    ) == (1_000, 99)


def test_neither_code_nor_text_stands_anywhere_but_sealed(
    api: Service, amina: Actor, caplog: pytest.LogCaptureFixture
) -> None:
    api.app.api.logs_requests = True
    text = "{code} belongs to a secret text"
    data = api.post(amina, "/otp/send", {"phone": PHONE, "message": text}, key="k-1")
    code = code_sent(api.db, data.data["id"])
    seen: list[Any] = [
        data.body,
        verify(api, amina, wrong(code)).body,
        api.get(amina, f"/messages/{data.data['message_id']}").body,
        api.get(amina, "/reports").body,
        api.get(amina, "/wallet/transactions").body,
        verify(api, amina, code).body,
        caplog.text,
    ]
    with api.db.read() as tx:
        seen += [
            [tuple(row) for row in tx.execute(sa.select(table))]
            for table in (sends, messages, otps, idempotency_keys)
        ]
    # ids and times may hold any digits
    shown = re.sub(r"_[0-9a-z]{26}|[0-9a-f]{32}|\b[0-9]{13}\b|\.[0-9]{3}Z", "", repr(seen))
    assert not re.search(rf"(?<![0-9]){code}(?![0-9])", shown)
    assert "secret text" not in shown
