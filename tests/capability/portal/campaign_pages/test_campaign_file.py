"""A campaign to the numbers of a file is made in the portal, and a page says what became of its
lines.
"""

import html
import re

import httpx
import pytest
import sqlalchemy as sa

from heliograph import campaigns
from heliograph.campaigns import tables
from heliograph.database.database import Database
from heliograph.portal.campaign_pages import campaign_file
from tests.support.capability.campaigns import write_down
from tests.support.factories import SENDER, open_account, phones
from tests.support.portal.campaign_pages import HOSTILE, those_of, words_of
from tests.support.portal.visitor import Visitor, once_in

FORM = {"name": "Spring", "sender": SENDER, "message": "Hi {first name|friend} in {city}"}
SHEET = """first name;mobile no;city
Ama;0201234568;Accra
<script>;12;Tema
;0201234567;Kumasi
Ama;0201234568;Accra
"""


def upload(visitor: Visitor, home: str, text: str, **fields: str) -> httpx.Response:
    path = f"{home}/campaigns/new/import"
    once = once_in(visitor.get(path))
    file = {"file": ("numbers.csv", text.encode(), "text/csv")}
    return visitor.post(path, {**FORM, "once": once, **fields}, files=file)


def test_a_file_becomes_a_draft_and_each_line_that_is_left_out_says_why(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    page = upload(visitor, home, SHEET, phone_column="Mobile no")
    assert page.status_code == 200
    figures = dict(re.findall(r"<dt>([\w ]+)</dt><dd>(\d+)</dd>", page.text))
    assert figures == {"Lines": "4", "Recipients": "2", "Repeated": "1", "Left out": "1"}
    said = words_of(page.text)
    assert "<script>" not in page.text
    assert "3 It says '12', which is not a valid number." in said.replace('"', "'")
    assert "233201234567 Hi friend in Kumasi 1 segment" in said
    assert "233201234568 Hi Ama in Accra 1 segment" in said
    (draft,) = those_of(db, amina_id)
    assert (draft.status, draft.audience.kind, draft.sandbox) == ("draft", "numbers", False)


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("sheet", "fields", "at", "says"),
    [
        (SHEET, {}, "file", "header must name the column of the numbers phone"),
        (SHEET, {"phone_column": "tel"}, "phone_column", "first name, mobile no, city"),
        (SHEET, {"phone_column": "mobile no", "message": "{town}"}, "file", "asks for {town}"),
        (SHEET, {"message": "Hi {"}, "message", "is not part of a placeholder"),
        (SHEET, {"sender": "CHIDI"}, "sender", "must be one that is approved"),
        (SHEET, {"country_code": "XX"}, "country_code", "XX"),
        ("", {}, "file", "is required"),
        ("phone\n12\n", {"message": "Hi"}, "file", "The file's only row cannot be sent to; line 2"),
        ("phone\n12\n1\n", {"message": "Hi"}, "file", "None of the file's 2 lines can be sent to"),
    ],
    ids=str,
)
def test_what_cannot_be_read_makes_no_campaign_and_is_told_at_its_field(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    sheet: str,
    fields: dict[str, str],
    at: str,
    says: str,
) -> None:
    page = upload(visitor, home, sheet, name=HOSTILE, **fields)
    assert page.status_code == 400
    found = re.search(rf'id="{at}-error">(.*?)</span>', page.text, re.DOTALL)
    assert found, page.text
    assert says in html.unescape(found[1])
    assert html.escape(HOSTILE) in page.text
    assert those_of(db, amina_id) == []


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("sheet", "why"),
    [
        (
            "phone\n12\n",
            "ligne de données du fichier ne peut recevoir d’envoi ; la ligne 2 contient",
        ),
        ("phone\n12\n1\n", "(sur 2) ne peut recevoir d’envoi ; la ligne 2 contient '12', qui"),
        ("phone,city\n,Accra\n", "ne peut recevoir d’envoi ; la ligne 2 n’a pas de numéro"),
        ("phone\n233201234567,1\n", "la ligne 2 a 2 colonnes ; l’en-tête en a 1"),
    ],
)
def test_why_nobody_of_a_file_gets_a_text_is_said_in_french(
    visitor: Visitor, home: str, sheet: str, why: str
) -> None:
    visitor.get("/portal/language/fr")
    page = upload(visitor, home, sheet, message="Hi")
    [told] = re.findall(r'id="file-error">(.*?)</span>', page.text, re.DOTALL)
    assert why in html.unescape(told).replace("\xa0", " ").replace("\u202f", " ")
    assert 'lang="en"' not in told


@pytest.mark.judged_in_python
def test_a_file_with_more_numbers_than_a_page_takes_is_refused(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(campaign_file, "NUMBERS_MAX", 1_500)
    page = upload(visitor, home, "\n".join(phones(1_501)), message="Hi")
    assert "The file has more than 1,500 numbers" in page.text
    monkeypatch.setattr(campaign_file, "NUMBERS_MAX", 3)
    page = upload(visitor, home, "\n".join(phones(4)), message="Hi")
    assert "The file has more than 3 numbers" in page.text
    assert those_of(db, amina_id) == []
    assert upload(visitor, home, "\n".join(phones(3)), message="Hi").status_code == 200


def test_of_many_bad_lines_a_hundred_are_listed_and_all_are_counted(
    visitor: Visitor, home: str
) -> None:
    page = upload(visitor, home, "phone\n" + "1\n" * 150 + "233201234567", message="Hi")
    assert page.text.count('<td class="why spans">') == 100
    assert "<dt>Left out</dt><dd>150</dd>" in page.text
    assert "… and 50 more." in page.text


def test_a_file_that_is_uploaded_twice_makes_one_draft(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    once = once_in(visitor.get(f"{home}/campaigns/new/import"))
    assert upload(visitor, home, "phone\n12\n", message="Hi", once=once).status_code == 400
    assert upload(visitor, home, SHEET, phone_column="Mobile no", once=once).status_code == 200
    again = upload(visitor, home, SHEET, phone_column="Mobile no", once=once)
    (draft,) = those_of(db, amina_id)
    path = f"{home}/campaigns/{campaigns.text_id(draft)}"
    assert (again.status_code, again.headers["location"]) == (303, path)
    other = upload(
        visitor, home, SHEET + "Esi;0201234569;Ho\n", phone_column="Mobile no", once=once
    )
    assert (other.status_code, len(those_of(db, amina_id))) == (409, 1)
    assert "was sent before" in other.text
    assert upload(visitor, home, SHEET, phone_column="Mobile no").status_code == 200
    assert len(those_of(db, amina_id)) == 2


def test_another_one_like_it_asks_for_its_file_again_and_never_goes_to_all_contacts(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    text = "Hi {city}\nfrom us"
    typed = {"message": text, "name": HOSTILE, "mode": "sandbox", "sender": "SANDBOX"}
    assert upload(visitor, home, SHEET, phone_column="Mobile no", **typed).status_code == 200
    (draft,) = those_of(db, amina_id)
    link = f"{home}/campaigns/new?from={campaigns.text_id(draft)}"
    assert link in visitor.get(f"{home}/campaigns/{campaigns.text_id(draft)}").text
    led_to = visitor.get(link)
    path = f"{home}/campaigns/new/import?from={campaigns.text_id(draft)}"
    assert (led_to.status_code, led_to.headers["location"]) == (303, path)
    form = visitor.get(path).text
    assert f"The file of {html.escape(HOSTILE)} is not kept. Choose it again" in form
    assert f'name="name" value="{html.escape(HOSTILE)}"' in form
    assert f">\n{text}</textarea>" in form
    assert "<option selected>SANDBOX</option>" in form
    assert 'name="audience" value="" hidden' in form
    assert "<script>" not in form
    theirs = campaigns.text_id(write_down(db, open_account(db, "chidi")))
    other = f"{home}/campaigns/new/import?from={theirs}"
    assert visitor.get(other).status_code == 404


def test_a_draft_and_the_question_before_its_launch_say_for_good_what_was_left_out(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    numbers = "".join(f"{number},Ho\n" for number in phones(5))
    sheet = f"phone,city\n{numbers}{phones(1)[0]},Ho\n" + "12,Ho\n" * 297
    sheet += ",Ho\n12,Ho,x\n" + "233201234599," + "x" * 1_531 + "\n"
    assert upload(visitor, home, sheet, message="Hi {city}").status_code == 200
    (draft,) = those_of(db, amina_id)
    path = f"{home}/campaigns/{campaigns.text_id(draft)}"
    for page in (path, f"{path}/launch"):
        said = words_of(visitor.get(page).text)
        told = re.search(r"300 of 306 lines were left out \((.*?)\)\.", said)
        assert told, said
        first, *others = told[1].split(", ", 1)
        assert first == "not a valid number: 297", "what is most frequent stands first"
        assert re.fullmatch(r"(no number|more col.*|a value .*): 1.*: 1.*: 1", others[0])
    assert "Repeated 1 of 306 lines" in words_of(visitor.get(path).text)
    visitor.get("/portal/language/fr")
    french = words_of(visitor.get(path).text).replace("\xa0", " ").replace("\u202f", " ")
    assert "300 lignes sur 306 ont été écartées (numéro non valide : 297, " in french
    visitor.get("/portal/language/en")
    visitor.get(path)
    visitor.post(path, {"do": "cancel", "once": once_in(visitor.get(path))})
    assert "Left out 300 of 306 lines were left out" in words_of(visitor.get(path).text)


def test_a_draft_whose_file_was_read_whole_says_nothing_of_lines(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert upload(visitor, home, "\n".join(phones(3)), message="Hi").status_code == 200
    (draft,) = those_of(db, amina_id)
    assert draft.audience.file == (3, 0, {})
    page = visitor.get(f"{home}/campaigns/{campaigns.text_id(draft)}").text
    assert "left out" not in page
    assert "Repeated" not in page
    with db.write() as tx:  # as campaigns of earlier versions are stored
        audience = '{"kind": "numbers", "tags": [], "whole": true}'
        tx.execute(sa.update(tables.campaigns).values(audience=audience))
    again = visitor.get(f"{home}/campaigns/{campaigns.text_id(draft)}")
    assert (again.status_code, "left out" in again.text) == (200, False)
