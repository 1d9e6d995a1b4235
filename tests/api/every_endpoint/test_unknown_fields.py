"""An unknown field that could cost is refused, and what was meant is named; others are ignored, and
named in `warnings`.
"""

from typing import Any, Final

from tests.support.api.cast import Actor
from tests.support.api.databases import ON_SQLITE
from tests.support.api.requests_of import examples
from tests.support.api.service import Service

pytestmark = ON_SQLITE

_SINGLE: Final[list[tuple[str, dict[str, Any], str]]] = [
    ("/sms/send", {"send_at": "2027-01-31T09:30:00Z"}, "sent at once"),
    ("/sms/send", {"scheduled_at": None}, "sent at once"),
    ("/sms/send", {"schedule": 1}, "sent at once"),
    ("/sms/send", {"validity": 60}, "validity_s"),
    ("/sms/send", {"test": True}, "dry_run"),
    ("/sms/send", {"sandbox": True}, "dry_run"),
    ("/sms/send", {"country": "GH"}, "countryCode"),
    ("/sms/send", {"dryRun": True}, "dry_run"),
    ("/sms/send", {"max_segment": 1}, "max_segments"),
    ("/sms/send", {"recipents": []}, "recipients"),
    ("/sms/send", {"Reference": "x"}, "reference"),
    ("/sms/send", {"flash": 1}, "nothing of this kind"),
    ("/otp/send", {"dry_run": True}, "cannot be tried out"),
    ("/otp/send", {"code": "123456"}, "cannot be chosen"),
    ("/otp/send", {"messgae": "x"}, "message"),
    ("/otp/verify", {"country": "GH"}, "countryCode"),
    ("/connect/customers", {"initial_credits": 5}, "initial_sms_credits"),
    ("/contacts", {"emial": "a@b.c"}, "email"),
    ("/contacts", {"country": "KE"}, "countryCode"),
    ("/sender-ids", {"purposes": "x"}, "purpose"),
    ("/opt-outs", {"scope": "sender"}, "sender"),
    ("/opt-outs", {"sender_id": "AMINA"}, "sender"),
    ("/keywords", {"customer": "cus_1"}, "customer_id"),
    ("/sitebuilder/connect", {"sitename": "x"}, "site_name"),
]
OF_A_SEND: Final = {
    "sent at once": (
        "send_later sendLater schedule_on scheduleDateTime send_date_time deliver_on publish_at"
        " not_before after defer_until delay_seconds delayMinutes start_date time_to_send timestamp"
    ),
    "validity_s": "validity_hours ttl_seconds ttl_s expire_at max_age expiry_minutes",
    "dry_run": "dry sandbox_mode no_send validate",
    "max_segments": "price_limit max_amount",
    "nothing of this kind": "personalisation params merge_fields cc bcc repeat",
    "customer_id": "external_ref customer_ref",
    "the header Idempotency-Key": "idempotency_key",
}
OF_AN_OTP: Final = {
    "message": "text content",
    "sender": "sender_id",
    "cannot be chosen": "pin_length lang",
}
OF_A_CUSTOMER: Final = {
    "initial_sms_credits": "starting_credits opening_balance initial_amount topup wallet credit"
}
_OF: Final = {"/sms/send": OF_A_SEND, "/otp/send": OF_AN_OTP, "/connect/customers": OF_A_CUSTOMER}
COSTLY: Final = _SINGLE + [
    (path, {name: "1"}, meant)
    for path, wishes in _OF.items()
    for meant, names in wishes.items()
    for name in names.split()
]


def test_an_unknown_field_that_could_cost_is_refused_and_what_was_meant_is_named(
    api: Service, amina: Actor
) -> None:
    credits = api.get(amina, "/balance").body["sms_credits"]
    for path, costly, meant in COSTLY:
        right = next(
            example.body
            for example in examples()
            if example.endpoint.path == path and example.body is not None
        )
        reply = api.post(amina, path, {**right, **costly, "surprise": 1})
        assert (reply.status, reply.reason, reply.bad_fields) == (
            400,
            "unknown_field",
            list(costly),
        ), reply
        assert meant in reply.error["message"], reply
    assert api.get(amina, "/balance").body["sms_credits"] == credits
    assert api.get(amina, "/reports").data == []


def test_of_log_entries_too_by_their_place(api: Service, amina: Actor) -> None:
    entry = {"site_url": "https://shop.example", "event": "sent"}
    reply = api.post(
        amina, "/sitebuilder/logs", {"logs": [entry, {**entry, "statuss": "x", "surprise": 1}]}
    )
    assert (reply.status, reply.bad_fields) == (400, ["logs[1].statuss"])
