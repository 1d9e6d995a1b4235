"""Two operators change one rule, or watch one wallet, at the same time."""

import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts, alerts
from heliograph.alerts import AlertKind
from heliograph.alerts.rules import rule_of
from heliograph.alerts.tables import watched_wallets
from heliograph.alerts.watched_wallets import WATCHED_MAX
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest
from heliograph.database.database import Database
from tests.support.capability.commands import CommandResult, Run
from tests.support.factories import open_account

WAITS_S = 0.3  # long enough to come to the other's lock, and shorter than a lock is waited for


def _held(tx: Connection, seconds: int) -> None:
    alerts.set_rule(tx, rule_of(tx, AlertKind.DISK)._replace(hold_s=seconds))


def _watched(tx: Connection, credits: int) -> None:
    alerts.watch_wallet(tx, "amina", credits)


@pytest.mark.parametrize("save", [_held, _watched])
def test_who_saves_second_waits_and_has_the_last_word(
    db: Database, amina_id: str, save: Callable[[Connection, int], None]
) -> None:
    failures: list[Exception] = []

    def second() -> None:
        try:
            with db.write() as tx:
                save(tx, 22)
        except Exception as failure:  # noqa: BLE001 - the test says which
            failures.append(failure)

    other = threading.Thread(target=second)
    with db.write() as tx:
        save(tx, 11)
        other.start()
        other.join(WAITS_S)
    other.join()
    assert failures == []
    with db.read() as tx:
        stored = rule_of(tx, AlertKind.DISK).hold_s
        watched = [each.credits_min for each in alerts.all_watched(tx)]
    assert 22 in (stored, *watched)


def test_a_command_that_changes_another_part_of_a_rule_waits_and_keeps_what_was_set(
    db: Database, run: Run
) -> None:
    run("alert", "rules")  # so that all is imported, and the next one comes to the lock in time
    said: list[CommandResult] = []
    command = threading.Thread(
        target=lambda: said.append(run("alert", "set", "disk", "--hold", "22"))
    )
    with db.write() as tx:
        alerts.change_rule(tx, AlertKind.DISK, is_on=False, threshold=512)
        command.start()
        command.join(WAITS_S)
        assert said == [], "it waits for the transaction that has begun before"
    command.join()
    assert said[0].status == 0, said[0].err
    with db.read() as tx:
        stored = rule_of(tx, AlertKind.DISK)
    assert (stored.is_on, stored.threshold, stored.hold_s) == (False, 512, 22)


def test_two_who_watch_the_last_wallet_that_is_allowed_do_not_exceed_the_limit(
    db: Database, amina_id: str
) -> None:
    chidi = open_account(db, "chidi")
    with db.write() as tx:
        for number in range(WATCHED_MAX - 1):
            other = accounts.create(tx, f"other {number}", "GH", now_ms=clock.now_ms())
            alerts.watch_wallet(tx, accounts.text_id(other), 1)
    refusals: list[InvalidRequest] = []

    def second() -> None:
        try:
            with db.write() as tx:
                alerts.watch_wallet(tx, "chidi", 1)
        except InvalidRequest as refusal:
            refusals.append(refusal)

    other_one = threading.Thread(target=second)
    with db.write() as tx:
        alerts.watch_wallet(tx, "amina", 1)
        other_one.start()
        other_one.join(WAITS_S)
    other_one.join()
    with db.read() as tx:
        watched = {each.account.id for each in alerts.all_watched(tx)}
        count = tx.execute(sa.select(sa.func.count()).select_from(watched_wallets)).scalar_one()
    assert (count, amina_id in watched, chidi in watched) == (WATCHED_MAX, True, False)
    assert [each.field for each in refusals[0].fields] == ["account"]
