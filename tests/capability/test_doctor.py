"""What doctor says of the processes beside it."""

from pathlib import Path

import pytest

from heliograph.base import clock
from heliograph.base.db import Database
from heliograph.base.leases import workers
from heliograph.base.settings import Settings
from heliograph.carriers import LinkState, record_state
from heliograph.entry.doctor import examine
from tests.factories import SECRET_KEY, open_carrier


@pytest.mark.parametrize(("kinds", "verdict", "found"), [
    ([], "warning", "none: nothing sends"),
    (["api", "scheduler", "api"], "warning", "2 api, 1 scheduler: nothing sends"),
    (["api", "carrier"], "warning", "1 api, 1 carrier: nobody looks after validity, doubts and what dead processes held"),
    (["carrier", "scheduler"], "ok", "1 carrier, 1 scheduler"),
    (["api", "worker", "worker"], "ok", "1 api, 2 worker"),
    (["serve"], "ok", "1 serve"),
])
def test_processes_that_are_missing_are_named(kinds: list[str], verdict: str, found: str, postgresql_url: str, tmp_path: Path) -> None:
    db = Database(postgresql_url)
    with db.write() as tx:
        for kind in kinds:
            tx.execute(workers.insert().values(kind=kind, started_at_ms=clock.now_ms()))
    db.close()
    [finding] = [finding for finding in examine(Settings(tmp_path, postgresql_url, SECRET_KEY)) if finding.check == "processes"]
    assert (finding.verdict, finding.found, finding.remedy is None) == (verdict, found, verdict == "ok")


def test_a_process_that_is_not_bound_beside_one_that_is_is_named(database_url: str, tmp_path: Path) -> None:
    db = Database(database_url)
    carrier_id = open_carrier(db)
    with db.write() as tx:
        epochs = [tx.execute(workers.insert().values(kind="worker", started_at_ms=0).returning(workers.c.epoch)).scalar_one() for _ in range(3)]
        for epoch, state in zip(epochs, (LinkState.BOUND, LinkState.REFUSED, LinkState.BOUND), strict=True):
            record_state(tx, epoch, carrier_id, state, "ESME_RALYBND" if state is LinkState.REFUSED else "", clock.now_ms())
    [finding] = [finding for finding in examine(Settings(tmp_path, database_url, SECRET_KEY)) if finding.check == "carrier carrier"]
    assert (finding.verdict, finding.found) == ("warning", "bound in 2 of 3 processes; another is refused: ESME_RALYBND")
    with db.write() as tx:
        record_state(tx, epochs[1], carrier_id, LinkState.BOUND, "", clock.now_ms())
    db.close()
    [finding] = [finding for finding in examine(Settings(tmp_path, database_url, SECRET_KEY)) if finding.check == "carrier carrier"]
    assert (finding.verdict, finding.found) == ("ok", "bound")
