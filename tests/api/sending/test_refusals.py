"""When a send is refused and its client can mend it, the answer says what is wrong with the sender
and the recipients.
"""

from typing import Any

import pytest
from sqlalchemy.engine import Connection

from heliograph import senders
from heliograph.base import clock, ids
from tests.support.api.cast import PHONE, Actor
from tests.support.api.databases import ON_SQLITE
from tests.support.api.service import Service

pytestmark = ON_SQLITE

BODY = {"sender": "AMINA", "message": "hello", "recipients": [PHONE]}


def submit(api: Service, who: Actor, name: str, *, sandbox: bool = False) -> str:
    with api.db.write() as tx:
        return submit_in(tx, who, name, sandbox=sandbox)


def submit_in(tx: Connection, who: Actor, name: str, *, sandbox: bool = False) -> str:
    return senders.register(tx, who.account_id, name, sandbox=sandbox, now_ms=clock.now_ms()).id


def told_of(api: Service, key: str, sender: str, **more: str) -> str:
    """Returns the message that refuses a send and a one-time password from this sender."""
    api.refresh()
    sms = api.post(key, "/sms/send", {**BODY, "sender": sender, **more})
    otp = api.post(key, "/otp/send", {"phone": PHONE, "sender": sender, **more})
    assert (sms.status, sms.reason) == (otp.status, otp.reason) == (400, "sender_not_approved")
    assert sms.error["message"] == otp.error["message"]
    return str(sms.error["message"])


def test_a_sender_that_waits_for_approval_is_told_as_submitted_and_where_to_look(
    api: Service, amina: Actor
) -> None:
    submit(api, amina, "Offers")
    told = (
        "The sender 'OFFERS' was submitted and is not approved yet; GET /sender-ids shows its"
        " status."
    )
    assert told_of(api, amina.key("sms.send"), "OFFERS") == told
    assert told_of(api, amina.key(sandbox=True), "OFFERS") == told.replace(
        "/sender-ids", "/sender-ids with a live key"
    )


def test_a_sender_that_was_rejected_or_suspended_is_told_so(api: Service, amina: Actor) -> None:
    with api.db.write() as tx:
        senders.reject(tx, submit_in(tx, amina, "BANK"), "not yours", now_ms=clock.now_ms())
        record = submit_in(tx, amina, "233555")
        senders.approve(tx, record, now_ms=clock.now_ms())
        senders.suspend(tx, record, "complaints", now_ms=clock.now_ms())
    assert (
        told_of(api, amina.key(), "bank")
        == "The sender 'bank' was submitted and rejected; GET /sender-ids shows its status."
    )
    assert (
        told_of(api, amina.key(), "+233555")
        == "The sender '+233555' is suspended; GET /sender-ids shows its status."
    )


def test_a_sender_of_the_sandbox_does_not_serve_live_keys_and_that_is_said(
    api: Service, amina: Actor
) -> None:
    submit(api, amina, "TRIAL", sandbox=True)
    assert "was registered with a sandbox key and serves sandbox keys only" in told_of(
        api, amina.key(), "TRIAL"
    )


def test_a_sender_that_nobody_registered_is_told_how_to_register(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    submit(api, chidi, "CHIDI")
    nobodys = told_of(api, amina.key(), "NOBODY")
    assert (
        nobodys == "The sender 'NOBODY' is not approved for this account; GET /sender-ids lists its"
        " senders, and POST /sender-ids registers one."
    )
    assert told_of(api, amina.key(), "CHIDI") == nobodys.replace("NOBODY", "CHIDI"), (
        "another account's is nobody's"
    )


def test_a_customers_sender_is_looked_for_with_its_id(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    submit(api, bilal, "BILAL")
    assert "was submitted and is not approved yet; GET /sender-ids with its customer_id" in told_of(
        api, amina.key(), "BILAL", customer_id=bilal.text_id
    )
    assert "is not approved for the customer" in told_of(
        api, amina.key(), "AMINA", customer_id=bilal.text_id
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "countryCode, such as GH"),
        ({"countryCode": "gh"}, "is not a phone number of GH (countryCode)"),
    ],
)
def test_recipients_none_of_which_is_a_number_are_named(
    api: Service, amina: Actor, more: dict[str, str], said: str
) -> None:
    reply = api.post(amina, "/sms/send", {**BODY, "recipients": ["12", "nobody", "12"], **more})
    assert (reply.status, reply.reason) == (400, "no_valid_recipient")
    assert reply.error["rejected"] == [
        {"index": index, "recipient": recipient, "reason": "invalid_number"}
        for index, recipient in enumerate(["12", "nobody", "12"])
    ]
    assert reply.error["message"].startswith(
        "None of the recipients can be sent to. The first, '12', "
    )
    assert said in reply.error["message"]


def test_credits_that_lack_in_sandbox_only_are_told_as_simulated(
    api: Service, amina: Actor
) -> None:
    reply = api.post(amina.key(sandbox=True), "/sms/send", {**BODY, "recipients": ["233201230004"]})
    assert (reply.status, reply.reason, reply.error["required"], reply.error["available"]) == (
        402,
        "insufficient_credits",
        1,
        0,
    )
    assert reply.error["message"].startswith("Simulated: in sandbox a recipient that ends in 004 ")


def test_a_field_that_is_missing_is_told_with_the_name_it_was_sent_by(
    api: Service, amina: Actor
) -> None:
    reply = api.post(
        amina, "/sms/send", {"sender_id": "AMINA", "text": "hello", "phone_number": PHONE}
    )
    assert {bad["field"]: bad["message"] for bad in reply.error["fields"]} == {
        "sender": "is required; found 'sender_id' instead",
        "message": "is required; found 'text' instead",
        "recipients": "is required; found 'phone_number' instead",
    }
    assert (
        api.post(amina, "/otp/verify", {"phone": PHONE, "otp": "123456"}).error["message"]
        == "code is required; found 'otp' instead."
    )


# By other services' clients, and slips of one letter.
OTHERS_NAMES = {
    "recipients": [
        "recipient",
        "recipents",
        "to_number",
        "mobile",
        "msisdn",
        "phone_number",
        "destination",
        "recipients[]",
        "Recipients",
        "toNumbers",
    ],
    "message": ["text", "msg", "content", "Body", "messageText", "sms_text", "mesage"],
    "sender": ["senderId", "sender_name", "from_number", "originator", "source", "From"],
}


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("field", "name"), [(field, name) for field, names in OTHERS_NAMES.items() for name in names]
)
def test_a_field_under_another_name_is_one_error_that_tells_both(
    api: Service, amina: Actor, field: str, name: str
) -> None:
    body: dict[str, Any] = {"sender": "AMINA", "message": "hello", "recipients": [PHONE]}
    body[name] = body.pop(field)
    reply = api.post(amina, "/sms/send", body)
    assert (reply.status, reply.error["fields"]) == (
        400,
        [{"field": field, "message": f"is required; found {name!r} instead"}],
    )
    assert reply.error["message"] == f"{field} is required; found {name!r} instead."


def test_a_question_ends_a_message_as_it_is(api: Service, amina: Actor) -> None:
    reply = api.post(amina, "/sms/send", {**BODY, "recipients": [PHONE], "refernce": "x"})
    assert reply.error["message"] == "refernce is unknown here; did you mean reference?"


def test_a_wrong_number_in_a_query_is_one_error(api: Service, amina: Actor) -> None:
    for limit in ("1%00", "x" * 300, "0", ""):
        assert api.request("GET", amina, f"/reports?limit={limit}").bad_fields == ["limit"], limit


def test_the_campaign_that_a_path_names_may_stand_empty_in_the_query(
    api: Service, amina: Actor
) -> None:
    path = f"/campaigns/{ids.new('cmp')}/messages"
    assert api.get(amina, path, campaignId="").reason == "no_such_record"
    assert api.get(amina, path, campaignId="x").reason == "invalid_query"


def test_another_name_of_a_path_is_told_as_it_was_asked_for(api: Service, amina: Actor) -> None:
    reply = api.put(amina, "/messages/send", {})
    assert (reply.status, reply.error["message"].split(" answers ")[0]) == (
        405,
        "/api/v1/messages/send",
    )


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/docs/", "/docs"),
        ("/DOCS", "/docs"),
        ("/healthz/", "/healthz"),
        ("/openapi.json", "/api/v1/openapi.json"),
        ("/sms/send/", "POST /api/v1/sms/send"),
    ],
)
def test_of_a_page_that_is_not_there_the_one_that_was_meant_is_named(
    api: Service, path: str, meant: str
) -> None:
    response = api.run(api.client.get(path))
    assert response.status_code == 404
    assert f"Did you mean {meant}?" in response.json()["error"]["message"]


@pytest.mark.parametrize("code", ["123-456", " 123456 ", "123 456"])
def test_a_code_is_taken_however_it_was_copied(api: Service, amina: Actor, code: str) -> None:
    assert (
        api.post(amina.key(sandbox=True), "/otp/verify", {"phone": PHONE, "code": code}).body[
            "verified"
        ]
        is True
    )
