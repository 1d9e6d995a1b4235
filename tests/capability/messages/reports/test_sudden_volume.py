"""Some accounts send far more than they used to by this hour."""

import pytest

from heliograph.base import clock
from heliograph.base.clock import DAY_MS, HOUR_MS
from heliograph.database.database import Database
from heliograph.messages.reports.sudden_volume import LEAST, SuddenVolume, sudden_volumes
from tests.support.factories import open_account
from tests.support.portal.rolled_up import rolled_up


@pytest.fixture(autouse=True)
def _noon() -> None:
    clock.move(by_ms=DAY_MS - clock.now_ms() % DAY_MS + 12 * HOUR_MS)


def found(db: Database) -> list[SuddenVolume]:
    with db.read() as tx:
        return sudden_volumes(tx, clock.now_ms())


def test_an_account_is_named_whose_morning_has_three_times_as_many_as_its_mornings_before(
    db: Database, amina_id: str
) -> None:
    now_ms = clock.now_ms()
    for day in range(1, 8):
        rolled_up(db, amina_id, now_ms - day * DAY_MS - 2 * HOUR_MS, delivered=300)
        rolled_up(db, amina_id, now_ms - day * DAY_MS + 2 * HOUR_MS, delivered=90_000)
    rolled_up(db, amina_id, now_ms - 8 * DAY_MS - 2 * HOUR_MS, delivered=90_000)
    rolled_up(db, amina_id, now_ms - 2 * HOUR_MS, delivered=800, failed=50)
    assert found(db) == []
    rolled_up(db, amina_id, now_ms - HOUR_MS, sent=50)
    assert found(db) == [SuddenVolume(amina_id, 900, 300.0)]
    assert found(db)[0].times == 3


def test_what_is_little_or_of_the_sandbox_or_of_yesterday_is_not_named(
    db: Database, amina_id: str
) -> None:
    now_ms = clock.now_ms()
    rolled_up(db, amina_id, now_ms, sent=LEAST - 1)
    rolled_up(db, amina_id, now_ms, sandbox=True, sent=90_000)
    rolled_up(db, amina_id, now_ms - 13 * HOUR_MS, sent=1)
    assert found(db) == []


def test_accounts_without_a_day_before_are_named_the_largest_first(
    db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi", sender=None)
    rolled_up(db, amina_id, clock.now_ms(), sent=LEAST)
    rolled_up(db, chidi, clock.now_ms(), failed=LEAST + 1)
    assert [(each.account_id, each.times) for each in found(db)] == [
        (chidi, None),
        (amina_id, None),
    ]
