"""The operator makes, finds, changes and suspends accounts."""

from collections.abc import Callable
from typing import Any

import pytest

from heliograph import accounts
from heliograph.base import ids
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.database.database import Database
from tests.support.capability.cast import NOW_MS, account, epoch


def test_an_account_is_found_by_its_id_and_by_its_name(db: Database) -> None:
    owner = account(db, "Amina Foods")
    customer = account(db, "bilal", parent_id=owner.id)
    assert accounts.text_id(owner).startswith("acc_")
    assert accounts.text_id(customer).startswith("cus_")
    with db.read() as tx:
        for whose in (owner, customer):
            assert (
                accounts.find(tx, whose.name)
                == accounts.find(tx, accounts.text_id(whose))
                == accounts.by_id(tx, whose.id)
                == whose
            )


def test_an_id_with_the_other_kinds_prefix_is_not_found(db: Database) -> None:
    owner = account(db)
    with db.read() as tx, pytest.raises(NotFound):
        accounts.find(tx, ids.text_of_raw("cus", owner.id))


def test_a_name_that_several_have_is_refused_with_their_ids(db: Database) -> None:
    first, second = account(db, "amina"), account(db, "amina")
    with db.read() as tx, pytest.raises(InvalidRequest) as refusal:
        accounts.find(tx, "amina")
    assert {accounts.text_id(first), accounts.text_id(second)} <= set(
        refusal.value.message.replace(",", "").rstrip(".").split()
    )


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("name", "country"),
    [
        ("", "GH"),
        ("a" * 129, "GH"),
        ("a\nb", "GH"),
        ("a\0b", "GH"),
        ("amina", "GHA"),
        ("amina", "ZZ"),
        ("amina", "ß"),
        ("acc_1", "GH"),
        (" cus_shop", "GH"),
    ],
)
def test_an_account_that_cannot_be_is_refused(db: Database, name: str, country: str) -> None:
    with db.write() as tx, pytest.raises(InvalidRequest):
        accounts.create(tx, name, country, now_ms=NOW_MS)
    with db.read() as tx:
        assert accounts.page(tx, limit=10) == []


def test_pages_are_newest_first_and_go_on_where_the_last_one_ended(db: Database) -> None:
    made = []
    for k in range(5):
        with db.write() as tx:
            made.append(accounts.create(tx, f"amina {k}", "GH", now_ms=NOW_MS + k))
    with db.read() as tx:
        first = accounts.page(tx, limit=3)
        rest = accounts.page(tx, limit=3, before_id=first[-1].id)
    assert first + rest == made[::-1]


def test_settings_are_set_one_by_one_and_taken_back(db: Database) -> None:
    owner = account(db)
    with db.write() as tx:
        changed = accounts.change(
            tx, owner.id, countries=["ng", "GH", "NG"], daily_credits=500, time_zone="Africa/Accra"
        )
        assert (
            changed
            == owner._replace(countries=("GH", "NG"), daily_credits=500, time_zone="Africa/Accra")
            == accounts.by_id(tx, owner.id)
        )
        assert accounts.change(
            tx, owner.id, countries=None, daily_credits=None, time_zone="UTC"
        ) == owner._replace(daily_credits=None)


@pytest.mark.parametrize(
    "settings",
    [
        {"countries": []},
        {"countries": ["GHANA"]},
        {"daily_credits": -1},
        {"daily_credits": 10**13},
        {"time_zone": "Accra"},
        {"time_zone": "../etc/passwd"},
        {"time_zone": "Africa"},
    ],
)
def test_a_setting_that_cannot_be_is_refused(db: Database, settings: Any) -> None:
    owner = account(db)
    with db.write() as tx, pytest.raises(InvalidRequest, match=next(iter(settings))):
        accounts.change(tx, owner.id, **settings)


def test_an_account_is_suspended_and_resumed_as_often_as_one_likes(db: Database) -> None:
    owner = account(db)
    with db.write() as tx:
        assert [accounts.suspend(tx, owner.id).status for _ in range(2)] == ["suspended"] * 2
        assert [accounts.resume(tx, owner.id) for _ in range(2)] == [owner] * 2


@pytest.mark.parametrize(
    "change",
    [
        accounts.suspend,
        accounts.resume,
        lambda tx, account_id: accounts.change(tx, account_id, daily_credits=3),
    ],
)
def test_every_change_is_told_to_all_processes_and_a_missing_account_is_not_found(
    db: Database, change: Callable[..., accounts.Account]
) -> None:
    owner, before = account(db), epoch(db)
    with db.write() as tx:
        change(tx, owner.id)
    assert epoch(db) > before
    with db.write() as tx, pytest.raises(NotFound):
        change(tx, "0" * 32)
