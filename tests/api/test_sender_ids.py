"""POST /sender-ids registers a sender ID of an account, and GET /sender-ids lists them."""

from typing import Any

import pytest

from heliograph import accounts, senders
from heliograph.base import clock, ids
from heliograph.base.paging import PageWanted
from tests.support.api.cast import Actor
from tests.support.api.service import Service


def decide(api: Service, sender_id: str, decision: str) -> None:
    """Decides about a sender as the operator does."""
    with api.db.write() as tx:
        record = senders.find(tx, sender_id)
        if decision == "approve":
            senders.approve(tx, record.id, now_ms=clock.now_ms())
        else:
            senders.reject(tx, record.id, "not yours", now_ms=clock.now_ms())


def test_a_sender_is_submitted_for_approval_and_listed(api: Service, chidi: Actor) -> None:
    reply = api.post(
        chidi, "/sender-ids", {"sender": "Chidi & Co", "country_code": "gh", "purpose": "receipts"}
    )
    assert reply.status == 200
    assert reply.data | {"id": "", "created_at": ""} == {
        "id": "",
        "sender": "Chidi & Co",
        "country_code": "GH",
        "purpose": "receipts",
        "customer_id": None,
        "status": "submitted",
        "rejection_reason": None,
        "default": False,
        "sandbox": False,
        "created_at": "",
        "decided_at": None,
    }
    assert reply.data["id"].startswith("sid_")
    listed = api.get(chidi, "/sender-ids")
    assert (listed.data, listed.body["next_cursor"]) == ([reply.data], None)
    decide(api, reply.data["id"], "approve")
    assert api.get(chidi, "/sender-ids").data[0]["status"] == "approved"


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ({"value": "ALIAS"}, {"sender": "ALIAS"}),
        ({"sender": "+2335550"}, {"sender": "2335550"}),
        ({"sender": "A.b-c_d"}, {"sender": "A.b-c_d"}),
        ({"sender": "DEFAULT", "set_default": True}, {"default": True}),
        ({"sender": "NULLS", "purpose": None, "country_code": None}, {"purpose": None}),
        ({"sender": "SPELT", "countryCode": "NG"}, {"country_code": "NG"}),
        ({"sender": "SAME", "value": "SAME"}, {"sender": "SAME"}),
    ],
)
def test_what_may_be_given(
    api: Service, chidi: Actor, body: dict[str, Any], stored: dict[str, Any]
) -> None:
    reply = api.post(chidi, "/sender-ids", body)
    assert reply.status == 200, reply
    assert reply.data.items() >= stored.items()


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["sender"]),
        ({"sender": ""}, ["sender"]),
        ({"sender": "AB"}, ["sender"]),
        ({"sender": "TWELVELETTER"}, ["sender"]),
        ({"sender": " ABC"}, ["sender"]),
        ({"sender": "АМINA"}, ["sender"]),
        ({"sender": "A\tBC"}, ["sender"]),
        ({"sender": "1" * 16}, ["sender"]),
        ({"sender": 123456}, ["sender"]),
        ({"sender": ["ABC"]}, ["sender"]),
        ({"sender": "A--", "value": "B--"}, ["value"]),
        ({"sender": "ABC", "country_code": "ZZ"}, ["country_code"]),
        ({"sender": "ABC", "country_code": 1}, ["country_code"]),
        ({"sender": "ABC", "purpose": "x" * 256}, ["purpose"]),
        ({"sender": "ABC", "purpose": "a\nb"}, ["purpose"]),
        ({"sender": "ABC", "set_default": "yes"}, ["set_default"]),
        ({"sender": "ABC", "customer_id": 7}, ["customer_id"]),
        (
            {"sender": "?", "country_code": "?", "purpose": 1, "set_default": 1},
            ["sender", "country_code", "purpose", "set_default"],
        ),
    ],
)
def test_all_bad_fields_are_named_together_and_nothing_is_stored(
    api: Service, chidi: Actor, body: dict[str, Any], fields: list[str]
) -> None:
    reply = api.post(chidi, "/sender-ids", body)
    assert (reply.status, reply.code, reply.reason, sorted(reply.bad_fields)) == (
        400,
        "INVALID_REQUEST",
        "invalid_field",
        sorted(fields),
    )
    assert api.get(chidi, "/sender-ids").data == []


def test_what_one_time_passwords_come_from_is_nobodys_to_register(
    api: Service, chidi: Actor
) -> None:
    reply = api.post(chidi, "/sender-ids", {"sender": "HELI0GRAPH"})
    assert (reply.status, list(reply.bad_fields)) == (400, ["sender"])
    assert api.get(chidi, "/sender-ids").data == []


def test_the_same_sender_again_is_the_existing_record_and_a_rejected_one_is_resubmitted(
    api: Service, chidi: Actor
) -> None:
    first = api.post(chidi, "/sender-ids", {"sender": "CHIDI", "country_code": "NG"}).data
    assert api.post(chidi, "/sender-ids", {"sender": "chidi", "purpose": "other"}).data == first
    decide(api, first["id"], "reject")
    rejected = api.get(chidi, "/sender-ids").data[0]
    assert (rejected["status"], rejected["rejection_reason"]) == ("rejected", "not yours")
    again = api.post(chidi, "/sender-ids", {"sender": "Chidi", "purpose": "receipts"}).data
    assert (
        again["id"],
        again["status"],
        again["sender"],
        again["purpose"],
        again["rejection_reason"],
        again["decided_at"],
    ) == (first["id"], "submitted", "Chidi", "receipts", None, None)
    decide(api, first["id"], "reject")
    again = api.post(chidi, "/sender-ids", {"sender": "Chidi"}).data
    assert (again["status"], again["purpose"], again["country_code"]) == (
        "submitted",
        "receipts",
        "NG",
    ), "what is not given again is kept"


def test_in_sandbox_a_sender_is_approved_at_once_and_unseen_live(
    api: Service, chidi: Actor
) -> None:
    sandbox = chidi.key(sandbox=True)
    made = api.post(sandbox, "/sender-ids", {"sender": "CHIDI"}).data
    assert (made["status"], made["sandbox"], made["decided_at"]) == (
        "approved",
        True,
        made["created_at"],
    )
    assert api.get(chidi, "/sender-ids").data == []
    assert api.get(sandbox, "/sender-ids").ids == [made["id"]]
    api.send(sandbox, ["233201234567"], sender="chidi")


def test_a_partner_registers_and_lists_for_its_customer(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    made = api.post(amina, "/sender-ids", {"sender": "BILAL", "customer_id": bilal.text_id}).data
    assert made["customer_id"] == bilal.text_id
    assert (
        api.get(amina, "/sender-ids", customer_id=bilal.text_id).data
        == [made]
        == api.get(bilal, "/sender-ids").data
    )
    assert made["id"] not in api.get(amina, "/sender-ids").ids
    assert api.get(chidi, "/sender-ids").data == []
    for whose in (chidi.text_id, chidi.text_id.replace("acc_", "cus_"), ids.new("cus"), "bilal"):
        for reply in (
            api.post(amina, "/sender-ids", {"sender": "OTHER", "customer_id": whose}),
            api.get(amina, "/sender-ids", customer_id=whose),
        ):
            assert (reply.status, reply.code, reply.reason) == (404, "NOT_FOUND", "no_such_record")
    assert (
        api.post(chidi, "/sender-ids", {"sender": "OTHER", "customer_id": bilal.text_id}).status
        == 404
    )


def test_the_endpoints_own_permission_is_enough_for_a_customer(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    reader, writer = amina.key("sender_ids.read"), amina.key("sender_ids.write")
    made = api.post(writer, "/sender-ids", {"sender": "BILAL", "customer_id": bilal.text_id}).data
    assert made["customer_id"] == bilal.text_id
    assert (
        api.get(reader, "/sender-ids", customer_id=bilal.text_id).data
        == [made]
        == api.get(bilal, "/sender-ids").data
    )
    assert api.get(reader, f"/sender-ids/{made['id']}", customer_id=bilal.text_id).data == made
    assert (
        api.get(chidi.key("sender_ids.read"), "/sender-ids", customer_id=bilal.text_id).status
        == 404
    )


def test_a_sender_is_read_by_its_id_by_its_account_only(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    made = api.post(bilal, "/sender-ids", {"sender": "BILAL"}).data
    assert api.get(bilal, f"/sender-ids/{made['id']}").data == made
    for reply in (
        api.get(amina, f"/sender-ids/{made['id']}"),
        api.get(bilal.key(sandbox=True), f"/sender-ids/{made['id']}"),
        api.get(bilal, "/sender-ids/SHOPS"),
    ):
        assert (reply.status, reply.reason) == (404, "no_such_record")


def test_a_suspended_account_or_customer_registers_nothing(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    bilal.suspend()
    api.refresh()
    for reply in (
        api.post(bilal, "/sender-ids", {"sender": "BILAL"}),
        api.post(amina, "/sender-ids", {"sender": "BILAL", "customer_id": bilal.text_id}),
    ):
        assert (reply.status, reply.code, reply.reason) == (403, "FORBIDDEN", "account_suspended")
    assert (
        api.get(bilal, "/sender-ids").data
        == []
        == api.get(amina, "/sender-ids", customer_id=bilal.text_id).data
    )


def test_a_suspended_partners_customers_are_suspended(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    amina.suspend()
    api.refresh()
    assert api.post(bilal, "/sender-ids", {"sender": "BILAL"}).reason == "account_suspended"


def test_senders_are_paged(api: Service, chidi: Actor) -> None:
    made = [api.post(chidi, "/sender-ids", {"sender": f"SENDER{k}"}).data["id"] for k in range(5)]
    seen: list[str] = []
    query: dict[str, str] = {"limit": "2"}
    while True:
        reply = api.get(chidi, "/sender-ids", **query)
        assert len(reply.ids) <= 2
        seen += reply.ids
        if (cursor := reply.body["next_cursor"]) is None:
            break
        api.post(chidi, "/sender-ids", {"sender": f"MORE{len(seen)}"})
        query["cursor"] = cursor
    assert seen == made[::-1]


def test_two_registrations_of_one_sender_at_once_make_one_record(
    api: Service, chidi: Actor
) -> None:
    spellings = ("chidi", "CHIDI") * 4
    replies = api.at_once(
        *(
            api.requested(
                "POST", chidi, "/sender-ids", json={"sender": sender, "set_default": True}
            )
            for sender in spellings
        )
    )
    assert {reply.status for reply in replies} == {200}
    assert len({reply.data["id"] for reply in replies}) == 1


def test_a_new_default_is_a_change_of_its_own_in_the_audit_log(api: Service, chidi: Actor) -> None:
    def actions() -> list[str]:
        with api.db.read() as tx:
            found = accounts.audit_entries(tx, chidi.account_id, PageWanted(100, None))
        return [stored.entry.action.removeprefix("sender.") for stored in reversed(found)]

    def register(sender: str, **more: bool) -> None:
        assert api.post(chidi, "/sender-ids", {"sender": sender, **more}).status == 200

    register("FIRST")
    assert actions() == ["register"]
    register("first", set_default=True)
    assert actions() == ["register", "make_default"]
    register("FIRST", set_default=True)
    assert actions() == ["register", "make_default"]
    register("SECOND", set_default=True)
    assert sorted(actions()) == ["make_default"] * 2 + ["register"] * 2
