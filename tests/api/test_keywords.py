"""GET and POST /keywords, and DELETE /keywords/{id}, keep an account's keywords."""

from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import accounts, inbound
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.inbound.keywords import keyword
from heliograph.inbound.tables import keywords
from tests.support.api.cast import Actor
from tests.support.api.service import Service


def add(api: Service, who: Any, **body: Any) -> Any:
    reply = api.post(who, "/keywords", body)
    assert reply.status == 200, reply
    return reply.data


def own_number(api: Service, who: Actor, digits: str = "4567") -> str:
    with api.db.write() as tx:
        made = inbound.add_number(tx, digits, "simulator", who.account_id, now_ms=clock.now_ms())
    return str(inbound.as_number_record(made)["id"])


def test_a_keyword_is_added_changed_listed_and_removed(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    number_id = own_number(api, amina)
    body = {
        "keyword": " Offérs! ",
        "number": "+4567",
        "reply": "Rice: 10 % less.",
        "language": "fr",
    }
    made = api.post(amina, "/keywords", body)
    assert (made.status, made.body["created"]) == (200, True)
    assert made.data | {"id": "", "created_at": ""} == {
        "id": "",
        "number": "4567",
        "keyword": "Offérs!",
        "action": "none",
        "reply": "Rice: 10 % less.",
        "language": "fr",
        "sandbox": False,
        "created_at": "",
    }
    assert made.data["id"].startswith("kw_")
    again = api.post(amina, "/keywords", {"keyword": "OFFERS", "number": number_id})
    assert again.body["created"] is False
    assert again.data == made.data | {"keyword": "OFFERS", "reply": None, "language": None}
    everywhere = add(api, amina, keyword="offers", action="help")
    assert api.get(amina, "/keywords").data == [everywhere, again.data]
    page = api.get(amina, "/keywords", limit=1)
    rest = api.get(amina, "/keywords", limit=1, cursor=page.body["next_cursor"])
    assert (page.data, rest.data) == ([everywhere], [again.data])
    path = f"/keywords/{everywhere['id']}"
    assert api.delete(chidi, path).reason == "no_such_record"
    assert api.delete(amina.key("sms.send", sandbox=True), path).status == 404
    assert api.delete(amina, path).data == {"id": everywhere["id"], "deleted": True}
    assert api.delete(amina, path).status == 404
    assert api.get(amina, "/keywords").data == [again.data]
    with api.db.read() as tx:
        log = accounts.audit_entries(tx, amina.account_id, PageWanted(4, None))
    assert [each.entry.action for each in log][:4] == [
        "keyword.remove",
        "keyword.save",
        "keyword.save",
        "keyword.save",
    ]


def test_keywords_are_of_their_account_and_mode_alone(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    own_number(api, amina)
    live, sandbox = add(api, amina, keyword="RICE"), amina.key("sms.send", "sms.read", sandbox=True)
    tried = add(api, sandbox, keyword="rice", reply="Tried.")
    assert (live["sandbox"], tried["sandbox"]) == (False, True)
    assert api.get(sandbox, "/keywords").data == [tried]
    assert api.get(amina, "/keywords").data == [live]
    assert api.get(chidi, "/keywords").data == []
    assert add(api, chidi, keyword="rice")["keyword"] == "rice"
    for who in (chidi, sandbox):
        refused = api.post(who, "/keywords", {"keyword": "BEANS", "number": "4567"})
        assert (refused.status, refused.bad_fields) == (400, ["number"])
    assert api.post(amina.key("sms.read"), "/keywords", {"keyword": "A"}).reason == (
        "missing_permission"
    )
    assert api.get(amina.key("sms.send"), "/keywords").reason == "missing_permission"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["keyword"]),
        ({"keyword": " "}, ["keyword"]),
        ({"keyword": "?!"}, ["keyword"]),
        ({"keyword": "a\nb"}, ["keyword"]),
        ({"keyword": "ab" * 17}, ["keyword"]),
        ({"keyword": "one two three four five"}, ["keyword"]),
        ({"keyword": "A", "action": "optout"}, ["action"]),
        ({"keyword": "A", "language": "english"}, ["language"]),
        ({"keyword": "A", "reply": ""}, ["reply"]),
        ({"keyword": "A", "reply": "x" * 1_531}, ["reply"]),
        ({"keyword": "A", "number": "4567"}, ["number"]),
        ({"keyword": "A", "action": 1, "reply": 2}, ["action", "reply"]),
        ({"keyword": "Stop", "action": "none"}, ["action"]),
        ({"keyword": "désabonner", "action": "opt_in"}, ["action"]),
    ],
)
def test_what_is_wrong_is_named(
    api: Service, amina: Actor, body: dict[str, Any], fields: list[str]
) -> None:
    refused = api.post(amina, "/keywords", body)
    assert (refused.status, refused.bad_fields) == (400, fields), refused


def test_a_word_that_opts_out_may_have_an_own_answer(api: Service, amina: Actor) -> None:
    made = add(api, amina, keyword="STOP", action="opt_out", reply="Bye.")
    assert (made["action"], made["reply"]) == ("opt_out", "Bye.")


@pytest.mark.parametrize(
    ("word", "action"),
    [("Stop", "opt_out"), ("START", "opt_in"), ("Aidez-moi", "help"), ("RICE", "none")],
)
def test_a_built_in_word_with_another_reply_does_what_it_did(
    api: Service, amina: Actor, word: str, action: str
) -> None:
    assert add(api, amina, keyword=word, reply="Hello.")["action"] == action
    assert add(api, amina, keyword=word, reply="Hello.", action=None)["action"] == action


def test_an_idempotency_key_adds_once(api: Service, amina: Actor) -> None:
    headers = {"Idempotency-Key": "k-1"}
    first, second = (
        api.request("POST", amina, "/keywords", json={"keyword": "RICE"}, headers=headers)
        for _ in range(2)
    )
    assert first.body["data"] == second.body["data"]
    assert second.body["created"] is True
    other = api.request("POST", amina, "/keywords", json={"keyword": "X"}, headers=headers)
    assert other.status == 409


def test_an_account_has_so_many_keywords_and_no_more(
    api: Service, amina: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyword, "KEYWORDS_MAX", 2)
    for word in ("ONE", "TWO", "ONE"):
        add(api, amina, keyword=word)
    assert api.post(amina, "/keywords", {"keyword": "THREE"}).bad_fields == ["keyword"]
    with api.db.read() as tx:
        assert tx.execute(sa.select(sa.func.count()).select_from(keywords)).scalar_one() == 2


def test_a_partner_keeps_the_keywords_of_its_customer(api: Service, amina: Actor) -> None:
    body = {"full_name": "Dede Stores", "phone": "233201234567", "country_code": "GH"}
    customer = api.post(amina, "/connect/customers", body).data["id"]
    made = add(api, amina, keyword="RICE", customer_id=customer)
    assert api.get(amina, "/keywords").data == []
    assert api.get(amina, "/keywords", customer_id=customer).data == [made]
    path = f"/keywords/{made['id']}"
    assert api.delete(amina, path).status == 404
    assert api.request("DELETE", amina, f"{path}?customer_id={customer}").status == 200
