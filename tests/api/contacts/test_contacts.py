"""GET and POST /contacts, and PUT and DELETE /contacts/{id}, keep an account's contacts."""

from typing import Any

import pytest

from heliograph import contacts
from heliograph.base import clock, ids
from heliograph.contacts import Changer, ChangerKind, ContactOwner
from tests.support.api.cast import PHONE, Actor
from tests.support.api.service import Service

KOFI: dict[str, Any] = {
    "phone": "+233 20 123 4567",
    "name": " Kofi Mensah ",
    "email": "kofi@example.com",
    "tags": ["vip", "accra", "vip"],
    "custom": {"city": "Accra"},
}


def test_an_opt_out_is_recorded_with_the_name_of_the_key(api: Service, chidi: Actor) -> None:
    made = add(api, chidi, opted_out=True)
    path = f"/contacts/{made['id']}"
    for body in ({"opted_out": False}, {"name": "Kofi"}, {"opted_out": None}, {"opted_out": True}):
        assert api.put(chidi, path, body).status == 200
    with chidi.db.read() as tx:
        contact = contacts.by_id(tx, ContactOwner(chidi.account_id, False), made["id"])
        history = contacts.opt_out_history(tx, contact)
    assert [each.opted_out for each in history] == [True, False, True]
    assert {each.by for each in history} == {Changer(ChangerKind.KEY, "test")}


def add(api: Service, who: Any, phone: str = PHONE, **fields: Any) -> Any:
    reply = api.post(who, "/contacts", {"phone": phone, **fields})
    assert reply.status == 200, reply
    return reply.data


def test_a_contact_is_made_listed_changed_and_deleted(api: Service, chidi: Actor) -> None:
    made = api.post(chidi, "/contacts", KOFI)
    assert (made.status, made.body["created"]) == (200, True)
    assert made.data | {"id": "", "created_at": "", "updated_at": ""} == {
        "id": "",
        "phone": PHONE,
        "name": "Kofi Mensah",
        "email": "kofi@example.com",
        "tags": ["vip", "accra"],
        "country_code": "GH",
        "custom": {"city": "Accra"},
        "opted_out": False,
        "sandbox": False,
        "created_at": "",
        "updated_at": "",
    }
    assert made.data["id"].startswith("con_")
    assert api.get(chidi, "/contacts").data == [made.data]
    clock.move(by_ms=1_000)
    changed = api.put(
        chidi,
        f"/contacts/{made.data['id']}",
        {"name": None, "custom": {"town": "Tema"}, "opted_out": True},
    )
    assert changed.data | {"updated_at": ""} == made.data | {
        "name": None,
        "custom": {"town": "Tema"},
        "opted_out": True,
        "updated_at": "",
    }
    assert changed.data["updated_at"] > made.data["updated_at"]
    assert api.get(chidi, "/contacts").data == [changed.data]
    for status, deleted in ((200, True), (404, False)):
        reply = api.delete(chidi, f"/contacts/{made.data['id']}")
        assert reply.status == status
        assert not deleted or reply.data == {"id": made.data["id"], "deleted": True}
    assert api.get(chidi, "/contacts").data == []


def test_the_same_phone_again_changes_what_is_given_and_keeps_the_rest(
    api: Service, chidi: Actor
) -> None:
    first = add(api, chidi, **KOFI, opted_out=True)
    again = api.post(
        chidi,
        "/contacts",
        {"phone": "0201234567", "countryCode": "gh", "name": "Kofi", "email": None},
    )
    assert again.body["created"] is False
    assert again.data | {"updated_at": ""} == first | {
        "name": "Kofi",
        "email": None,
        "updated_at": "",
    }
    cleared = add(api, chidi, tags=None, custom=None, opted_out=None, name=None)
    assert (cleared["tags"], cleared["custom"], cleared["opted_out"], cleared["name"]) == (
        [],
        {},
        False,
        None,
    )


def test_a_phone_that_another_contact_has_is_refused(api: Service, chidi: Actor) -> None:
    first, second = add(api, chidi), add(api, chidi, "233201234568", name="Ama")
    reply = api.put(chidi, f"/contacts/{second['id']}", {"phone": PHONE, "name": "Kofi"})
    assert (reply.status, reply.code, reply.reason, list(reply.bad_fields)) == (
        400,
        "INVALID_REQUEST",
        "phone_taken",
        ["phone"],
    )
    assert api.get(chidi, "/contacts").data == [second, first]
    moved = api.put(
        chidi, f"/contacts/{second['id']}", {"phone": "08031234567", "country_code": "NG"}
    ).data
    assert (moved["phone"], moved["country_code"], moved["name"]) == ("2348031234567", "NG", "Ama")
    assert api.put(chidi, f"/contacts/{first['id']}", {"phone": PHONE}).data["phone"] == PHONE, (
        "its own"
    )


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["phone"]),
        ({"phone": None}, ["phone"]),
        ({"phone": "020123"}, ["phone"]),
        ({"phone": 233201234567}, ["phone"]),
        ({"phone": PHONE, "name": ""}, ["name"]),
        ({"phone": PHONE, "name": "x" * 129}, ["name"]),
        ({"phone": PHONE, "name": "a\nb"}, ["name"]),
        ({"phone": PHONE, "email": "kofi"}, ["email"]),
        ({"phone": PHONE, "email": "k@" + "x" * 253}, ["email"]),
        ({"phone": PHONE, "tags": "vip"}, ["tags"]),
        (
            {"phone": PHONE, "tags": ["vip", "", 7, "a|b", "x" * 65]},
            [f"tags[{k}]" for k in (1, 2, 3, 4)],
        ),
        ({"phone": PHONE, "tags": [str(k) for k in range(51)]}, ["tags"]),
        ({"phone": PHONE, "custom": ["a"]}, ["custom"]),
        ({"phone": PHONE, "custom": {str(k): "v" for k in range(51)}}, ["custom"]),
        (
            {
                "phone": PHONE,
                "custom": {"name": "a", "phone": "b", "a{b": "c", "n": 1, "e": "", "v": "x" * 501},
            },
            [f"custom.{name}" for name in ("a{b", "e", "n", "name", "phone", "v")],
        ),
        ({"phone": PHONE, "opted_out": "no"}, ["opted_out"]),
        ({"phone": PHONE, "country_code": "ZZ"}, ["country_code"]),
        ({"phone": PHONE, "country_code": "GH", "countryCode": "NG"}, ["countryCode"]),
        ({"phone": PHONE, "customer_id": 1}, ["customer_id"]),
        (
            {"phone": "x", "name": 1, "email": 1, "tags": 1, "custom": 1, "opted_out": 1},
            ["custom", "email", "name", "opted_out", "phone", "tags"],
        ),
    ],
)
def test_all_bad_fields_are_named_together_and_nothing_is_stored(
    api: Service, chidi: Actor, body: dict[str, Any], fields: list[str]
) -> None:
    reply = api.post(chidi, "/contacts", body)
    assert (reply.status, reply.code, reply.reason, sorted(reply.bad_fields)) == (
        400,
        "INVALID_REQUEST",
        "invalid_field",
        fields,
    )
    assert api.get(chidi, "/contacts").data == []
    made = add(api, chidi)
    if body.get("phone", PHONE) != PHONE or len(body) > 1:
        reply = api.put(chidi, f"/contacts/{made['id']}", body)
        assert (reply.status, sorted(reply.bad_fields)) == (400, fields)
    assert api.get(chidi, "/contacts").data == [made]


def test_what_only_the_service_sets_is_ignored_and_named(api: Service, chidi: Actor) -> None:
    theirs = ids.new("con")
    reply = api.post(
        chidi,
        "/contacts",
        {"phone": PHONE, "id": theirs, "sandbox": True, "created_at": "2020-01-01T00:00:00Z"},
    )
    assert reply.data["id"] != theirs
    assert reply.data["sandbox"] is False
    assert len(reply.body["warnings"]) == 3


def test_contacts_of_others_and_of_the_other_mode_are_not_there(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    made = add(api, chidi, name="Kofi")
    path = f"/contacts/{made['id']}"
    for who in (amina, bilal, chidi.key(sandbox=True)):
        assert api.get(who, "/contacts").data == [] == api.get(who, "/contacts", q="kofi").data
        for reply in (api.put(who, path, {"name": "X"}), api.delete(who, path)):
            assert (reply.status, reply.reason) == (404, "no_such_record")
        assert add(api, who)["id"] != made["id"], "each has this phone for itself"
    assert api.get(chidi, "/contacts").data == [made]
    assert api.get(chidi.key(sandbox=True), "/contacts").data[0]["sandbox"] is True
    for nobodys in ("con_", "msg" + made["id"][3:], "x", ids.new("con")):
        assert (
            api.put(chidi, f"/contacts/{nobodys}", {}).status
            == 404
            == api.delete(chidi, f"/contacts/{nobodys}").status
        )


def test_a_partner_keeps_the_contacts_of_its_customer(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    made = add(api, amina, customer_id=bilal.text_id)
    assert (
        api.get(amina, "/contacts", customer_id=bilal.text_id, q="2332").data
        == [made]
        == api.get(bilal, "/contacts").data
    )
    assert api.get(amina, "/contacts").data == []
    path = f"/contacts/{made['id']}"
    assert api.put(amina, path, {"name": "Kofi"}).status == 404
    assert (
        api.put(amina, path, {"name": "Kofi", "customer_id": bilal.text_id}).data["name"] == "Kofi"
    )
    assert api.put(chidi, path, {"name": "X", "customer_id": bilal.text_id}).status == 404
    refused = api.delete(amina.key("contacts.write"), path, customer_id=bilal.text_id)
    assert (refused.status, refused.reason) == (403, "missing_permission")
    bilal.suspend()
    api.refresh()
    assert api.delete(amina, path, customer_id=bilal.text_id).reason == "account_suspended"
    assert api.get(amina, "/contacts", customer_id=bilal.text_id).ids == [made["id"]]


def test_a_search_finds_what_is_typed_and_nothing_across_two_fields(
    api: Service, chidi: Actor
) -> None:
    kofi = add(api, chidi, **KOFI)
    odd = add(
        api,
        chidi,
        "233201234568",
        name="100% Straße_1 'q' \\",
        email="O'Hara@example.com",
        tags=["ÉTÉ"],
    )
    found = {
        needle: api.get(chidi, "/contacts", q=needle).ids
        for needle in (
            "KOFI",
            "fi m",
            "20123456",
            "@example",
            "été",
            "STRASSE",
            "%",
            "_",
            "'",
            "\\",
            "o'h",
            "x",
            "VIP",
            "accr",
            "city",
            "hkofi",
            "\n",
            "vip\naccra",
            "8",
        )
    }
    assert found == {
        "KOFI": [kofi["id"]],
        "fi m": [kofi["id"]],
        "20123456": [odd["id"], kofi["id"]],
        "@example": [odd["id"], kofi["id"]],
        "été": [odd["id"]],
        "STRASSE": [odd["id"]],
        "%": [odd["id"]],
        "_": [odd["id"]],
        "'": [odd["id"]],
        "\\": [odd["id"]],
        "o'h": [odd["id"]],
        "x": [odd["id"], kofi["id"]],
        "VIP": [kofi["id"]],
        "accr": [kofi["id"]],
        "city": [],
        "hkofi": [],
        "\n": [],
        "vip\naccra": [],
        "8": [odd["id"]],
    }


def test_lists_and_searches_are_paged(api: Service, chidi: Actor) -> None:
    made = [add(api, chidi, str(233_201_000_000 + k), name=f"Kofi {k}")["id"] for k in range(5)]
    for query in ({}, {"q": "kofi"}):
        seen: list[str] = []
        wanted: dict[str, str] = {**query, "limit": "2"}
        while True:
            reply = api.get(chidi, "/contacts", **wanted)
            assert len(reply.ids) <= 2
            seen += reply.ids
            if (cursor := reply.body["next_cursor"]) is None:
                break
            add(api, chidi, str(233_202_000_000 + len(seen)), name="Kofi, later", tags=[str(query)])
            wanted["cursor"] = cursor
        assert seen[-5:] == made[::-1]
    for bad in ({"q": "x" * 257}, {"limit": "0"}, {"limit": "1001"}, {"name": "kofi"}):
        reply = api.get(chidi, "/contacts", **bad)
        assert (reply.status, reply.reason, list(reply.bad_fields)) == (
            400,
            "invalid_query",
            list(bad),
        )


def test_fifty_equal_upserts_at_once_make_one_contact(api: Service, chidi: Actor) -> None:
    replies = api.at_once(
        *(
            api.requested("POST", chidi, "/contacts", json={"phone": PHONE, "tags": [f"t{k}"]})
            for k in range(50)
        )
    )
    assert {reply.status for reply in replies} == {200}
    assert [reply.body["created"] for reply in replies].count(True) == 1
    assert len({reply.data["id"] for reply in replies}) == 1 == len(api.get(chidi, "/contacts").ids)


def test_an_upsert_with_an_idempotency_key_is_done_once(api: Service, chidi: Actor) -> None:
    def send(body: dict[str, Any]) -> Any:
        return api.request("POST", chidi, "/contacts", json=body, headers={"Idempotency-Key": "k"})

    first = send({"phone": PHONE})
    api.delete(chidi, f"/contacts/{first.data['id']}")
    assert send({"phone": PHONE}).body == first.body
    assert api.get(chidi, "/contacts").data == []
    assert send({"phone": PHONE, "name": "Kofi"}).reason == "idempotency_key_reused"
