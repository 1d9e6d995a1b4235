"""POST /sms/send answers who has opted out and asks for help, and says nothing else to them."""

from typing import Any

from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from tests.support.api.cast import Actor
from tests.support.api.inbound_texts import store_inbound
from tests.support.api.service import Service
from tests.support.factories import PHONE, grant, phones

[OTHER] = phones(1)


def helps(api: Service, who: Actor, text_id: str, to: str = PHONE, **more: Any) -> bool:
    """Returns whether an answer to a text is accepted. It is rejected for no other reason than
    that the phone has opted out.
    """
    body = {"sender": "AMINA", "message": "Here we are.", "recipients": [to], **more}
    reply = api.post(who, "/sms/send", {**body, "in_reply_to": text_id})
    if reply.status != 200:
        assert [each["reason"] for each in reply.error["rejected"]] == ["opted_out"]
    return reply.status == 200


def came(api: Service, who: Actor, text: str, keyword: str | None, **more: Any) -> str:
    with api.db.write() as tx:
        return store_inbound(tx, who.account_id, text, keyword=keyword, **more)


def test_who_asks_for_help_is_answered_twice_at_that_phone(api: Service, amina: Actor) -> None:
    for phone in (PHONE, OTHER):
        assert api.post(amina, "/opt-outs", {"phone": phone}).status == 200
    asked = came(api, amina, "Help!", "help")
    credits = api.get(amina, "/balance").body["sms_credits"]
    assert not helps(api, amina, asked, to=OTHER)
    assert helps(api, amina, asked, dry_run=True)
    assert [helps(api, amina, asked) for _ in range(3)] == [True, True, False]
    assert api.get(amina, "/balance").body["sms_credits"] == credits - 2
    assert helps(api, amina, came(api, amina, "aide", "aide"))  # each text that asks counts anew


def test_no_other_text_is_answered_past_an_opt_out(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    chidi.sender("CHIDI")
    grant(api.db, chidi.account_id, 5)
    api.refresh()
    for who in (amina, chidi):
        assert api.post(who, "/opt-outs", {"phone": PHONE}).status == 200
    yesterday_ms = clock.now_ms() - DAY_MS - 1
    assert not helps(api, amina, came(api, amina, "Can you help?", None))
    assert not helps(api, amina, came(api, amina, "stop", "stop"))
    assert not helps(api, amina, came(api, amina, "help", "help", at_ms=yesterday_ms))
    for word, action in (("help", "none"), ("menu", "help")):
        assert api.post(amina, "/keywords", {"keyword": word, "action": action}).status == 200
    assert not helps(api, amina, came(api, amina, "help", "help"))
    assert helps(api, amina, came(api, amina, "menu", "menu"))
    assert helps(api, chidi, came(api, chidi, "help", "help"), sender="CHIDI")
    assert not helps(api, chidi, came(api, chidi, "menu", "menu"), sender="CHIDI")
