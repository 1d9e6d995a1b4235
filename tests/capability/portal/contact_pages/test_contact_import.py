"""A file of contacts is uploaded in the portal, and a page says what became of its rows."""

import html
import re

import httpx
import pytest

from heliograph import accounts
from heliograph.accounts import quotas
from heliograph.database.database import Database
from heliograph.portal.contact_pages.contact_import import ROWS_MAX
from heliograph.portal.uploaded_form import UPLOAD_OCTETS_MAX
from heliograph.users import Role
from tests.support.factories import open_account
from tests.support.portal.stored_contacts import stored, those_of, upload
from tests.support.portal.visitor import EMAIL, Visitor, home_of

SHEET = """phone;name;tags;opted_out;city;#<script>
0201234568;Ama Owusu;vip|accra;yes;Accra;x
12;<script>;;;;
0201234567;Kofi;;;;
0201234568;Ama;vip;;;
"""


def figures_on(page: httpx.Response) -> dict[str, int]:
    found = re.findall(r"<dt>([\w ]+)</dt><dd>(\d+)</dd>", page.text)
    return {name: int(number) for name, number in found}


def test_a_file_is_stored_and_each_row_that_is_left_out_says_why(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    before = stored(db, amina_id, name="K. Mensah", custom={"size": "L"})
    visitor.get(f"{home}/contacts/import")
    page = upload(visitor, home, SHEET)
    assert page.status_code == 200
    assert figures_on(page) == {"New": 1, "Changed": 1, "Repeated": 1, "Left out": 1}
    said = html.unescape(page.text)
    assert "<script>" not in page.text
    assert 'data-name="Line">3</td><td class="why spans">phone must be a phone number' in said
    assert "Line 5 repeats the phone of an earlier one, and counts instead of it." in said
    for columns in ("phone, name, tags, opted_out", "city", "#<script>"):
        assert f"<dd>{columns}</dd>" in said
    ama, kofi = those_of(db, amina_id)
    assert (ama.name, ama.tags, ama.opted_out, ama.custom) == ("Ama", ("vip",), True, {})
    assert (kofi.id, kofi.name, kofi.custom) == (before.id, "Kofi", {"size": "L"})


def test_columns_of_other_names_are_named_and_those_they_replace_are_left_alone(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    sheet = (
        "phone;Handy No;wer;name;Gruppe\n0302000000;0201234567;Kofi;x;vip|accra\n"
        "0302000000;0201234568;Ama;x;\n"
    )
    visitor.get(f"{home}/contacts/import")
    columns = {"phone_column": "handy no", "name_column": "wer", "tags_column": "Gruppe"}
    page = upload(visitor, home, sheet, **columns)
    assert figures_on(page) == {"New": 2, "Changed": 0, "Repeated": 0, "Left out": 0}
    assert "<dd>phone (Handy No), name (wer), tags (Gruppe)</dd>" in page.text
    assert "<dd>phone, name</dd>" in page.text  # not read
    ama, kofi = those_of(db, amina_id)
    assert (kofi.phone, kofi.name, kofi.tags) == ("233201234567", "Kofi", ("vip", "accra"))
    assert (ama.phone, ama.name, ama.tags, ama.custom) == ("233201234568", "Ama", (), {})
    page = upload(visitor, home, sheet, phone_column="tel", name_column="wer")
    assert page.status_code == 400
    said = html.unescape(page.text)
    assert (
        "must be a column of the file (phone, Handy No, wer, name, Gruppe), not 'tel'"
        in said.replace('"', "'")
    )
    assert 'id="phone_column-error"' in said
    assert 'name="name_column" value="wer"' in said


def test_a_country_and_a_mode_are_chosen(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/contacts/import?mode=sandbox")
    assert re.search(r"<option selected>sandbox</option>", visitor.page.text)
    upload(visitor, home, "phone\n08031234567\n", mode="sandbox", country_code=" ng ")
    assert [contact.phone for contact in those_of(db, amina_id, sandbox=True)] == ["2348031234567"]
    assert those_of(db, amina_id) == []


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("text", "fields", "at", "why"),
    [
        ("", {}, "file", "is required"),
        ("name,<script>\nKofi,\n", {}, "file", "must be phone"),
        (f"phone\n0201234567\n{'x' * 70_000}\n", {}, "file", "Line 3 has more than 65536"),
        ("phone\n" + "0201234567\n" * (ROWS_MAX + 1), {}, "file", "at most 20,000 rows"),
        ("phone\n0201234567\n", {"country_code": "XX"}, "country_code", "such as GH, not 'XX'"),
        ("phone\n0201234567\n", {"mode": "test"}, "mode", "must be one of live, sandbox"),
        (b"\xff\xfep\x00", {}, "file", "The file is UTF-16"),
        (b"PK\x03\x04\x14\x00", {}, "file", "The file is a workbook"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_file_that_cannot_be_imported_is_told_at_its_field_and_stores_nothing(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    text: str,
    fields: dict[str, str],
    at: str,
    why: str,
) -> None:
    visitor.get(f"{home}/contacts/import")
    page = upload(visitor, home, text, **fields)
    assert page.status_code == 400
    said = re.search(f'id="{at}-error">([^<]*)<', page.text)
    assert said is not None, page.text
    assert why in html.unescape(said[1])
    assert "<script>" not in page.text
    assert those_of(db, amina_id) == []


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"x" * (UPLOAD_OCTETS_MAX + 1), "multipart/form-data; boundary=b", 413),
        (b"no form", "multipart/form-data; boundary=b", 400),
        (b"--b\r\n", "multipart/form-data", 400),
        (b"file=x", "application/x-www-form-urlencoded", 400),
        (b"", "", 400),
    ],
    ids=["too long", "no parts", "no boundary", "no multipart", "nothing"],
)
def test_an_upload_that_cannot_be_read_is_refused(
    visitor: Visitor, home: str, body: bytes, content_type: str, status: int
) -> None:
    answer = visitor.post_as_it_is(
        f"{home}/contacts/import", content=body, headers={"content-type": content_type}
    )
    assert answer.status_code == status


@pytest.mark.parametrize("form", ["contacts/import", "campaigns/new/import"])
def test_a_file_that_is_too_large_is_told_at_its_field_with_what_was_typed_before(
    visitor: Visitor, db: Database, amina_id: str, home: str, form: str
) -> None:
    def send(**fields: str) -> httpx.Response:
        return visitor.post_as_it_is(
            f"{home}/{form}", data=fields, files={"file": ("c.csv", b"x" * UPLOAD_OCTETS_MAX)}
        )

    visitor.get(f"{home}/{form}")
    page = send(form_token=visitor.token, country_code="NG")
    assert page.status_code == 413
    assert "must have at most 4 MiB, not 4.01 MiB" in page.text
    assert 'id="file-error"' in page.text
    assert 'name="country_code" value="NG"' in page.text
    foreign = send(country_code="NG")
    assert foreign.status_code == 413
    assert "NG" not in foreign.text, "what another site has sent is not shown"
    visitor.sign_in(EMAIL, amina_id, Role.VIEWER)
    visitor.get(home)
    assert send(form_token=visitor.token).status_code == 403


def test_who_has_stored_enough_today_is_told_how_far_the_file_came(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        quotas.set_quotas(tx, amina_id, {quotas.StoredKind.CONTACTS: 1})
    visitor.get(f"{home}/contacts/import")
    page = upload(visitor, home, SHEET)
    assert "The import stopped" in page.text
    assert "up to line 1 of the file" in page.text
    assert those_of(db, amina_id) == []


@pytest.mark.parametrize("role", list(Role))
def test_only_who_works_with_contacts_imports_a_file(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    visitor.sign_in(EMAIL, amina_id, role)
    home = home_of(db, amina_id)
    may = role in (Role.OWNER, Role.MARKETER)
    assert ("Import a file" in visitor.get(f"{home}/contacts").text) == may
    assert visitor.get(f"{home}/contacts/import").status_code == (200 if may else 403)
    visitor.get(home)
    assert upload(visitor, home, "phone\n0201234567\n").status_code == (200 if may else 403)
    assert len(those_of(db, amina_id)) == may


def test_nobody_else_imports_a_file(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    sheet = "phone\n0201234567\n"
    visitor.get(home)
    assert upload(visitor, home_of(db, chidi), sheet).status_code == 404
    files = {"file": ("contacts.csv", sheet.encode())}
    forged = visitor.post_as_it_is(f"{home}/contacts/import", files=files)
    assert forged.status_code == 403
    assert "does not come from this site" in forged.text
    stranger.get("/portal/sign-in")
    huge = "x" * (UPLOAD_OCTETS_MAX + 1)
    assert upload(stranger, home, huge).status_code == 401  # and nothing of it was read
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    visitor.get(home)
    assert upload(visitor, home, sheet).status_code == 403
    assert (those_of(db, chidi), those_of(db, amina_id)) == ([], [])
