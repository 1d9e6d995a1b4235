"""GET and POST /opt-outs, and DELETE /opt-outs/{phone}, keep an account's opt-outs."""

from heliograph import accounts
from tests.support.api.cast import PHONE, Actor
from tests.support.api.service import Service
from tests.support.capability.told_opt_outs import Told, hears_of_opt_outs, told_of_opt_outs

OTHER = "233201234568"


def test_an_opt_out_is_stored_once_listed_and_lifted_for_its_account_and_mode_alone(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    first = api.post(amina, "/opt-outs", {"phone": "020 123 4567", "country_code": "GH"})
    assert first.body["created"] is True
    assert first.data | {"created_at": ""} == {
        "phone": PHONE,
        "sender": None,
        "source": "api",
        "sandbox": False,
        "created_at": "",
    }
    assert api.post(amina, "/opt-outs", {"phone": PHONE}).body["created"] is False
    api.post(amina, "/opt-outs", {"phone": PHONE, "sender": "AMINA"})
    api.post(amina, "/opt-outs", {"phone": OTHER})
    page = api.get(amina, "/opt-outs", limit=2)
    assert [(each["phone"], each["sender"]) for each in page.data] == [
        (OTHER, None),
        (PHONE, "amina"),
    ]
    rest = api.get(amina, "/opt-outs", limit=2, cursor=page.body["next_cursor"])
    assert (rest.data, rest.body["next_cursor"]) == ([first.data], None)
    for stranger in (chidi.key(), amina.key("sms.read", "sms.send", sandbox=True)):
        assert api.get(stranger, "/opt-outs").data == []
        assert api.delete(stranger, f"/opt-outs/{PHONE}").status == 404
    assert api.delete(amina, f"/opt-outs/{PHONE}", sender="Amina").data == {
        "phone": PHONE,
        "deleted": True,
    }
    assert api.delete(amina, f"/opt-outs/{PHONE}", sender="Amina").status == 404
    assert api.delete(amina, f"/opt-outs/{PHONE}").status == 200
    assert [each["phone"] for each in api.get(amina, "/opt-outs").data] == [OTHER]


def test_who_may_not_and_what_is_wrong_are_told(api: Service, amina: Actor) -> None:
    assert api.get(amina.key("sms.send"), "/opt-outs").reason == "missing_permission"
    reads = amina.key("sms.read")
    assert api.post(reads, "/opt-outs", {"phone": PHONE}).reason == "missing_permission"
    assert api.delete(reads, f"/opt-outs/{PHONE}").reason == "missing_permission"
    wrong = api.post(amina, "/opt-outs", {"phone": "20123"})
    assert wrong.status == 400
    assert [each["field"] for each in wrong.body["error"]["fields"]] == ["phone"]
    assert api.post(amina, "/opt-outs", {}).status == 400
    assert api.delete(amina, "/opt-outs/none").status == 404


def test_a_contact_of_the_phone_shows_it(api: Service, amina: Actor) -> None:
    contact = api.post(amina, "/contacts", {"phone": PHONE}).data
    assert contact["opted_out"] is False
    api.post(amina, "/opt-outs", {"phone": PHONE})
    [shown] = api.get(amina, "/contacts").data
    assert shown == contact | {"opted_out": True}
    api.delete(amina, f"/opt-outs/{PHONE}")
    assert api.get(amina, "/contacts").data == [contact]


def test_an_opt_out_withdraws_what_is_queued_in_its_scope(api: Service, amina: Actor) -> None:
    amina.sender("SALES")
    made = []
    for sender in ("AMINA", "SALES"):
        body = {"sender": sender, "message": "Hello", "recipients": [PHONE, OTHER]}
        made.append(api.post(amina, "/sms/send", body).data["message_ids"])

    def errors() -> list[list[str | None]]:
        shown = [[api.get(amina, f"/messages/{each}").data["error"] for each in of] for of in made]
        return [[error and error["code"] for error in of] for of in shown]

    credits = api.get(amina, "/wallet/balance").body["sms_credits"]
    api.post(amina, "/opt-outs", {"phone": PHONE, "sender": "sales"}, key="k1")
    assert errors() == [[None, None], ["blocked", None]]
    api.post(amina, "/opt-outs", {"phone": PHONE})
    assert errors() == [["blocked", None], ["blocked", None]]
    assert api.get(amina, "/wallet/balance").body["sms_credits"] == credits + 2


def test_a_transactional_text_reaches_who_has_opted_out_if_its_account_may_send_it(
    api: Service, amina: Actor
) -> None:
    api.post(amina, "/opt-outs", {"phone": PHONE})
    body = {"sender": "AMINA", "message": "Your receipt.", "recipients": [PHONE, OTHER]}
    for dry_run in (True, False):
        refused = api.post(amina, "/sms/send", {**body, "transactional": True, "dry_run": dry_run})
        assert (refused.status, refused.reason) == (400, "invalid_field")
        [field] = refused.body["error"]["fields"]
        assert field["field"] == "transactional"
        assert "must be false or left out, not true" in field["message"]
    assert api.post(amina, "/sms/send", {**body, "transactional": "yes"}).status == 400
    with api.db.write() as tx:
        accounts.change(tx, amina.account_id, transactional=True)
    sent = api.post(amina, "/sms/send", {**body, "transactional": True}).data
    assert (sent["accepted"], sent["rejected"]) == (2, [])
    plain = api.post(amina, "/sms/send", {**body, "transactional": False}).data
    assert [each["reason"] for each in plain["rejected"]] == ["opted_out"]
    with api.db.write() as tx:
        accounts.change(tx, amina.account_id, transactional=False)
    assert api.post(amina, "/sms/send", {**body, "transactional": True}).status == 400


def test_each_opt_out_and_each_that_is_lifted_is_told_once(api: Service, amina: Actor) -> None:
    hears_of_opt_outs(api.db, amina.account_id)
    for key in ("k1", "k1", "k2"):  # the first is asked for again, then it is there already
        api.post(amina, "/opt-outs", {"phone": PHONE}, key=key)
    api.post(amina, "/opt-outs", {"phone": PHONE, "sender": "Amina"})
    api.delete(amina, f"/opt-outs/{PHONE}")
    assert api.delete(amina, f"/opt-outs/{PHONE}").status == 404
    both = (None, "amina")
    expected = [Told(what, PHONE, "api", sender) for what in ("out", "in") for sender in both]
    assert told_of_opt_outs(api.db) == expected
    contact = api.post(amina, "/contacts", {"phone": PHONE, "opted_out": True}).data
    api.post(amina, "/contacts", {"phone": PHONE, "name": "Kofi", "opted_out": True})
    api.put(amina, f"/contacts/{contact['id']}", {"opted_out": False})
    api.put(amina, f"/contacts/{contact['id']}", {"opted_out": False})
    sandbox = amina.key("contacts.write", "sms.send", sandbox=True)
    api.post(sandbox, "/opt-outs", {"phone": PHONE})
    assert told_of_opt_outs(api.db)[4:] == [Told("out", PHONE, "api"), Told("in", PHONE, "api")]
