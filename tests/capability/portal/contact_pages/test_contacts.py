"""Contacts in the portal are searched in a list and added with a form; one contact is changed, opts
out and in, or is removed.
"""

import html
import re

import httpx
import pytest

from heliograph import accounts, contacts
from heliograph.accounts import quotas
from heliograph.database.database import Database
from heliograph.users import Role
from tests.support.factories import open_account, phones
from tests.support.portal.hostile import forms_of
from tests.support.portal.stored_contacts import path_of, stored, those_of
from tests.support.portal.visitor import EMAIL, Visitor, home_of

NOBODYS = "con_01k5zq3a7ee4s8t5wd1p0n9rjb"
HOSTILE = "<script>alert(1)</script>"


def phones_on(page: httpx.Response) -> list[str]:
    assert page.status_code == 200, page.text
    return re.findall(r'/contacts/con_[0-9a-z]{26}">(\d+)</a>', page.text)


def form_of(page: httpx.Response) -> dict[str, str]:
    """Returns what the form that changes a contact is filled in with."""
    found = re.findall(r'<input name="([^"]+)" value="([^"]*)"', page.text)
    tags = re.search(r"<textarea[^>]*>\n(.*)</textarea>", page.text, re.DOTALL)
    assert tags is not None
    fields = {html.unescape(name): html.unescape(value) for name, value in found}
    return {**fields, "tags": html.unescape(tags[1])}


def test_contacts_are_listed_newest_first_and_searched_in_each_mode(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert "no live contact yet" in visitor.get(f"{home}/contacts").text
    stored(db, amina_id, name="Kofi Mensah", tags=["vip"])
    stored(db, amina_id, phone="233201234568", email="ama@example.com")
    stored(db, amina_id, phone="233201234569", sandbox=True)
    assert phones_on(visitor.get(f"{home}/contacts")) == ["233201234568", "233201234567"]
    assert phones_on(visitor.get(f"{home}/contacts?mode=sandbox")) == ["233201234569"]
    for needle in ("MENSAH", "vip", "4567"):
        assert phones_on(visitor.get(f"{home}/contacts?q={needle}")) == ["233201234567"]
    assert phones_on(visitor.get(f"{home}/contacts?q=%25")) == []
    assert "No live contact is like that" in visitor.page.text


def test_every_contact_is_on_one_page_of_the_list_and_of_a_search(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    for phone in phones(25):
        stored(db, amina_id, phone=phone, tags=["vip"])
    for query in ("limit=10", "limit=10&q=vip"):
        pages = list(visitor.pages(f"{home}/contacts?{query}"))
        seen = [phone for page in pages for phone in phones_on(page)]
        assert (len(pages), seen) == (3, phones(25)[::-1])


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("mode=test", "must be one of live, sandbox, not 'test'"),
        (f"q={'x' * 257}", 'id="q-error">must have 1 to 256 characters'),
        ("colour=red", "colour is not a query parameter here"),
        ("cursor=x", "must be the next_cursor of an earlier page"),
    ],
)
def test_a_search_that_the_api_refuses_is_refused_with_its_words(
    visitor: Visitor, home: str, query: str, why: str
) -> None:
    page = visitor.get(f"{home}/contacts?{query}")
    assert page.status_code == 400
    assert why in html.unescape(page.text)


def test_a_contact_is_added_and_changed_with_all_that_it_has(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/contacts/new")
    answer = visitor.post(
        f"{home}/contacts/new",
        {
            "phone": " 0201234567 ",
            "name": "Kofi",
            "email": "kofi@example.com",
            "tags": "vip\r\n\r\n Accra, north \r\n",
            "new_name_1": "city",
            "new_value_1": "Accra",
            "new_name_3": "a = b",
            "new_value_3": "é \u200d",
        },
    )
    [made] = those_of(db, amina_id)
    assert (answer.status_code, answer.headers["location"]) == (303, path_of(home, made))
    assert (made.phone, made.name, made.email) == ("233201234567", "Kofi", "kofi@example.com")
    assert made.tags == ("vip", "Accra, north")
    assert made.custom == {"city": "Accra", "a = b": "é \u200d"}
    # the form as it is changes nothing
    form = form_of(visitor.get(path_of(home, made)))
    assert visitor.post(path_of(home, made), {**form, "do": "change"}).status_code == 303
    assert those_of(db, amina_id) == [made]
    # what is emptied is cleared, and other fields stay
    changes = {"name": "", "tags": "", "custom a = b": "", "phone": "233201234568"}
    visitor.post(path_of(home, made), {**form, **changes, "do": "change"})
    [changed] = those_of(db, amina_id)
    assert (changed.id, changed.phone, changed.name) == (made.id, "233201234568", None)
    assert (changed.email, changed.tags) == ("kofi@example.com", ())
    assert changed.custom == {"city": "Accra"}


def test_a_form_puts_nothing_back_that_a_program_has_changed_meanwhile(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    long = "a long value " * 30
    custom = {"city": "Accra", "note": long, "old": "1", "mine": "1"}
    made = stored(db, amina_id, name="Kofi", tags=["vip", "new"], custom=custom)
    path = path_of(home, made)
    page = visitor.get(path)
    [hidden] = (form.hidden for form in forms_of(page.text) if "shown_phone" in form.hidden)
    as_shown = hidden | form_of(page) | {"tags": "vip\r\nnew", "do": "change"}
    theirs = {
        "name": "Kofi Mensah",
        "tags": "vip",
        "custom city": "Kumasi",
        "custom note": long.upper(),
        "custom old": "",
        "new_name_1": "region",
        "new_value_1": "Ashanti",
    }
    assert visitor.post(path, as_shown | theirs).status_code == 303
    mine = {"email": "kofi@example.com", "custom mine": ""}
    assert visitor.post(path, as_shown | mine).status_code == 303
    [changed] = those_of(db, amina_id)
    assert (changed.name, changed.email) == ("Kofi Mensah", "kofi@example.com")
    assert changed.tags == ("vip",)
    assert changed.custom == {"city": "Kumasi", "note": long.upper().strip(), "region": "Ashanti"}


def test_a_phone_that_is_there_is_changed_and_nothing_that_is_blank(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made = stored(db, amina_id, sandbox=True, name="Kofi", tags=["vip"], custom={"city": "Accra"})
    visitor.get(f"{home}/contacts/new?mode=sandbox")
    visitor.post(
        f"{home}/contacts/new", {"phone": made.phone, "mode": "sandbox", "email": "k@example.com"}
    )
    [changed] = those_of(db, amina_id, sandbox=True)
    assert changed._replace(email=None, updated_at_ms=0) == made._replace(updated_at_ms=0)
    assert changed.email == "k@example.com"
    assert those_of(db, amina_id) == []


WRONG = [
    ({}, "phone", "must not be null: a contact is known by it"),
    ({"phone": "12"}, "phone", "must be a phone number in international digits"),
    ({"phone": "0241234567", "country_code": "XX"}, "country_code", "XX"),
    ({"name": "x" * 129}, "name", "must have 1 to 128 characters, not 129"),
    ({"email": HOSTILE}, "email", "must be an email address"),
    ({"tags": f"ok\n{'x' * 65}"}, "tags", "tag 2 must have 1 to 64 characters, not 65"),
    ({"tags": "\n".join(map(str, range(51)))}, "tags", "must have at most 50 tags, not 51"),
    ({"new_name_1": "city"}, "custom", "city must have 1 to 500 characters, not 0"),
    ({"new_value_2": "Accra"}, "custom", "must have 1 to 64 characters, not 0"),
    ({"new_name_1": "name", "new_value_1": "x"}, "custom", "must not be called name"),
    ({"custom city": "x" * 501}, "custom", "city must have 1 to 500 characters, not 501"),
    (
        {"custom city": "Accra", "new_name_1": "city", "new_value_1": "Lagos"},
        "custom",
        "has 'city' twice",
    ),
    ({f"custom {n}": "x" for n in range(51)}, "custom", "must have at most 50 fields, not 51"),
]


@pytest.mark.judged_in_python
@pytest.mark.parametrize(("fields", "at", "why"), WRONG, ids=[why for _, _, why in WRONG])
def test_what_the_api_refuses_is_told_at_its_field_and_kept(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    fields: dict[str, str],
    at: str,
    why: str,
) -> None:
    made = stored(db, amina_id)
    for path, form in (
        (path_of(home, made), {"do": "change", **({"phone": made.phone} if fields else {})}),
        (f"{home}/contacts/new", {"phone": "233209999999"} if fields else {}),
    ):
        visitor.get(path)
        page = visitor.post(path, {**form, **fields})
        assert page.status_code == 400
        said = re.search(f'id="{at}-error">([^<]*)<', page.text)
        assert said is not None, page.text
        assert (why if fields or "new" not in path else "is required") in html.unescape(said[1])
        kept = form_of(page)
        assert {name: kept[name] for name in fields} == fields
        assert "<script>" not in page.text
    assert those_of(db, amina_id) == [made]


def test_the_phone_of_another_contact_is_refused(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made, other = stored(db, amina_id), stored(db, amina_id, phone="233201234568")
    form = form_of(visitor.get(path_of(home, made)))
    page = visitor.post(path_of(home, made), {**form, "phone": other.phone, "do": "change"})
    assert page.status_code == 400
    assert 'id="phone-error">is another contact&#39;s<' in page.text
    assert those_of(db, amina_id) == [other, made]


def test_who_has_stored_enough_today_keeps_what_was_typed_and_opts_out(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made = stored(db, amina_id)
    with db.write() as tx:
        quotas.set_quotas(tx, amina_id, {quotas.StoredKind.CONTACTS: 1})
    path = path_of(home, made)
    for where, do in ((path, "change"), (f"{home}/contacts/new", "")):
        visitor.get(where)
        page = visitor.post(where, {"phone": "0201234568", "name": "Kofi", "do": do})
        assert page.status_code == 400
        assert "The contact is not stored." in page.text
        assert form_of(page)["name"] == "Kofi"
    assert those_of(db, amina_id) == [made]
    assert visitor.post(path, {"do": "opt_out"}).status_code == 303
    assert those_of(db, amina_id)[0].opted_out
    # else somebody could opt in and out for ever, and each time is recorded
    assert visitor.post(path, {"do": "opt_in"}).status_code == 400
    assert those_of(db, amina_id)[0].opted_out


def test_a_contact_opts_out_and_in_and_is_removed(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made = stored(db, amina_id, sandbox=True, name="Kofi")
    path = path_of(home, made)
    for do, is_out in (("opt_out", True), ("opt_in", False), ("opt_out", True)):
        visitor.get(path)
        assert visitor.post(path, {"do": do}).headers["location"] == path
        [changed] = those_of(db, amina_id, sandbox=True)
        assert (changed.opted_out, changed.name) == (is_out, "Kofi")
        assert ("leave this contact out" in visitor.get(path).text) == is_out
    assert "The phone stays opted out" in visitor.get(f"{path}/remove").text
    answer = visitor.post(f"{path}/remove")
    assert answer.headers["location"] == f"{home}/contacts?mode=sandbox"
    assert those_of(db, amina_id, sandbox=True) == []
    assert visitor.get(path).status_code == 404


@pytest.mark.parametrize("role", list(Role))
def test_only_who_works_with_contacts_changes_one(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    made = stored(db, amina_id, custom={"city": "Accra"})
    visitor.sign_in(EMAIL, amina_id, role)
    home = home_of(db, amina_id)
    path, may = path_of(home, made), role in (Role.OWNER, Role.MARKETER)
    assert "Accra" in visitor.get(path).text
    assert (">Opt out<" in visitor.page.text) == may
    assert ("Add a contact" in visitor.get(f"{home}/contacts").text) == may
    for asked in (f"{home}/contacts/new", f"{path}/remove"):
        assert visitor.get(asked).status_code == (200 if may else 403)
    visitor.get(home)
    new = {"phone": "233201234568"}
    for where, fields in (
        (f"{home}/contacts/new", new),
        (path, {"do": "opt_out"}),
        (f"{path}/remove", {}),
    ):
        before = those_of(db, amina_id)
        assert visitor.post(where, fields).status_code == (303 if may else 403)
        assert (those_of(db, amina_id) != before) == may


def test_a_suspended_account_looks_and_changes_nothing(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made = stored(db, amina_id)
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    assert phones_on(visitor.get(f"{home}/contacts")) == [made.phone]
    path = path_of(home, made)
    visitor.get(path)
    for where, fields in (
        (f"{home}/contacts/new", {"phone": "233201234568"}),
        (path, {"do": "opt_out"}),
        (f"{path}/remove", {}),
    ):
        refused = visitor.post(where, fields)
        assert refused.status_code == 403
        assert "This account is suspended" in refused.text
    assert those_of(db, amina_id) == [made]


def test_a_contact_of_another_account_is_like_none(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    theirs = stored(db, chidi)
    assert phones_on(visitor.get(f"{home}/contacts?q={theirs.phone}")) == []
    for contact_id in (contacts.text_id(theirs), NOBODYS, "con_x"):
        path = f"{home}/contacts/{contact_id}"
        assert "There is no such contact." in visitor.get(path).text
        visitor.get(home)
        for do in ("opt_out", "change"):
            assert visitor.post(path, {"do": do, "phone": "233201234568"}).status_code == 404
        # as for one that was removed already
        for removed in (visitor.post(f"{path}/remove"), visitor.get(f"{path}/remove")):
            assert (removed.status_code, removed.headers["location"]) == (303, f"{home}/contacts")
    assert visitor.get(f"{home_of(db, chidi)}/contacts").status_code == 404
    assert visitor.post_as_it_is(f"{home}/contacts/new", data={"phone": "1"}).status_code == 403
    assert (those_of(db, chidi), those_of(db, amina_id)) == ([theirs], [])


def test_what_people_have_written_is_never_markup(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    tag = "</textarea>" + HOSTILE
    made = stored(db, amina_id, name=HOSTILE, tags=[tag], custom={f'"><{HOSTILE}': f'"{HOSTILE}'})
    path = path_of(home, made)
    for shown in (f"{home}/contacts?q=script", path, f"{path}/remove"):
        page = visitor.get(shown)
        assert page.status_code == 200
        assert "<script>" not in page.text
        assert html.escape(HOSTILE) in page.text
    form = form_of(visitor.get(path))
    assert visitor.post(path, {**form, "do": "change"}).status_code == 303
    page = visitor.post(path, {**form, "do": HOSTILE, "new_name_1": HOSTILE})
    assert page.status_code == 400
    assert "<script>" not in page.text
    assert those_of(db, amina_id) == [made]


@pytest.mark.judged_in_python
def test_a_contact_with_all_that_it_may_have_fits_into_the_form(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made = stored(
        db,
        amina_id,
        name="😀" * 128,
        tags=[f"{n:02}" + "😀" * 62 for n in range(50)],
        custom={f"{n:02}" + "😀" * 62: "😀" * 500 for n in range(50)},
    )
    form = form_of(visitor.get(path_of(home, made)))
    assert visitor.post(path_of(home, made), {**form, "name": "K", "do": "change"}).text == ""
    assert those_of(db, amina_id)[0]._replace(updated_at_ms=0) == made._replace(
        name="K", updated_at_ms=0
    )
