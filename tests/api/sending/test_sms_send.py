"""POST /sms/send says in its answer what became of each recipient. What its judge decides in detail
has tests of its own (tests/capability).
"""

from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import accounts
from heliograph.base import ids
from heliograph.messages.tables import messages, queue, sends
from tests.support.api.cast import PHONE, Actor
from tests.support.api.service import Service

OTHER = "233201234568"
BODY: dict[str, Any] = {"sender": "AMINA", "message": "hello", "recipients": [PHONE]}


def credits_of(api: Service, who: Actor) -> int:
    return int(api.get(who, "/balance").body["sms_credits"])


def is_nothing_stored(api: Service) -> bool:
    with api.db.read() as tx:
        return not any(
            tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in (sends, messages, queue)
        )


def test_a_send_is_answered_with_every_field(api: Service, amina: Actor) -> None:
    reply = api.post(amina, "/sms/send", BODY)
    assert reply.status == 200
    send_id, message_id = reply.data["send_id"], reply.data["message_id"]
    assert (send_id[:4], message_id[:4]) == ("snd_", "msg_")
    assert reply.body == {
        "success": True,
        "data": {
            "send_id": send_id,
            "type": "sms",
            "status": "queued",
            "message_id": message_id,
            "message_ids": [message_id],
            "accepted": 1,
            "duplicates": 0,
            "rejected": [],
            "encoding": "GSM-7",
            "segments": 1,
            "credits_required": 1,
            "credits_used": 1,
            "credits_remaining": 999,
            "reference": None,
            "sandbox": False,
            "created_at": reply.data["created_at"],
        },
    }
    assert credits_of(api, amina) == 999


def test_each_recipient_has_its_place_in_the_answer(api: Service, amina: Actor) -> None:
    data = api.send(amina, [PHONE, "nobody", f"+{OTHER}", PHONE, "12"])
    first, rejected, second, repeated, short = data["message_ids"]
    assert (rejected, short, repeated) == (None, None, first)
    assert api.get(amina, f"/messages/{second}").data["recipient"] == OTHER
    assert data["rejected"] == [
        {"index": index, "recipient": what, "reason": "invalid_number"}
        for index, what in ((1, "nobody"), (4, "12"))
    ]
    assert (data["accepted"], data["duplicates"], data["message_id"], data["credits_used"]) == (
        2,
        1,
        None,
        2,
    )


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"from": "AMINA", "message": "hi", "to": PHONE}, {"accepted": 1}),
        ({"from": "AMINA", "message": "hi", "to": [PHONE, OTHER]}, {"accepted": 2}),
        ({**BODY, "recipients": ["0201234567"], "countryCode": "gh"}, {"accepted": 1}),
        ({**BODY, "recipients": ["0201234567"], "country_code": "GH"}, {"accepted": 1}),
        ({**BODY, "sender": "amina"}, {"accepted": 1}),
        ({**BODY, "message": "€" * 81, "max_segments": 2}, {"segments": 2, "credits_used": 2}),
        ({**BODY, "reference": "r-1"}, {"reference": "r-1"}),
        ({**BODY, "message": "ё"}, {"encoding": "UCS-2"}),
        ({**BODY, "validity_s": 60.0}, {"accepted": 1}),
        ({**BODY, "reference": None}, {"reference": None}),
        ({**BODY, "from": "AMINA", "to": PHONE}, {"accepted": 1}),
        (
            {**BODY, "recipients": ["0201234567"], "countryCode": "GH", "country_code": "gh"},
            {"accepted": 1},
        ),
    ],
)
def test_what_may_be_given(
    api: Service, amina: Actor, body: dict[str, Any], shown: dict[str, Any]
) -> None:
    reply = api.post(amina, "/sms/send", body)
    assert reply.status == 200, reply
    assert reply.data.items() >= shown.items()


def test_unknown_fields_are_named_and_never_stored(api: Service, amina: Actor) -> None:
    forged = {"id": "msg_1", "status": "delivered", "account_id": "acc_1", "credits": 0}
    reply = api.post(amina, "/sms/send", {**BODY, **forged})
    assert [warning.split("'")[1] for warning in reply.body["warnings"]] == sorted(forged)
    found = api.get(amina, f"/messages/{reply.data['message_id']}").data
    assert (found["status"], found["sandbox"], found["credits"]) == ("queued", False, 1)


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"sender": None}, ["sender"]),
        ({"sender": 1}, ["sender"]),
        ({"message": ""}, ["message"]),
        ({"recipients": []}, ["recipients"]),
        ({"recipients": {}}, ["recipients"]),
        ({"recipients": ["1"] * 10_001}, ["recipients"]),
        ({"recipients": [PHONE, 2, None]}, ["recipients[1]", "recipients[2]"]),
        ({"countryCode": "XX"}, ["countryCode"]),
        ({"countryCode": "GH", "country_code": "NG"}, ["country_code"]),
        ({"from": "OTHER"}, ["from"]),
        ({"to": OTHER}, ["to"]),
        ({"reference": "x" * 129}, ["reference"]),
        ({"validity_s": 59}, ["validity_s"]),
        ({"validity_s": True}, ["validity_s"]),
        ({"max_segments": 11}, ["max_segments"]),
        ({"dry_run": "true"}, ["dry_run"]),
        ({"customer_id": 1}, ["customer_id"]),
        ({"sender": None, "from": 1}, ["from"]),
        ({"recipients": None, "to": [PHONE, 2]}, ["to[1]"]),
        ({"country_code": "XX"}, ["country_code"]),
        ({"recipients": [None] * 200}, [f"recipients[{k}]" for k in range(100)]),
        (
            {"message": "x" * 1_531, "sender": 1, "recipients": [2]},
            ["message", "recipients[0]", "sender"],
        ),
        (
            {"sender": 1, "message": 2, "recipients": 3, "dry_run": 4},
            ["sender", "message", "recipients", "dry_run"],
        ),
    ],
)
def test_all_bad_fields_are_named_together_and_nothing_is_stored(
    api: Service, amina: Actor, change: dict[str, Any], fields: list[str]
) -> None:
    reply = api.post(amina, "/sms/send", {**BODY, **change})
    assert (reply.status, reply.code, reply.reason, sorted(reply.bad_fields)) == (
        400,
        "INVALID_REQUEST",
        "invalid_field",
        sorted(fields),
    )
    wrong = 200 if len(fields) == 100 else len(fields)
    more = {1: "", 2: " 1 more field is wrong."}.get(wrong, f" {wrong - 1} more fields are wrong.")
    assert reply.error["message"].endswith(f".{more}")
    assert is_nothing_stored(api)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sender": "CHIDI"}, "sender_not_approved"),
        ({"recipients": ["1", "x"]}, "no_valid_recipient"),
        ({"message": "x" * 1_531}, "too_many_segments"),
        ({"message": "x" * 161, "max_segments": 1}, "too_many_segments"),
        ({"message": "ж" * 671}, "too_many_segments"),
    ],
)
def test_what_cannot_be_sent_says_why(
    api: Service, amina: Actor, change: dict[str, Any], reason: str
) -> None:
    reply = api.post(amina, "/sms/send", {**BODY, **change})
    assert (reply.status, reply.code, reply.reason) == (400, "INVALID_REQUEST", reason)
    assert is_nothing_stored(api)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"message": ""},
            (
                "must have 1 character to 10 segments (1530 characters of the GSM alphabet, 670"
                " with any other), not 0"
            ),
        ),
        ({"message": "x" * 1_531}, "takes 11 segments; allowed: 10"),
        ({"message": "x" * 161, "max_segments": 1}, "takes 2 segments; allowed: 1"),
    ],
)
def test_a_text_that_is_too_short_or_too_long_is_told_what_is_allowed(
    api: Service, amina: Actor, change: dict[str, Any], told: str
) -> None:
    assert api.post(amina, "/sms/send", {**BODY, **change}).error["fields"] == [
        {"field": "message", "message": told}
    ]


def test_a_send_that_costs_more_than_the_wallet_holds_charges_nothing(
    api: Service, amina: Actor
) -> None:
    reply = api.post(
        amina,
        "/sms/send",
        {**BODY, "message": "x" * 161, "recipients": [f"23324{k:05d}55" for k in range(501)]},
    )
    assert (reply.status, reply.code, reply.reason) == (
        402,
        "INSUFFICIENT_CREDITS",
        "insufficient_credits",
    )
    assert (reply.error["required"], reply.error["available"]) == (1_002, 1_000)
    assert is_nothing_stored(api)
    assert credits_of(api, amina) == 1_000


def test_the_daily_cap_is_429_until_tomorrow(api: Service, amina: Actor) -> None:
    with api.db.write() as tx:
        accounts.change(tx, amina.account_id, daily_credits=1)
    api.refresh()
    api.send(amina, [PHONE])
    reply = api.post(amina, "/sms/send", BODY)
    assert (reply.status, reply.code, reply.reason) == (429, "RATE_LIMITED", "daily_cap_reached")
    assert 0 < int(reply.headers["retry-after"]) <= 86_400


def test_a_dry_run_prices_everything_and_stores_nothing(api: Service, amina: Actor) -> None:
    reply = api.post(amina, "/sms/send", {**BODY, "recipients": [PHONE, "x"] * 2, "dry_run": True})
    assert (
        reply.data.items()
        >= {
            "send_id": None,
            "status": "dry_run",
            "message_id": None,
            "message_ids": [None] * 4,
            "accepted": 1,
            "duplicates": 1,
            "credits_required": 1,
            "credits_used": 0,
            "credits_remaining": 1_000,
        }.items()
    )
    assert is_nothing_stored(api)
    assert (
        api.post(
            amina,
            "/sms/send",
            {**BODY, "recipients": [f"23324{k:05d}55" for k in range(2_000)], "dry_run": True},
        ).status
        == 200
    )


def test_sandbox_charges_nothing_and_sends_from_sandbox(api: Service, amina: Actor) -> None:
    data = api.send(amina.key(sandbox=True), [PHONE], sender="sandbox")
    assert (
        data["sandbox"],
        data["credits_required"],
        data["credits_used"],
        data["credits_remaining"],
    ) == (True, 1, 0, 1_000)
    assert (
        api.post(amina, "/sms/send", {**BODY, "sender": "SANDBOX"}).reason == "sender_not_approved"
    )
    refused = api.post(
        amina.key(sandbox=True), "/sms/send", {**BODY, "recipients": ["233201230004"]}
    )
    assert (refused.status, refused.reason) == (402, "insufficient_credits")


def test_a_partner_sends_for_its_customer_from_the_customers_sender_and_wallet(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    acting = {**BODY, "customer_id": bilal.text_id}
    assert api.post(amina, "/sms/send", acting).reason == "sender_not_approved"
    bilal.sender("BILAL")
    api.refresh()
    data = api.post(amina, "/sms/send", {**acting, "sender": "BILAL"}).data
    assert data["credits_remaining"] == 99
    assert (credits_of(api, amina), credits_of(api, bilal)) == (1_000, 99)
    assert api.get(bilal, "/reports").ids == [data["message_id"]]
    for customer_id in (chidi.text_id, ids.new("cus"), "x"):
        reply = api.post(
            amina, "/sms/send", {**BODY, "sender": "NOBODY", "customer_id": customer_id}
        )
        assert (reply.status, reply.reason) == (404, "no_such_record")
    assert api.post(amina.key("sms.send"), "/sms/send", acting).reason == "missing_permission"


def test_a_suspended_account_or_customer_sends_nothing(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    bilal.sender("BILAL")
    bilal.suspend()
    api.refresh()
    assert api.post(bilal, "/sms/send", {**BODY, "sender": "BILAL"}).reason == "account_suspended"
    reply = api.post(amina, "/sms/send", {**BODY, "sender": "BILAL", "customer_id": bilal.text_id})
    assert (reply.status, reply.code, reply.reason) == (403, "FORBIDDEN", "account_suspended")
    assert is_nothing_stored(api)
