"""The form that writes a campaign down refuses some values, and offers senders."""

import html
import re

import pytest

from heliograph import senders
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users.sign_ins import IDLE_MS
from tests.support.capability.campaigns import add_contacts
from tests.support.portal.campaign_pages import FORM, HOSTILE, those_of, words_of
from tests.support.portal.visitor import EMAIL, SITE, Visitor


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"sender": ""}, "sender"),
        ({"sender": "CHIDI"}, "sender"),
        ({"sender": "SANDBOX"}, "sender"),
        ({"message": ""}, "message"),
        ({"message": "Hi {name"}, "message"),
        ({"message": "x" * 4_001}, "message"),
        ({"audience": "numbers"}, "audience"),
        ({"audience": "tags"}, "tags"),
        ({"tags": "gold"}, "tags"),
        ({"audience": "tags", "tags": "a|b"}, "tags"),
        ({"audience": "tags", "tags": "\n".join(map(str, range(51)))}, "tags"),
    ],
    ids=str,
)
def test_what_cannot_be_written_down_is_told_at_its_field_and_kept(
    visitor: Visitor, db: Database, amina_id: str, home: str, fields: dict[str, str], at: str
) -> None:
    visitor.get(f"{home}/campaigns/new")
    page = visitor.post(f"{home}/campaigns/new", {**FORM, "name": HOSTILE, **fields})
    assert page.status_code == 400
    assert f'id="{at}-error"' in page.text
    assert f'name="name" value="{html.escape(fields.get("name", HOSTILE))}"' in page.text
    assert f">\n{html.escape(fields.get('message', FORM['message']))}</textarea>" in page.text
    assert "<script>" not in page.text
    assert those_of(db, amina_id) == []


@pytest.mark.judged_in_python
def test_the_senders_are_those_of_the_mode(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        senders.register(tx, amina_id, "WAITS", sandbox=False, now_ms=clock.now_ms())
        senders.register(tx, amina_id, "TRIAL", sandbox=True, now_ms=clock.now_ms())

    def offered(query: str) -> list[str]:
        page = visitor.get(f"{home}/campaigns/new{query}").text
        return re.findall(r"<option(?: selected)?>([^<]+)</option>", page)

    assert offered("") == offered("?mode=<script>") == ["AMINA"]
    assert offered("?mode=sandbox") == ["AMINA", "SANDBOX", "TRIAL"]
    visitor.post(f"{home}/campaigns/new", {**FORM, "sender": "TRIAL", "mode": "sandbox"})
    assert [(made.sender, made.sandbox) for made in those_of(db, amina_id)] == [("TRIAL", True)]
    refused = visitor.post(f"{home}/campaigns/new", {**FORM, "mode": "test"})
    assert "mode must be one of live, sandbox" in html.unescape(refused.text)


def test_a_campaign_begins_with_the_sender_that_texts_usually_come_from(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        early = senders.register(tx, amina_id, "4567", sandbox=False, now_ms=clock.now_ms())
        senders.approve(tx, early.id, now_ms=clock.now_ms())

    def chosen(path: str) -> list[str]:
        page = visitor.get(f"{home}/campaigns/new{path}").text
        return re.findall(r"<option selected>([^<]+)</option>", page)

    assert chosen("") == chosen("/import") == ["AMINA"]  # the oldest, and not the first by name
    with db.write() as tx:
        senders.make_default(tx, amina_id, senders.text_id(early))
    assert chosen("") == chosen("/import") == ["4567"]


def test_three_recipients_are_shown_before_anything_is_stored(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    people = [
        {"phone": phone, "name": name, "tags": [tag], "opted_out": out}
        for phone, name, tag, out in (
            ("233200000001", "Ama", "gold", False),
            ("233200000002", "Kofi", "gold", True),
            ("233200000003", "Efua", "silver", False),
            ("233200000004", None, "gold", False),
        )
    ]
    add_contacts(db, amina_id, people)
    visitor.get(f"{home}/campaigns/new")
    typed = {"message": "Hi {name|friend}", "audience": "tags", "tags": "gold"}
    part = words_of(visitor.post(f"{home}/campaigns/new/preview", typed).text)
    who_gets_what = "233200000001, Ama Hi Ama 1 segment 233200000004 Hi friend 1 segment"
    assert part == f"What recipients get {who_gets_what}"
    page = visitor.post(f"{home}/campaigns/new", {**typed, "do": "preview"})
    assert (page.status_code, "Hi friend" in page.text) == (200, True)
    assert those_of(db, amina_id) == []
    for typed, says in (
        ({"message": "Hi {name"}, "that is not part of a placeholder"),
        ({"message": ""}, ""),
        ({"message": "Hi", "audience": "tags"}, ""),
        ({"message": "Hi", "mode": "sandbox"}, "Nobody to show"),
        ({"message": "Hi", "mode": "test"}, ""),
    ):
        part = words_of(visitor.post(f"{home}/campaigns/new/preview", typed).text)
        assert says in part
        assert says or not part


def test_a_form_that_is_filled_in_shows_its_preview_at_once(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    add_contacts(db, amina_id, [{"phone": "233200000000", "name": "Ama", "tags": ["gold"]}])
    path = f"{home}/campaigns/new"
    fields = {**FORM, "message": "Hi {name}, we open.", "audience": "tags", "tags": "gold\r\nnew"}
    visitor.get(path)
    draft = visitor.post(path, fields).headers["location"].rpartition("/")[2]
    like = visitor.get(f"{path}?from={draft}")
    assert ">Hi Ama, we open.</blockquote>" in like.text
    assert visitor.get(path).text.count("</blockquote>") == 0
    clock.move(IDLE_MS)  # what was typed is kept until somebody is signed in again
    visitor.page = visitor.post(path, fields, headers={"Referer": f"{SITE}{path}"})
    assert visitor.page.status_code == 401
    visitor.sign_in(EMAIL, amina_id)
    assert ">Hi Ama, we open.</blockquote>" in visitor.get(path).text


def _filled_in(page: str) -> dict[str, str]:
    """Returns what the form of a page is filled in with: what it would send but for its tokens."""
    [form] = re.findall(r'<form [^>]*id="campaign".*?</form>', page, re.DOTALL)
    found = dict(re.findall(r'<textarea name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL))
    for tag in re.findall(r"<input [^>]*>", form):
        is_radio = 'type="radio"' in tag
        named = re.search(r'name="(\w+)".* value="([^"]*)"', tag)
        if named and (not is_radio or " checked" in tag):
            found[named[1]] = named[2]
    found["sender"] = re.findall(r"<option selected>([^<]+)</option>", form)[0]
    return {
        name: html.unescape(found.get(name, ""))
        for name in (*FORM, "mode", "tags", "phone_column", "country_code")
    }


def test_what_was_typed_stays_in_the_other_mode_and_on_the_page_for_a_file(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    typed = {**FORM, "name": "May", "mode": "sandbox", "audience": "tags", "tags": "gold\nnew"}
    new, file = f"{home}/campaigns/new", f"{home}/campaigns/new/import"
    shown = visitor.get(f"{new}?mode=sandbox").text
    for path, mode, more in (
        (new, "live", {}),
        (file, "live", {"phone_column": "Handy", "country_code": "GH"}),
        (file, "sandbox", {}),
        (new, "sandbox", {}),
        (new, "live", {}),
    ):
        assert f'formaction="{path}?mode={mode}"' in shown, "a button leads there"
        page = visitor.post(f"{path}?mode={mode}", {**typed, "show_mode": mode})
        shown, typed = page.text, {**typed, "mode": mode}
        assert page.status_code == 200
        assert f'data-page-of-form="{path}?mode={mode}"' in shown
        assert {name: value for name, value in _filled_in(shown).items() if value} == typed
        typed |= more
    assert those_of(db, amina_id) == []
    refused = visitor.post(new, {**typed, "show_mode": "test"})
    assert "must be one of live, sandbox" in html.unescape(refused.text)
    assert visitor.post(new, typed).status_code == 303
    [made] = those_of(db, amina_id)
    assert (made.name, made.sandbox, made.audience.tags) == ("May", False, ("gold", "new"))


def test_tags_beside_all_contacts_are_refused_in_one_sentence(visitor: Visitor, home: str) -> None:
    why = "must be blank where the audience is all contacts: choose the contacts with these tags,"
    french = "doit rester vide si le public est l’ensemble des contacts : choisissez les contacts"
    for language, says in (("en", why), ("fr", french)):
        visitor.get(f"/portal/language/{language}")
        visitor.get(f"{home}/campaigns/new")
        page = visitor.post(f"{home}/campaigns/new", {**FORM, "tags": "gold"})
        assert page.status_code == 400
        [told] = re.findall(r'id="tags-error">(.*?)</span>', page.text, re.DOTALL)
        assert says in html.unescape(told).replace("\xa0", " ")
        assert _filled_in(page.text)["tags"] == "gold"
