"""The browser, a choice and the user decide in which language a page is written."""

import pytest

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import mails
from tests.support.portal.visitor import EMAIL, Visitor


def language_of(visitor: Visitor, path: str = "/portal", accept: str = "") -> str:
    """Returns the language that a page and its headers say."""
    page = visitor.get(path, headers={"accept-language": accept})
    said = page.headers["content-language"]
    assert f'<html lang="{said}">' in page.text
    assert {"cookie", "accept-language"} <= set(page.headers["vary"].lower().split(", "))
    return said


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "en"),
        ("fr-CI, en;q=0.5", "fr"),
        ("en-GH, fr;q=0.9", "en"),
        ("fr;q=0.2, en;q=0.8", "en"),
        ("tw, fr;q=0.3", "fr"),
        ("tw", "en"),
        ("fr;q=much", "en"),
        ("," * 5_000, "en"),
    ],
)
def test_a_browser_says_which_language_it_prefers(
    visitor: Visitor, accept: str, expected: str
) -> None:
    assert language_of(visitor, accept=accept) == expected


def test_a_choice_comes_before_what_the_browser_prefers_and_a_users_before_both(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str
) -> None:
    assert visitor.get("/portal/language/fr?back=/portal").status_code == 303
    assert language_of(visitor, accept="en") == "fr"
    visitor.sign_in(EMAIL, amina_id)
    assert language_of(visitor, accept="en") == "fr"
    visitor.get("/portal/you")
    assert visitor.post("/portal/you/language", {"language": "en"}).status_code == 303
    assert language_of(visitor, accept="fr") == "en"
    visitor.get("/portal/you")
    assert visitor.post("/portal/you/language", {"language": "fr"}).status_code == 303
    stranger.sign_in(EMAIL, amina_id)  # in another browser, which has chosen nothing
    assert language_of(stranger, accept="en") == "fr"


@pytest.mark.parametrize("wrong", ["de", "", "FR", "../fr", "é" * 99])
def test_a_language_that_there_is_not_is_refused_and_changes_nothing(
    visitor: Visitor, amina_id: str, wrong: str
) -> None:
    visitor.sign_in(EMAIL, amina_id)
    visitor.get("/portal/you")
    assert visitor.post("/portal/you/language", {"language": wrong}).status_code == 400
    assert language_of(visitor) == "en"
    assert visitor.get(f"/portal/language/{wrong or 'x'}?back=/portal").status_code == 404
    assert language_of(visitor) == "en"


def test_a_link_leads_back_to_pages_of_the_portal_only(visitor: Visitor) -> None:
    for back in ("https://elsewhere.example/", "//elsewhere.example", "/portal/sign-up?a=b"):
        answer = visitor.get("/portal/language/fr", params={"back": back})
        assert answer.headers["location"].startswith("/portal"), back


def test_a_mail_is_in_the_language_of_its_receiver(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    visitor.sign_in(EMAIL, amina_id)
    visitor.get("/portal/you")
    assert visitor.post("/portal/you/language", {"language": "fr"}).status_code == 303
    with db.write() as tx:
        mails.mail_link(tx, EMAIL, now_ms=clock.now_ms(), language="en")
        assert mails.judge_link_request(tx, now_ms=clock.now_ms())
        mail = mails.take_due(tx, now_ms=clock.now_ms())
    assert mail is not None
    assert mail.language == "fr"
