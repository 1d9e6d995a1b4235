"""Two operators who save one rule, or watch one wallet, at the same time."""

import threading
from collections.abc import Callable

import pytest
from sqlalchemy.engine import Connection

from heliograph import alerts
from heliograph.alerts import AlertKind
from heliograph.database.database import Database

WAITS_S = 0.3  # long enough to come to the other's lock, and shorter than a lock is waited for


def _held(tx: Connection, seconds: int) -> None:
    alerts.set_rule(tx, alerts.rule_of(tx, AlertKind.DISK)._replace(hold_s=seconds))


def _watched(tx: Connection, credits: int) -> None:
    alerts.watch_wallet(tx, "amina", credits)


@pytest.mark.parametrize("save", [_held, _watched])
def test_who_saves_second_waits_and_has_the_last_word(
    db: Database, amina: str, save: Callable[[Connection, int], None]
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
        stored = alerts.rule_of(tx, AlertKind.DISK).hold_s
        watched = [each.credits_min for each in alerts.all_watched(tx)]
    assert 22 in (stored, *watched)
