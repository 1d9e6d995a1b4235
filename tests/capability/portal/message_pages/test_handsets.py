"""Handsets show what the simulator took: all of sandbox, one-time codes included, and of live mode
what a route leads there.
"""

import html
import re

import pytest

from heliograph import inbound
from heliograph.base import clock
from heliograph.carriers import ReceiptState
from heliograph.carriers.simulated_endings import simulated_ending
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.inbound.keywords import KeywordOwner, save_keyword_for
from heliograph.users import Role
from tests.support.api.service import Loop
from tests.support.factories import grant, open_account, open_carrier, open_route
from tests.support.portal.visitor import EMAIL, Visitor, home_of, once_in

HOSTILE = "<script>alert(1)</script> {{ 7 * 7 }} \u202egnp.exe"
ABROAD = "2348012345678"
ONE, OTHER = "233201234567", "233207654321"


def send(visitor: Visitor, home: str, to: str, text: str) -> None:
    visitor.get(f"{home}/send")
    fields = {"mode": "sandbox", "sender": "SANDBOX", "recipients": to, "message": text}
    assert visitor.post(f"{home}/send", fields | {"do": "send", "once": text}).status_code == 303


def test_a_phone_shows_its_texts_and_the_list_the_newest_of_each(
    visitor: Visitor, home: str
) -> None:
    assert "No text was sent in sandbox yet" in visitor.get(f"{home}/handsets").text
    for to, text in ((ONE, "first"), (OTHER, "second"), (ONE, HOSTILE)):
        send(visitor, home, to, text)
    listed = visitor.get(f"{home}/handsets").text
    assert listed.index(ONE) < listed.index(OTHER)
    assert html.escape(HOSTILE, quote=False) in listed
    assert "first" not in listed
    assert "2 texts" in listed
    texts = visitor.get(f"{home}/handsets/{ONE}").text
    assert texts.index("first") < texts.index(html.escape(HOSTILE, quote=False))
    assert "second" not in texts
    assert "<script>" not in texts


def test_a_phone_that_heard_nothing_is_empty_and_what_is_no_number_is_none(
    visitor: Visitor, home: str
) -> None:
    assert "Nothing has arrived here yet" in visitor.get(f"{home}/handsets/{ONE}").text
    for wrong in ("nobody", "1", "9" * 40, "%00"):
        assert visitor.get(f"{home}/handsets/{wrong}").status_code == 404


@pytest.mark.parametrize("role", list(Role))
def test_every_member_looks_and_only_who_may_send_is_offered_to(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    visitor.sign_in(EMAIL, amina_id, role)
    home = home_of(db, amina_id)
    for path in ("/handsets", f"/handsets/{ONE}"):
        page = visitor.get(home + path)
        assert (page.status_code, "Send a text" in page.text) == (200, role is not Role.VIEWER)


def test_a_link_fills_the_form_that_sends(visitor: Visitor, home: str) -> None:
    page = visitor.get(f"{home}/send?mode=sandbox&sender=SANDBOX&recipients={ONE}&message=%3Cb%3E")
    assert f'name="recipients" value="{ONE}"' in page.text
    assert "&lt;b&gt;</textarea>" in page.text


def test_the_phones_of_another_account_show_nothing(
    visitor: Visitor, stranger: Visitor, db: Database, home: str
) -> None:
    send(visitor, home, ONE, "for amina")
    chidi = open_account(db, "chidi")
    stranger.sign_in("kofi@example.com", chidi)
    for path in ("/handsets", f"/handsets/{ONE}"):
        assert "for amina" not in stranger.get(home_of(db, chidi) + path).text


def test_a_live_text_is_shown_only_if_its_route_leads_to_the_simulator(
    visitor: Visitor, db: Database, amina_id: str, home: str, cache: ConfigCache, run_loop: Loop
) -> None:
    send(visitor, home, ONE, "of the sandbox")
    grant(db, amina_id, credits=2)
    open_route(db)
    open_carrier(db, prefix=ABROAD[:3])
    run_loop(cache.refresh())
    for to, text in ((ONE, "to the simulator"), (ABROAD, "to a network")):
        fields = {"mode": "live", "sender": "AMINA", "recipients": to, "message": text}
        sent = visitor.post(f"{home}/send", {**fields, "do": "send", "once": text})
        assert sent.status_code == 303
    listed = visitor.get(f"{home}/handsets").text
    assert "to the simulator" in listed
    assert ABROAD not in listed
    texts = visitor.get(f"{home}/handsets/{ONE}").text
    assert texts.count(">live<") == 1
    assert texts.index("of the sandbox") < texts.index(">live<") < texts.index("to the simulator")
    assert "to a network" not in visitor.get(f"{home}/handsets/{ABROAD}").text


@pytest.mark.parametrize("phone", [ONE, "233201234002"])
def test_a_button_for_each_outcome_leads_to_a_number_that_has_it(
    visitor: Visitor, home: str, phone: str
) -> None:
    page = visitor.get(f"{home}/handsets/{phone}").text
    numbers = re.findall(r"recipients=(\d+)\">[a-z]", page)
    seen = {simulated_ending(number) for number in [*numbers, phone]}
    assert len(set(numbers) | {phone}) == 6
    assert {outcome.state for outcome in seen} == {
        ReceiptState.DELIVRD,
        ReceiptState.UNDELIV,
        ReceiptState.REJECTD,
        ReceiptState.EXPIRED,
    }
    assert {number[:-3] for number in numbers} == {phone[:-3]}
    for number in numbers:
        assert visitor.get(f"{home}/send?mode=sandbox&recipients={number}").status_code == 200


def write(visitor: Visitor, path: str, to: str, text: str, once: str = "") -> int:
    page = visitor.get(path)
    fields = {"to": to, "message": text, "once": once or once_in(page)}
    visitor.page = visitor.post(path, fields)
    return visitor.page.status_code


def test_a_phone_writes_and_is_read_in_its_conversation(
    visitor: Visitor, stranger: Visitor, db: Database, home: str
) -> None:
    path = f"{home}/handsets/{ONE}"
    send(visitor, home, ONE, "your order is ready")
    long = "Où êtes-vous ? 🙂 " * 30
    assert write(visitor, path, "sandbox SANDBOX", HOSTILE) == 303
    assert write(visitor, path, "sandbox SANDBOX", long) == 303
    shown = visitor.get(path).text
    assert shown.index("your order is ready") < shown.index(html.escape(HOSTILE, quote=False))
    assert long.strip() in shown
    assert "<script>" not in shown.replace("<script src", "")
    talk = visitor.get(f"{home}/conversations/{ONE}?mode=sandbox").text
    assert re.findall(r'<p dir="auto">([^<]*)</p>', talk)[0] == "your order is ready"
    assert long.strip() in talk
    assert "3 texts" in visitor.get(f"{home}/handsets").text
    chidi = open_account(db, "chidi")
    stranger.sign_in("kofi@example.com", chidi)
    for below in (f"handsets/{ONE}", "handsets", f"conversations/{ONE}?mode=sandbox"):
        assert long.strip() not in stranger.get(f"{home_of(db, chidi)}/{below}").text


def test_a_form_that_is_sent_twice_writes_once_and_two_phones_write_the_same(
    visitor: Visitor, home: str
) -> None:
    path = f"{home}/handsets/{ONE}"
    for _ in range(2):
        assert write(visitor, path, "sandbox SANDBOX", "yes", once="the same") == 303
    assert write(visitor, path, "sandbox SANDBOX", "yes") == 303
    assert write(visitor, f"{home}/handsets/{OTHER}", "sandbox SANDBOX", "yes") == 303
    assert visitor.get(path).text.count(">yes<") == 2
    assert visitor.get(f"{home}/handsets/{OTHER}").text.count(">yes<") == 1


def test_a_phone_writes_live_to_a_number_of_the_simulator_and_to_no_other(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    open_carrier(db, "gh-main")
    chidi = open_account(db, "chidi")
    with db.write() as tx:
        for digits, carrier, account in (
            ("4567", "simulator", amina_id),
            ("4568", "gh-main", amina_id),
            ("4569", "simulator", chidi),
        ):
            inbound.add_number(tx, digits, carrier, account, now_ms=clock.now_ms())
    path = f"{home}/handsets/{ONE}"
    for to in ("live 4568", "live 4569", "live SANDBOX", "sandbox 4567", ""):
        assert write(visitor, path, to, "hello") == 400, to
        assert 'id="to-error"' in visitor.page.text
    assert write(visitor, path, "live 4567", "hello") == 303
    assert "hello" in visitor.get(f"{home}/conversations/{ONE}?mode=live").text
    assert "hello" not in visitor.get(f"{home}/conversations/{ONE}?mode=sandbox").text
    assert ">live<" in visitor.get(path).text


def test_a_text_that_no_phone_could_send_is_refused_at_its_field(
    visitor: Visitor, home: str
) -> None:
    path = f"{home}/handsets/{ONE}"
    for text in ("", "x" * 1_531):
        assert write(visitor, path, "sandbox SANDBOX", text) == 400
        assert 'id="message-error"' in visitor.page.text


@pytest.mark.parametrize("role", list(Role))
def test_only_who_may_send_has_a_phone_write(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    visitor.sign_in(EMAIL, amina_id, role)
    path = f"{home_of(db, amina_id)}/handsets/{ONE}"
    assert ('name="once"' in visitor.get(path).text) == (role is not Role.VIEWER)
    answered = write(visitor, path, "sandbox SANDBOX", "hello", once="x")
    assert answered == (403 if role is Role.VIEWER else 303)


def test_a_phone_says_stop_and_start_in_sandbox_and_is_answered(
    visitor: Visitor, home: str
) -> None:
    path, talk = f"{home}/handsets/{ONE}", f"{home}/conversations/{ONE}?mode=sandbox"
    assert write(visitor, path, "sandbox SANDBOX", "Please stop texting me") == 303
    assert "seems to ask for no more texts" in visitor.get(talk).text
    assert "no text can be sent" not in visitor.get(talk).text
    assert write(visitor, path, "sandbox SANDBOX", "¡Stop!") == 303
    assert "This person has asked for no more texts" in visitor.get(talk).text
    assert "You will get no more texts from" in visitor.get(path).text
    assert write(visitor, path, "sandbox SANDBOX", "start") == 303
    assert "This person has asked for no more texts" not in visitor.get(talk).text


def test_own_keywords_of_the_sandbox_are_answered_there(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        for sandbox, reply in ((True, "Tried: rice."), (False, "Live: rice.")):
            body = {"keyword": "RICE", "reply": reply}
            save_keyword_for(tx, KeywordOwner(amina_id, sandbox), body, None, clock.now_ms())
    path = f"{home}/handsets/{ONE}"
    assert write(visitor, path, "sandbox SANDBOX", "rice!") == 303
    shown = visitor.get(path).text
    assert "Tried: rice." in shown
    assert "Live: rice." not in shown
