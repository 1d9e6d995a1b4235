"""A campaign to a large audience is priced by a sample on its page, and launched all the same."""

from importlib import import_module
from typing import Final

import pytest

from heliograph import campaigns
from heliograph.database.database import Database
from tests.support.capability.campaigns import add_contacts, now, write_down
from tests.support.factories import grant, open_route, phones
from tests.support.portal.campaign_pages import path_of, words_of
from tests.support.portal.visitor import Visitor

# the module; the package has its function under the same name
quick_quotes: Final = import_module("heliograph.campaigns.quick_quote")


@pytest.fixture
def ready(db: Database, amina_id: str) -> None:
    """Amina has ten credits, a route, and five contacts, one of whom has opted out."""
    open_route(db)
    grant(db, amina_id, 10)
    tags: list[list[str]] = [["gold"], ["gold"], ["new"], [], []]
    people = [
        {"phone": phone, "tags": tags[place], "opted_out": place == 1}
        for place, phone in enumerate(phones(5))
    ]
    add_contacts(db, amina_id, people)


@pytest.mark.usefixtures("ready")
def test_a_large_audience_is_estimated_and_launched_all_the_same(
    visitor: Visitor, db: Database, amina_id: str, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_quotes, "FILLED_IN_MAX", 4)
    draft = write_down(db, amina_id, message="Hi {nmae}")
    page = words_of(visitor.get(path_of(home, draft)).text)
    assert "Recipients about 4 Segments about 4 Credits about 4 Credits left about 6" in page
    assert "Estimated from 5 people of this audience, because it is large." in page
    assert "None of the 5 people whom the price is estimated from has a value for {nmae}" in page
    path = f"{path_of(home, draft)}/launch"
    assert "Work out the exact price" in visitor.get(path).text
    exact = visitor.post(f"{path}/price")
    assert exact.status_code == 200
    assert "4 segments from AMINA to 4 recipients" in words_of(exact.text)
    assert "Launch it as far as" not in exact.text
    assert "Work out the exact price" not in exact.text
    monkeypatch.setattr(quick_quotes, "PRICED_WHEN_ASKED_MAX", 4)
    assert "about 4 segments" in words_of(visitor.post(f"{path}/price").text)
    asked = words_of(visitor.get(path).text)
    assert "Work out the exact price" not in asked
    assert "about 4 segments from AMINA to about 4 recipients" in asked
    assert "Estimated from 5 people of this audience" in asked
    assert "the campaign fails to start, unless you say that it may begin." in asked
    assert "Launch it as far as the credits reach." in asked
    few = write_down(db, amina_id, tags=["gold", "new"])
    page = words_of(visitor.get(path_of(home, few)).text)
    assert "Recipients 2 Segments 2 Credits 2 Credits left 8" in page  # 3 of the 5 contacts
    answer = visitor.post(f"{path_of(home, draft)}/launch")
    assert (answer.status_code, answer.headers["location"]) == (303, path_of(home, draft))
    assert campaigns.start_due(db) == [draft.id]


@pytest.mark.usefixtures("ready")
def test_a_sample_in_which_nobody_can_be_sent_to_refuses_no_launch(
    visitor: Visitor, db: Database, amina_id: str, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_quotes, "PRICED_WHEN_ASKED_MAX", 4)
    empty = write_down(db, amina_id, message="{nmae}")
    visitor.get(f"{path_of(home, empty)}/launch")
    assert visitor.post(f"{path_of(home, empty)}/launch").status_code == 303
    assert campaigns.start_due(db) == []
    assert now(db, empty).status_reason == "no_recipients"


@pytest.mark.usefixtures("ready")
def test_an_estimate_that_the_credits_do_not_reach_for_is_refused_at_once(
    visitor: Visitor, db: Database, amina_id: str, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_quotes, "PRICED_WHEN_ASKED_MAX", 4)
    dear = write_down(db, amina_id, message="x" * 612)
    visitor.get(f"{path_of(home, dear)}/launch")
    refused = visitor.post(f"{path_of(home, dear)}/launch")
    assert refused.status_code == 402
    assert "Missing about 6" in words_of(refused.text)
    assert "takes about 16 credits; the wallet holds 10." in words_of(refused.text)
    assert now(db, dear).status == "draft"
    as_far = {"as_far_as_credits_reach": "yes"}
    assert visitor.post(f"{path_of(home, dear)}/launch", as_far).status_code == 303
    assert campaigns.start_due(db) == [dear.id]


@pytest.mark.usefixtures("ready")
def test_an_estimate_that_may_be_too_high_refuses_no_launch(
    visitor: Visitor, db: Database, amina_id: str, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_quotes, "PRICED_WHEN_ASKED_MAX", 4)
    monkeypatch.setattr(quick_quotes, "ADDED_UP_MAX", 4)
    near = write_down(db, amina_id, message="x" * 459)
    asked = words_of(visitor.get(f"{path_of(home, near)}/launch").text)
    assert "Missing about 2" in asked
    assert "the campaign fails to start, unless you say that it may begin." in asked
    assert visitor.post(f"{path_of(home, near)}/launch").status_code == 303
    assert campaigns.start_due(db) == []
    assert now(db, near).status_reason == "insufficient_credits"
