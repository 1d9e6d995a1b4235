"""A text is sent from the portal, counted while it is typed, and refused in the API's words."""

import html
import re

import pytest
import sqlalchemy as sa

from heliograph import accounts, senders, wallet
from heliograph.base import clock
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.tables import messages
from heliograph.opt_outs import OptOutOwner, OptOutSource, suppress
from heliograph.users import Role
from heliograph.wallet import ledger
from tests.support.api.service import Loop
from tests.support.factories import SENDER, open_account, open_route
from tests.support.portal.visitor import EMAIL, Visitor, home_of

TO = "233201234567"
TYPED = {"mode": "sandbox", "sender": "SANDBOX", "recipients": TO, "message": "Hello"}
CURLY = "It\u2019s here. " * 8  # 88 characters: one segment of GSM-7, two of UCS-2


def sent(db: Database) -> list[int]:
    """Returns the recipients of all messages, in order."""
    with db.read() as tx:
        return list(tx.execute(sa.select(messages.c.recipient).order_by(messages.c.id)).scalars())


def approve(db: Database, account_id: str, credits: int) -> None:
    """Lets the account send as SHOP to anywhere, with so many credits."""
    open_route(db)
    with db.write() as tx:
        registered = senders.register(tx, account_id, "SHOP", sandbox=False, now_ms=clock.now_ms())
        senders.approve(tx, registered.id, now_ms=clock.now_ms())
        if credits:
            ledger.grant(tx, account_id, credits, "to begin with", now_ms=clock.now_ms())


SENT = {"do": "send", "once": "a value"}


def send(visitor: Visitor, home: str, **fields: str) -> int:
    visitor.get(f"{home}/send")
    once = visitor.page.text.partition('name="once" value="')[2].partition('"')[0]
    visitor.page = visitor.post(f"{home}/send", {**TYPED, "do": "send", "once": once, **fields})
    return visitor.page.status_code


def text_of(visitor: Visitor) -> str:
    """Returns what the page says, without markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", visitor.page.text)).split())


def test_a_text_is_sent_and_its_page_shown(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert send(visitor, home, message="Line one\r\nline two") == 303
    assert sent(db) == [int(TO)]
    page = visitor.get(visitor.page.headers["location"])
    assert page.status_code == 200
    assert "Line one\nline two" in page.text


def test_the_form_begins_with_a_sender_that_texts_of_both_modes_may_come_from(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    def begins_with(name: str) -> bool:
        page = visitor.get(f"{home}/send").text
        return f'name="sender" value="{name}"' in page

    approve(db, amina_id, credits=0)
    assert begins_with(SENDER), "the oldest"
    with db.write() as tx:
        usual = senders.register(tx, amina_id, "MANGO", sandbox=False, now_ms=clock.now_ms())
        senders.approve(tx, usual.id, now_ms=clock.now_ms())
    assert begins_with(SENDER)
    with db.write() as tx:
        senders.make_default(tx, amina_id, senders.text_id(usual))
    assert begins_with("MANGO")
    assert 'name="sender" value="OTHER"' in visitor.get(f"{home}/send?sender=OTHER").text


def test_several_numbers_are_sent_at_once_however_they_are_written(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert (
        send(visitor, home, recipients=" 0201234567, +233 20 123 4568;\r\n\r\n233201234569,") == 303
    )
    assert sent(db) == [233201234567, 233201234568, 233201234569]
    assert "send_id=snd_" in visitor.page.headers["location"]
    assert visitor.get(visitor.page.headers["location"]).text.count('<tr id="msg_') == 3


def test_live_is_charged_once_also_if_the_form_comes_twice(
    visitor: Visitor, run_loop: Loop, cache: ConfigCache, db: Database, amina_id: str, home: str
) -> None:
    approve(db, amina_id, 10)
    run_loop(cache.refresh())
    once = {"mode": "live", "sender": "SHOP", "once": "the same"}
    assert send(visitor, home, **once) == 303
    first = visitor.page.headers["location"]
    assert send(visitor, home, **once) == 303
    assert visitor.page.headers["location"] == first
    assert sent(db) == [int(TO)]
    assert credits_of(db, amina_id) == 9
    assert send(visitor, home, **once, message="Another") == 409
    assert "This form was sent before, with another text." in visitor.page.text
    assert 'name="once" value="the same"' not in visitor.page.text, "the next try is a new send"


def test_a_form_without_its_value_sends_nothing(visitor: Visitor, db: Database, home: str) -> None:
    assert send(visitor, home, once=" ") == 400
    assert "This form is not complete. Load its page again" in text_of(visitor)
    assert sent(db) == []


def credits_of(db: Database, account_id: str) -> int:
    with db.read() as tx:
        return wallet.wallet_of(tx, account_id).sms_credits


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"message": ""}, "message"),
        ({"message": "x" * 1_531}, "message"),
        ({"recipients": ""}, "recipients"),
        ({"sender": ""}, "sender"),
        ({"mode": "test"}, "mode"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_at_its_field_and_nothing_is_sent(
    visitor: Visitor, db: Database, amina_id: str, home: str, fields: dict[str, str], at: str
) -> None:
    assert send(visitor, home, **fields) == 400
    assert f'id="{at}-error"' in visitor.page.text
    assert sent(db) == []


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({"recipients": "nobody"}, 400, "None of the recipients can be sent to"),
        ({"sender": "NOBODY"}, 400, "is not approved for this account"),
        ({"recipients": "233201234004"}, 402, "credits"),
        ({"sender": "<script>alert(1)</script>"}, 400, "is not approved for this account"),
    ],
    ids=str,
)
def test_what_the_api_refuses_is_refused_in_its_words_and_what_was_typed_stays(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    fields: dict[str, str],
    status: int,
    told: str,
) -> None:
    assert send(visitor, home, message="Kept <b>", **fields) == status
    assert told in text_of(visitor)
    assert "Kept &lt;b&gt;</textarea>" in visitor.page.text
    assert "<script>" not in visitor.page.text
    assert sent(db) == []


def test_nul_is_refused_wherever_it_stands(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    for field in ("message", "sender", "recipients", "reference", "once"):
        assert send(visitor, home, **{field: "a\0b"}) == 400
        assert f"The field {field} " in text_of(visitor)
    assert visitor.get(f"{home}/messages?recipient=a%00b").status_code == 400
    assert sent(db) == []


def test_too_few_credits_send_nothing(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    approve(db, amina_id, 0)
    assert send(visitor, home, mode="live", sender="SHOP") == 402
    assert sent(db) == []


def test_a_text_is_counted_and_priced_before_it_is_sent(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert send(visitor, home, do="count", message=CURLY) == 200
    assert "2 segments 88 characters, UCS-2 2 credits for 1 recipient" in text_of(visitor)
    assert "\u2019 makes it UCS-2: 2 segments instead of 1." in text_of(visitor)
    for typed, said in (("H", "1 character"), ("Hello {", "7 characters")):
        visitor.get(f"{home}/send")
        visitor.page = visitor.post(f"{home}/send/count", {"message": typed})
        assert text_of(visitor) == f"1 segment {said}, GSM-7"
    assert "<html" not in visitor.page.text
    visitor.get(f"{home}/send")
    assert visitor.post(f"{home}/send/count", {"message": ""}).text.strip() == ""
    assert sent(db) == []


def test_a_text_that_is_too_long_is_kept_whole_and_said_to_be_so_before_it_is_sent(
    visitor: Visitor, db: Database, home: str
) -> None:
    text = "x" * 5_000
    for path in ("send", f"conversations/{TO}?mode=sandbox", f"handsets/{TO}", "quickstart"):
        [box] = re.findall('<textarea name="message"[^>]*>', visitor.get(f"{home}/{path}").text)
        assert "maxlength" not in box, "a browser would cut what is pasted"
    told = "message takes 33 segments; allowed: 10"
    visitor.page = visitor.post(f"{home}/send/count", {"message": text})
    assert text_of(visitor) == f"33 segments 5 000 characters, GSM-7 {told}"
    for does in ("count", "send"):
        assert send(visitor, home, message=text, do=does) == 400
        assert f">\n{text}</textarea>" in visitor.page.text
        [at_field] = re.findall(r'id="message-error">(.*?)</span>', visitor.page.text)
        assert told == f"message {at_field}"
        assert text_of(visitor).count("takes 33 segments") == 1, "once is enough"
    visitor.get("/portal/language/fr")
    visitor.get(f"{home}/send")
    visitor.page = visitor.post(f"{home}/send/count", {"message": text})
    assert "message prend 33 segments ; permis : 10" in text_of(visitor).replace("\u202f", " ")
    assert sent(db) == []


def test_numbers_that_get_nothing_are_named_before_the_text_is_sent_and_after(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        owner = OptOutOwner(amina_id, sandbox=True)
        suppress(tx, owner, ["233201234568"], source=OptOutSource.API, now_ms=clock.now_ms())
    to = f"{TO}, <b>1, 233201234568"
    assert send(visitor, home, do="count", recipients=to) == 200
    named = "2 numbers get nothing: <b>1 (no phone number), 233201234568 (opted out)."
    assert f"1 credit for 1 recipient {named}" in text_of(visitor).replace(" ( ", " (")
    assert "<b>1" not in visitor.page.text
    assert send(visitor, home, recipients=to) == 303
    said = "On its way, but not to all of the numbers"
    assert said in visitor.get(visitor.page.headers["location"]).text
    assert sent(db) == [int(TO)]


@pytest.mark.parametrize("role", list(Role))
def test_only_who_may_send_sends(visitor: Visitor, db: Database, amina_id: str, role: Role) -> None:
    visitor.sign_in(EMAIL, amina_id, role)
    home, may = home_of(db, amina_id), role is not Role.VIEWER
    assert (">Send</a>" in visitor.get(home).text) == may
    assert visitor.get(f"{home}/send").status_code == (200 if may else 403)
    visitor.get(home)
    assert visitor.post(f"{home}/send", {**TYPED, **SENT}).status_code == (303 if may else 403)
    visitor.get(home)
    assert visitor.post(f"{home}/send/count", TYPED).status_code == (200 if may else 403)
    assert len(sent(db)) == may


def test_nothing_is_sent_for_a_suspended_account_or_one_of_others(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    theirs = home_of(db, open_account(db, "chidi"))
    visitor.get(home)
    assert visitor.post(f"{theirs}/send", {**TYPED, **SENT}).status_code == 404
    assert visitor.post_as_it_is(f"{home}/send", data={**TYPED, **SENT}).status_code == 403
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    visitor.get(home)
    assert visitor.post(f"{home}/send", {**TYPED, **SENT}).status_code == 403
    assert sent(db) == []


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\t", "U+0009"),
        ("\u00a0", "U+00A0 NO-BREAK SPACE"),
        ("\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\u0301", "U+0301 COMBINING ACUTE ACCENT"),
    ],
)
def test_a_character_that_nobody_sees_is_named(
    visitor: Visitor, home: str, character: str, shown: str
) -> None:
    visitor.get(f"{home}/send")
    visitor.page = visitor.post(f"{home}/send/count", {"message": f"Hello{character}you"})
    assert f"{shown} makes it UCS-2, whose segments hold fewer characters." in text_of(visitor)
    assert character not in visitor.page.text
