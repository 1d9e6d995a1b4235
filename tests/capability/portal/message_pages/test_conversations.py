"""Conversations show both directions in order of time, each account's and mode's own, and answer by
the use case of POST /sms/send.
"""

import csv
import html
import io
import re

import pytest
import sqlalchemy as sa

from heliograph import inbound, opt_outs, senders
from heliograph.base import clock, ids
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.inbound import conversations
from heliograph.messages.tables import answering_sends, messages
from heliograph.opt_outs import OptOutOwner, OptOutSource
from heliograph.users import Role
from tests.support.api.inbound_texts import store_inbound
from tests.support.api.service import Loop
from tests.support.factories import grant, open_account, open_route
from tests.support.portal.hostile import HOSTILE, structure_of
from tests.support.portal.stored_contacts import stored
from tests.support.portal.visitor import EMAIL, Visitor, home_of, once_in

ONE, OTHER = "233201234567", "233207654321"


def wrote(db: Database, account: str, text: str, phone: str = ONE, *, sandbox: bool = True) -> str:
    with db.write() as tx:
        return store_inbound(tx, account, text, sender=phone, sandbox=sandbox)


def answer(visitor: Visitor, path: str, text: str, mode: str = "sandbox", **more: str) -> int:
    page = visitor.get(f"{path}?mode={mode}")
    fields = {"mode": mode, "sender": "SANDBOX", "message": text, "once": once_in(page)}
    visitor.page = visitor.post(path, fields | {"do": "send"} | more)
    return visitor.page.status_code


def test_a_conversation_shows_both_directions_in_order_and_the_list_what_was_said_last(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    wrote(db, amina_id, "is it open")
    wrote(db, amina_id, "from the other", OTHER)
    path = f"{home}/conversations/{ONE}"
    assert answer(visitor, path, "until six") == 303
    assert visitor.page.headers["location"] == f"{path}?mode=sandbox"
    wrote(db, amina_id, "thanks")
    assert answer(visitor, path, "see you") == 303
    assert answer(visitor, f"{home}/conversations/{OTHER}", "to the other") == 303
    shown = visitor.get(f"{path}?mode=sandbox").text
    assert re.findall(r'<p dir="auto">(.*?)</p>', shown) == [
        *("is it open", "until six", "thanks", "see you")
    ]
    assert "from the other" not in shown
    listed = visitor.get(f"{home}/conversations?mode=sandbox").text
    assert listed.index(ONE) < listed.index(OTHER)
    assert "see you" in listed
    assert "to the other" in listed
    assert "thanks" not in listed
    assert "until six" not in listed
    assert "thanks" not in visitor.get(f"{home}/conversations?mode=live").text


def test_a_file_has_every_text_of_the_account_and_mode_and_no_formula(
    visitor: Visitor, db: Database, amina_id: str, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliograph.inbound.texts_file.PAGE", 3)
    said = [f'text {k}, "so"\nand on' for k in range(7)]
    for text in said:
        wrote(db, amina_id, text)
    wrote(db, amina_id, "=HYPERLINK(1)", "+SUM(1)")
    live = wrote(db, amina_id, "live", sandbox=False)
    wrote(db, open_account(db, "chidi"), "chidi's")

    def rows(mode: str) -> list[dict[str, str]]:
        page = visitor.get(f"{home}/conversations/export?mode={mode}")
        assert page.headers["content-type"].startswith("text/csv")
        return list(csv.DictReader(io.StringIO(page.text)))

    found = rows("sandbox")
    assert [row["text"] for row in found] == ["'=HYPERLINK(1)", *reversed(said)]
    assert found[0]["from"] == "'+SUM(1)"
    assert (found[1]["from"], found[1]["complete"], found[1]["in_reply_to"]) == (ONE, "yes", "")
    assert [row["text"] for row in rows("live")] == ["live"]
    assert live
    assert visitor.get(f"{home}/conversations/export?mode=x").status_code == 400
    listed = visitor.get(f"{home}/conversations?mode=sandbox").text
    assert f"{home}/conversations/export?mode=sandbox" in listed


def test_the_list_names_each_phone_once_however_its_texts_lie(
    visitor: Visitor, db: Database, amina_id: str, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    phones = [f"23320000{k:04}" for k in range(9)]
    monkeypatch.setattr(conversations, "LOOKED_AT_MAX", 7)
    for text in range(4):
        for phone in phones:
            wrote(db, amina_id, f"text {text}", phone)
    for _ in range(11):
        wrote(db, amina_id, "again", phones[3])
    found: list[str] = []
    for page in visitor.pages(f"{home}/conversations?mode=sandbox&limit=2"):
        found += re.findall(r"<bdi>(\d{12})</bdi>", page.text)
    assert found == [phones[3], *(phone for phone in reversed(phones) if phone != phones[3])]


def test_a_long_conversation_is_paged_without_a_gap(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    path, texts = f"{home}/conversations/{ONE}", [f"text {k}" for k in range(7)]
    for text in texts[:3]:
        wrote(db, amina_id, text)
    assert answer(visitor, path, texts[3]) == 303
    for text in texts[4:]:
        wrote(db, amina_id, text)
    found: list[str] = []
    for page in visitor.pages(f"{path}?mode=sandbox&limit=2"):
        found = [*re.findall(r'<p dir="auto">(.*?)</p>', page.text), *found]
    assert found == texts


def test_nobody_sees_what_was_written_to_another_account(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    text_id = wrote(db, amina_id, "for amina alone")
    assert "for amina alone" in visitor.get(f"{home}/conversations/{text_id}?mode=sandbox").text
    chidi = open_account(db, "chidi")
    stranger.sign_in("kofi@example.com", chidi)
    theirs = home_of(db, chidi)
    for below in ("", f"/{ONE}"):
        for mode in ("live", "sandbox"):
            page = stranger.get(f"{theirs}/conversations{below}?mode={mode}")
            assert page.status_code == 200
            assert "for amina alone" not in page.text
    for named in (text_id, "nobody", "inb_x", "0123", "9" * 16):
        assert stranger.get(f"{theirs}/conversations/{named}").status_code == 404


@pytest.mark.parametrize("role", list(Role))
def test_every_member_reads_and_who_may_send_answers(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    wrote(db, amina_id, "is it open")
    visitor.sign_in(EMAIL, amina_id, role)
    path = f"{home_of(db, amina_id)}/conversations/{ONE}"
    page = visitor.get(f"{path}?mode=sandbox")
    assert "is it open" in page.text
    assert ('name="once"' in page.text) == (role is not Role.VIEWER)
    fields = {"mode": "sandbox", "sender": "SANDBOX", "message": "x", "once": "x", "do": "send"}
    assert visitor.post(path, fields).status_code == (403 if role is Role.VIEWER else 303)


def test_an_answer_comes_from_what_the_phone_wrote_to_if_texts_may_come_from_it(
    visitor: Visitor, db: Database, amina_id: str, home: str, cache: ConfigCache, run_loop: Loop
) -> None:
    open_route(db)
    grant(db, amina_id, credits=5)
    wrote(db, amina_id, "is it open", sandbox=False)
    path = f"{home}/conversations/{ONE}"
    page = visitor.get(f"{path}?mode=live").text
    assert "This phone wrote to 4567" in page
    assert re.findall(r"<option[^>]*>(\w+)", page) == ["AMINA"]
    with db.write() as tx:
        made = senders.register(tx, amina_id, "4567", sandbox=False, now_ms=clock.now_ms())
        senders.approve(tx, made.id, now_ms=clock.now_ms())
    run_loop(cache.refresh())
    page = visitor.get(f"{path}?mode=live").text
    assert "This phone wrote to" not in page
    assert re.findall(r"<option[^>]*>(\w+)", page) == ["4567", "AMINA"]
    assert answer(visitor, path, "until six", "live", sender="4567") == 303
    assert "until six" in visitor.get(f"{path}?mode=live").text
    with db.read() as tx:
        newest = conversations.newest_of(tx, amina_id, ONE, sandbox=False)
        answered = tx.execute(sa.select(answering_sends.c.inbound_id)).scalars().all()
    assert newest is not None
    assert answered == [newest.id], "what the form sends names the text that it answers"


def test_what_the_api_refuses_is_told_at_its_field_and_what_was_typed_stays(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    wrote(db, amina_id, "is it open")
    path = f"{home}/conversations/{ONE}"
    assert answer(visitor, path, "") == 400
    assert 'id="message-error"' in visitor.page.text
    assert answer(visitor, path, "kept as typed", sender="NOBODY") == 400
    assert "is not approved" in html.unescape(visitor.page.text)
    assert "kept as typed</textarea>" in visitor.page.text
    assert answer(visitor, path, "what is it", do="count") == 200
    assert "1 segment" in visitor.page.text
    # whom a form says to send to is not asked: the path says it
    assert answer(visitor, path, "to whom", recipients=OTHER) == 303
    assert "to whom" in visitor.get(f"{path}?mode=sandbox").text


def test_a_phone_is_looked_for_as_people_write_it(visitor: Visitor, home: str) -> None:
    for typed, phone in (("020 123 4567", ONE), (f"+{ONE}", ONE), ("4040", "4040")):
        led = visitor.get(f"{home}/conversations", params={"mode": "sandbox", "phone": typed})
        assert led.status_code == 303
        assert led.headers["location"] == f"{home}/conversations/{phone}?mode=sandbox"
    wrong = visitor.get(f"{home}/conversations", params={"phone": "nobody"})
    assert wrong.status_code == 400
    assert "must be a phone number in international digits" in wrong.text
    assert 'value="nobody"' in wrong.text


def test_a_name_a_binary_an_incomplete_and_an_erased_text_are_told_as_what_they_are(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        store_inbound(tx, amina_id, "AAEC", sender="A/B ../?", encoding="binary")
        store_inbound(tx, amina_id, None)
        store_inbound(tx, amina_id, "the half", parts=2)
    listed = visitor.get(f"{home}/conversations?mode=live").text
    path = html.unescape(
        re.findall(r'href="([^"]+)">\s*<span class="who"><strong><bdi>A/B ../\?', listed)[0]
    )
    page = visitor.get(path).text
    assert "No text, but 3 octets." in page
    assert "it cannot be answered" in page
    page = visitor.get(f"{home}/conversations/{ONE}?mode=live").text
    assert "This text was erased." in page
    assert "1 of 2 parts came" in page


def test_a_contact_is_called_by_its_name(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    wrote(db, amina_id, "hello", sandbox=False)
    stored(db, amina_id, name="Ama Mensah")
    for below in ("", f"/{ONE}"):
        page = visitor.get(f"{home}/conversations{below}?mode=live").text
        assert "<bdi>Ama Mensah</bdi>" in page
        assert ONE in page


def test_hostile_texts_stay_texts(visitor: Visitor, db: Database, amina_id: str, home: str) -> None:
    phones = [f"23320000{k:04}" for k in range(len(HOSTILE))]
    paths = [f"{home}/conversations?mode=sandbox", f"{home}/conversations/{phones[0]}?mode=sandbox"]
    with db.write() as tx:
        for phone in phones:
            store_inbound(tx, amina_id, "x", sender=phone, sandbox=True)
        for _ in HOSTILE:
            store_inbound(tx, amina_id, "x", sender=phones[0], sandbox=True)
    before = [structure_of(visitor.get(path).text) for path in paths]
    # no text is stored with a NUL
    texts = [text.replace("\0", "?") for text in HOSTILE]
    with db.write() as tx:
        for phone, text in zip(phones, texts, strict=True):
            store_inbound(tx, amina_id, text, sender=phone, sandbox=True)
        tx.exec_driver_sql("DELETE FROM inbound WHERE text = 'x'")
        for text in texts:
            store_inbound(tx, amina_id, text, sender=phones[0], sandbox=True)
    assert [structure_of(visitor.get(path).text) for path in paths] == before


def test_a_phone_is_opted_out_beside_its_conversation_and_in_again(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    wrote(db, amina_id, "please stop texting me")
    path = f"{home}/conversations/{ONE}"
    owner = OptOutOwner(amina_id, sandbox=True)
    assert answer(visitor, path, "we have heard you") == 303
    asked = visitor.get(f"{path}?mode=sandbox").text
    assert "What is queued for it, other than these, is withdrawn and refunded." in asked
    for _ in range(2):
        assert visitor.post(f"{path}/opt-out", {"mode": "sandbox", "do": "add"}).status_code == 303
        with db.read() as tx:
            found = tx.execute(sa.select(messages.c.error_code)).scalars().all()
        assert set(found) == {"blocked"}, "what was queued for it is withdrawn"
    with db.read() as tx:
        assert opt_outs.find_suppressed(tx, owner, [ONE]) == {ONE: OptOutSource.PORTAL}
        assert not opt_outs.is_suppressed(tx, OptOutOwner(amina_id, sandbox=False), ONE)
    page = visitor.get(f"{path}?mode=sandbox")
    assert "opted out</span>" in page.text
    assert 'name="message"' not in page.text
    fields = {"mode": "sandbox", "sender": "SANDBOX", "message": "hello", "once": "x", "do": "send"}
    answered = visitor.post(path, fields)
    assert answered.status_code == 400, "what the API refuses, the page refuses"
    assert "hello" not in visitor.get(f"{home}/messages?mode=sandbox").text
    visitor.get(f"{path}?mode=sandbox")
    assert visitor.post(f"{path}/opt-out", {"mode": "sandbox", "do": "remove"}).status_code == 303
    assert answer(visitor, path, "welcome back") == 303
    log = visitor.get(f"{home}/audit").text
    assert log.count("Opted a phone out") == 1
    assert log.count("Lifted the opt-out of a phone") == 1
    wrong = visitor.post(f"{path}/opt-out", {"mode": "sandbox", "do": "x"})
    assert wrong.status_code == 400


def test_who_has_opted_out_and_asks_for_help_is_answered_as_often_as_by_the_api(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    """What came behind the text that asks for help does not keep it from being answered."""
    path, owner = f"{home}/conversations/{ONE}", OptOutOwner(amina_id, sandbox=True)
    with db.write() as tx:
        helped = store_inbound(tx, amina_id, "HELP", sender=ONE, sandbox=True, keyword="help")
        now_ms = clock.now_ms()
        opt_outs.suppress(tx, owner, [ONE], source=OptOutSource.KEYWORD, now_ms=now_ms)
    wrote(db, amina_id, "is anybody there")
    page = visitor.get(f"{path}?mode=sandbox").text
    assert "it has asked for help, so it can still be answered" in page
    assert "Opt in again" in page
    assert answer(visitor, path, "How can we help?", do="count") == 200
    assert "1 segment" in visitor.page.text
    assert "Price" in visitor.page.text or "credit" in visitor.page.text
    for text in ("How can we help?", "We have called you."):
        assert answer(visitor, path, text) == 303
    with db.read() as tx:
        answered = set(tx.execute(sa.select(answering_sends.c.inbound_id)).scalars())
    assert answered == {ids.raw_of_text(inbound.INBOUND_PREFIX, helped)}
    page = visitor.get(f"{path}?mode=sandbox").text
    assert 'name="message"' not in page, "the API refuses a third answer"
    assert "none can be sent to this phone" in page
    with db.write() as tx:
        store_inbound(tx, amina_id, "AIDE", sender=ONE, sandbox=True, keyword="aide")
    assert answer(visitor, path, "Once more") == 303
    clock.move(by_ms=clock.DAY_MS + 1)
    try:
        assert 'name="message"' not in visitor.get(f"{path}?mode=sandbox").text
    finally:
        clock.move(by_ms=-clock.DAY_MS - 1)


def test_what_has_no_phone_number_cannot_be_opted_out(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    named = wrote(db, amina_id, "an offer", "MTN")
    page = visitor.get(f"{home}/conversations/{named}?mode=sandbox")
    assert "Opt out" not in page.text
    sent = visitor.post(f"{home}/conversations/{named}/opt-out", {"mode": "sandbox", "do": "add"})
    assert sent.status_code == 404
