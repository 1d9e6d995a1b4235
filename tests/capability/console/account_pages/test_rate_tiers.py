"""Operators see in the console how many requests each rate tier allows, and set it."""

import pytest

from heliograph import keys
from heliograph.base import clock
from heliograph.database import config
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from tests.support.console.logs import logged
from tests.support.console.operators import sign_in_operator
from tests.support.portal.visitor import Visitor

PATH = "/console/accounts/tiers"
BULK = {"do": "add", "tier": "bulk", "per_minute": "5 000", "reason": "contract 12"}


def allowed(db: Database) -> dict[str, int]:
    with db.read() as tx:
        return {tier.name: tier.per_minute for tier in keys.all_tiers(tx)}


def test_a_tier_is_added_changed_and_told_of_in_the_log(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    assert f'href="{PATH}"' in visitor.get("/console/accounts").text
    before = allowed(db)
    page = visitor.get(PATH).text
    assert all(f"<td>{name}</td>" in page for name in before)
    assert "within a second, for all keys of the tier, of every account" in page
    for changed in ({}, {"do": "change", "per_minute": "6000"}):
        done = visitor.post(PATH, BULK | changed)
        assert (done.status_code, done.headers["location"]) == (303, PATH)
        assert "Saved" in visitor.get(PATH).text
    assert allowed(db) == before | {"bulk": 6_000}
    late, early = logged(db)
    assert (early.action, early.account_id, early.record, early.before, early.after) == (
        "tier.set",
        None,
        "bulk",
        None,
        "5000 requests a minute",
    )
    assert (late.before, late.after) == (early.after, "6000 requests a minute")


def test_a_tier_that_is_so_already_is_told_of_quietly(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    visitor.get(PATH)
    answers = visitor.post_at_once(PATH, [BULK, BULK], config.bump)
    assert [answer.status_code for answer in answers] == [303, 303]
    visitor.post(PATH, BULK)
    assert "That was done already" in visitor.get(PATH).text
    assert len(logged(db)) == 1


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"tier": "Bulk Sender"}, "must have 1 to 32 of a-z, 0-9, - and _"),
        ({"tier": ""}, "must have 1 to 32 of a-z, 0-9, - and _"),
        ({"do": "change"}, "not &#39;bulk&#39;"),
        ({"do": "change", "tier": "standrad"}, "Did you mean standard?"),
        ({"do": "change", "tier": ""}, "must be one of free, "),
        ({"tier": "free"}, "is there already, with "),
        ({"per_minute": "0"}, 'id="per_minute-error"'),
        ({"per_minute": ""}, 'id="per_minute-error"'),
        ({"per_minute": "10000001"}, 'id="per_minute-error"'),
        ({"per_minute": "many"}, 'id="per_minute-error"'),
        ({"reason": ""}, 'id="reason-error"'),
    ],
)
def test_what_is_wrong_with_a_tier_is_said_at_its_field_and_what_was_typed_stays(
    visitor: Visitor, db: Database, form: dict[str, str], said: str
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(PATH)
    before = allowed(db)
    page = visitor.post(PATH, {**BULK, **form})
    assert (page.status_code, said in page.text) == (400, True)
    assert f'value="{ {**BULK, **form}["reason"] }"' in page.text
    assert allowed(db) == before
    assert list(logged(db)) == []


@pytest.mark.judged_in_python
def test_who_lacks_the_right_sees_tiers_and_sets_none(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    assert f'action="{PATH}"' not in visitor.get(PATH).text
    assert visitor.post(PATH, BULK).status_code == 403
    assert "bulk" not in allowed(db)


@pytest.mark.judged_in_python
def test_a_tier_takes_a_fresh_sign_in(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    visitor.get(PATH)
    clock.move(11 * 60_000)
    assert "Confirm that it is you" in visitor.post(PATH, BULK).text
    assert "bulk" not in allowed(db)
