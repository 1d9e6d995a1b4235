"""GET /messages/{id} shows a message with every field of its record."""

import pytest
import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.messages.tables import messages, sends
from tests.support.api.cast import PHONE, Actor
from tests.support.api.service import Service


def become(api: Service, message_id: str, **values: object) -> None:
    """Stores what a carrier's turn would store of a message."""
    with api.db.write() as tx:
        tx.execute(
            sa.update(messages)
            .where(messages.c.id == ids.raw_of_text("msg", message_id))
            .values(**values)
        )


def test_a_message_has_every_field_of_its_record(api: Service, amina: Actor) -> None:
    send = api.send(amina, ["+233 20 123 4567"], message="hello €", reference="order-7")
    reply = api.get(amina, f"/messages/{send['message_id']}")
    assert (reply.status, reply.data) == (
        200,
        {
            "id": send["message_id"],
            "send_id": send["send_id"],
            "campaign_id": None,
            "type": "sms",
            "sender": "AMINA",
            "recipient": PHONE,
            "country_code": "GH",
            "message": "hello €",
            "encoding": "GSM-7",
            "segments": 1,
            "credits": 1,
            "credits_refunded": 0,
            "status": "queued",
            "error": None,
            "reference": "order-7",
            "sandbox": False,
            "created_at": send["created_at"],
            "sent_at": None,
            "delivered_at": None,
            "failed_at": None,
            "timeline": [{"status": "queued", "at": send["created_at"], "detail": None}],
            "in_reply_to": None,
            "replies": [],
        },
    )


def test_a_delivered_message_tells_when_it_was_sent_and_delivered(
    api: Service, amina: Actor
) -> None:
    send, now_ms = api.send(amina, [PHONE]), clock.now_ms()
    become(
        api,
        send["message_id"],
        status="delivered",
        sent_at_ms=now_ms + 5,
        delivered_at_ms=now_ms + 1_500,
    )
    found = api.get(amina, f"/messages/{send['message_id']}").data
    assert (found["status"], found["sent_at"], found["delivered_at"]) == (
        "delivered",
        clock.rfc3339(now_ms + 5),
        clock.rfc3339(now_ms + 1_500),
    )
    assert [moment["status"] for moment in found["timeline"]] == ["queued", "sent", "delivered"]


def test_a_failed_message_tells_why(api: Service, amina: Actor) -> None:
    send, now_ms = api.send(amina, [PHONE]), clock.now_ms()
    become(
        api,
        send["message_id"],
        status="failed",
        failed_at_ms=now_ms,
        error_code="carrier_rejected",
        error_message="Refused.",
        refunded=1,
    )
    found = api.get(amina, f"/messages/{send['message_id']}").data
    assert (found["status"], found["error"], found["credits_refunded"]) == (
        "failed",
        {"code": "carrier_rejected", "message": "Refused."},
        1,
    )
    assert found["timeline"][-1] == {
        "status": "failed",
        "at": clock.rfc3339(now_ms),
        "detail": "Refused.",
    }


def test_the_text_of_a_one_time_password_is_shown_nowhere(api: Service, amina: Actor) -> None:
    send = api.send(amina, [PHONE], message="code 123456")
    with api.db.write() as tx:
        tx.execute(sa.update(sends).values(type="otp"))
    for found in (
        api.get(amina, f"/messages/{send['message_id']}").data,
        api.get(amina, "/reports").data[0],
    ):
        assert (found["type"], found["message"]) == ("otp", None)


def test_what_retention_removed_is_null(api: Service, amina: Actor) -> None:
    send = api.send(amina, [PHONE])
    become(api, send["message_id"], recipient=None)
    with api.db.write() as tx:
        tx.execute(sa.update(sends).values(text=None))
    found = api.get(amina, f"/messages/{send['message_id']}").data
    assert (found["recipient"], found["message"]) == (None, None)


def test_another_accounts_message_answers_exactly_like_one_that_is_none(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    live = api.send(amina, [PHONE])["message_id"]
    sandbox = api.send(amina.key(sandbox=True), [PHONE])["message_id"]
    none = ids.new("msg")
    for who, message_id in (
        (chidi, live),
        (bilal, live),
        (amina.key(sandbox=True), live),
        (amina, sandbox),
        (amina, none),
        (amina, "msg_1"),
        (amina, live.upper()),
        (amina, live.replace("msg_", "snd_")),
        (amina, "%00"),
        (amina, "é"),
        (amina, live + "0"),
    ):
        reply = api.get(who, f"/messages/{message_id}")
        assert reply.status == 404
        assert reply.body | {"request_id": ""} == api.get(amina, f"/messages/{none}").body | {
            "request_id": ""
        }


def test_a_partner_reads_its_customers_message_and_the_customer_does_too(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    bilal.sender("BILAL")
    message_id = api.send(bilal, [PHONE], sender="BILAL")["message_id"]
    assert api.get(amina, f"/messages/{message_id}").status == 404
    assert (
        api.get(amina, f"/messages/{message_id}", customer_id=bilal.text_id).data
        == api.get(bilal, f"/messages/{message_id}").data
    )


@pytest.mark.parametrize("path", ["/messages/", "/messages", "/messages/a/b", "/messages//"])
def test_a_message_needs_an_id(api: Service, amina: Actor, path: str) -> None:
    reply = api.get(amina, path)
    assert (reply.status, reply.code) == (404, "NOT_FOUND")
