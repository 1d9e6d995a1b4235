"""GET /inbound and GET /inbound/{id} show the texts that an account has received, and GET /numbers
lists its numbers.
"""

import sqlalchemy as sa

from heliograph import inbound
from heliograph.base import clock
from heliograph.messages.tables import answering_sends
from tests.support.api.cast import Actor
from tests.support.api.inbound_texts import store_inbound
from tests.support.api.service import Service
from tests.support.factories import PHONE


def test_texts_are_listed_newest_first_page_by_page_for_their_account_alone(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    with api.db.write() as tx:
        ids = [store_inbound(tx, amina.account_id, f"text {number}") for number in range(3)]
        store_inbound(tx, None, "nobody's")
        store_inbound(tx, chidi.account_id, "chidi's")
    first = api.get(amina, "/inbound", limit=2)
    assert [each["id"] for each in first.data] == ids[:0:-1]
    rest = api.get(amina, "/inbound", limit=2, cursor=first.body["next_cursor"])
    assert ([each["text"] for each in rest.data], rest.body["next_cursor"]) == (["text 0"], None)
    one = api.get(amina, f"/inbound/{ids[0]}").data
    assert one | {"received_at": ""} == {
        "id": ids[0],
        "from": "233201234567",
        "to": "4567",
        "text": "text 0",
        "encoding": "GSM-7",
        "parts": 1,
        "parts_received": 1,
        "complete": True,
        "keyword": None,
        "opt_out_suspected": False,
        "in_reply_to": None,
        "sandbox": False,
        "received_at": "",
    }
    assert api.get(chidi, f"/inbound/{ids[0]}").reason == "no_such_record"
    assert api.get(amina.key("sms.read", sandbox=True), "/inbound").data == []
    assert api.get(amina.key("sms.read", sandbox=True), f"/inbound/{ids[0]}").status == 404
    assert api.get(amina.key("sms.send"), "/inbound").reason == "missing_permission"


def test_numbers_are_listed_for_their_account_alone(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    with api.db.write() as tx:
        for digits, account_id in (
            ("4567", amina.account_id),
            ("4568", None),
            ("4569", amina.account_id),
        ):
            inbound.add_number(tx, digits, "simulator", account_id, now_ms=clock.now_ms())
    assert [each["number"] for each in api.get(amina, "/numbers").data] == ["4569", "4567"]
    assert api.get(chidi, "/numbers").data == []
    assert api.get(amina.key("sms.read", sandbox=True), "/numbers").data == []
    page = api.get(amina, "/numbers", limit=1)
    rest = api.get(amina, "/numbers", limit=1, cursor=page.body["next_cursor"])
    assert [each["number"] for each in rest.data] == ["4567"]


def test_a_send_names_the_text_that_it_answers(api: Service, amina: Actor, chidi: Actor) -> None:
    with api.db.write() as tx:
        hers = store_inbound(tx, amina.account_id)
        other = store_inbound(tx, chidi.account_id)
        sandboxed = store_inbound(tx, amina.account_id, sandbox=True)
    api.refresh()
    sent = api.send(amina, [PHONE], in_reply_to=hers)
    assert api.get(amina, f"/messages/{sent['message_id']}").data["in_reply_to"] == hers
    body = {"sender": "AMINA", "message": "hello", "recipients": [PHONE]}
    for unknown in (other, sandboxed, "inb_1", "hello"):
        reply = api.post(amina, "/sms/send", {**body, "in_reply_to": unknown})
        assert (reply.status, reply.bad_fields) == (400, ["in_reply_to"])
        assert "of this account and mode" in reply.error["message"]
    many = {**body, "recipients": [PHONE, "233201234568"], "in_reply_to": hers}
    assert api.post(amina, "/sms/send", many).bad_fields == ["in_reply_to"]
    dry = {**body, "in_reply_to": hers, "dry_run": True}
    assert api.post(amina, "/sms/send", dry).status == 200
    with api.db.read() as tx:
        stored = tx.execute(sa.select(sa.func.count()).select_from(answering_sends)).scalar_one()
    assert stored == 1


def test_a_partner_reads_the_texts_and_numbers_of_its_customer_alone(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    with api.db.write() as tx:
        his = store_inbound(tx, bilal.account_id)
        number = inbound.add_number(
            tx, "4567", "simulator", bilal.account_id, now_ms=clock.now_ms()
        )
    as_bilal = {"customer_id": bilal.text_id}
    assert api.get(amina, "/inbound", **as_bilal).ids == [his]
    assert api.get(amina, f"/inbound/{his}", **as_bilal).data["id"] == his
    assert [each["number"] for each in api.get(amina, "/numbers", **as_bilal).data] == [
        number.digits
    ]
    assert api.get(amina, "/inbound").data == []
    for path in ("/inbound", f"/inbound/{his}", "/numbers"):
        assert api.get(chidi, path, **as_bilal).status in (403, 404)
