"""`kill -9` hits a server under load, again and again: what it answered 200 to is stored, goes out,
and is paid for once.

`make crash` does it 20 times on each database; `make test` less often.
"""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.tables import inflight
from tests.support.crash.checker import Segment, check_after_kills, on_the_wire, unsettled
from tests.support.crash.load import Load
from tests.support.crash.processes import ServerProcess
from tests.support.crash.remembering_smsc import RememberingSmsc, remembering_smsc
from tests.support.factories import issue_key, open_account, open_carrier

ROUNDS = int(os.environ.get("HELIOGRAPH_TEST_CRASH_ROUNDS", "4"))
WINDOW = 20
SETTLED_WITHIN_S = 60.0
# those that the carrier kept while the server was down settle the doubts about what it got
RECEIPTS_COME_WITHIN_S = 3.0


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_server_killed_at_random_moments_under_load_loses_nothing_and_charges_once(
    kind: str, new_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = new_database(kind)
    db = Database(url)
    chance = random.Random(ROUNDS)  # the same moments each time, as far as a machine allows
    doubts, aged = list[set[Segment]](), [ROUNDS]
    with remembering_smsc(keeps_back=True) as smsc:
        amina_id = open_account(db, credits=1_000_000)
        open_carrier(db, port=smsc.port, window=WINDOW)
        load = Load(issue_key(db, amina_id))
        for number in range(ROUNDS):
            server = ServerProcess(url, tmp_path)
            if number % 4 == 3:  # killed while it starts, and takes over what the one before left
                time.sleep(chance.uniform(0.2, 1.2))
            else:
                server.wait_until_ready()
                load.start(server.address)
                load.wait_for_an_answer()
                time.sleep(chance.uniform(0.1, 0.8))  # the moment is the test
            server.process.kill()
            server.process.wait()
            load.join()
            smsc.count_kill()
            doubts.append(on_the_wire(db))
            if number % 3 == 2:
                aged.append(number + 1)
                # so that the next server sends them once more, under load, and is killed too
                _age_doubts(db)
        assert not load.wrong, load.wrong[:3]
        assert len(load.accepted) > ROUNDS, "the server was killed before it did anything"
        server = ServerProcess(url, tmp_path)
        try:
            server.wait_until_ready()
            load.ask_again(server.address)
            _wait_until_settled(db, smsc)
            said = load.read_all(server.address)
            load.repeat(
                server.address, chance.sample(sorted(load.accepted), min(20, len(load.accepted)))
            )
        finally:
            assert server.end() == 0
        settled = check_after_kills(
            db, load.accepted, said, smsc.submits, doubts, aged, window=WINDOW
        )
    db.close()
    print(
        f"\n{kind}: {ROUNDS} kills, {settled.messages} messages of {settled.segments} segments"
        f" accepted; of {len(load.asked_again)} requests whose answer nobody saw,"
        f" {sum(load.asked_again)} had been stored; {sum(map(len, doubts))} segments were on the"
        f" wire at a kill, {settled.submitted_again} were submitted again; {settled.failed}"
        " messages failed as unknown, refunded"
    )


def _wait_until_settled(db: Database, smsc: RememberingSmsc) -> None:
    """Waits until every message is settled. What the carrier never got stays in doubt for 120 s and
    is then sent once more, and is unknown when its validity ends: that time is moved, not waited
    for.
    """
    steps: list[Callable[[], None]] = [
        lambda: _age_doubts(db),
        smsc.let_go,
        lambda: _end_validity(db),
    ]
    until_s, next_s = time.monotonic() + SETTLED_WITHIN_S, time.monotonic() + RECEIPTS_COME_WITHIN_S
    while left := unsettled(db):
        now_s = time.monotonic()
        assert now_s < until_s, f"{left} messages are still not settled"
        if now_s > next_s and steps:
            steps.pop(0)()
            next_s = now_s + RECEIPTS_COME_WITHIN_S
        time.sleep(0.1)


def _age_doubts(db: Database) -> None:
    with db.write() as tx:
        tx.execute(
            sa.update(inflight)
            .where(inflight.c.state == "in_doubt")
            .values(since_ms=inflight.c.since_ms - RESEND_AFTER_MS)
        )


def _end_validity(db: Database) -> None:
    with db.write() as tx:
        tx.execute(
            sa.update(inflight)
            .where(inflight.c.state == "in_doubt")
            .values(expires_at_ms=clock.now_ms())
        )
