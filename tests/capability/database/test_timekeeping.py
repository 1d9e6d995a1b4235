"""The clocks of the database and of this machine differ. The tests ask what is refused, what is
corrected, and what is not done while they dispute.
"""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from heliograph.base import clock
from heliograph.database import clock_check as timekeeping
from heliograph.database import secret_key_canary
from heliograph.database.clock_check import START_MS_MAX, ClockApart
from heliograph.database.database import Database
from heliograph.processes import clock_watch
from heliograph.processes.clock_watch import CLAIM_MS_MAX
from heliograph.processes.sweeps import Sweeps
from tests.support.capability.commands import runner
from tests.support.capability.every_command import Typed, every_command, write_files
from tests.support.capability.sending import WORKER, House, lease_of
from tests.support.factories import awaited, phones

# `demo` has a database of SQLite, which has no clock of its own; `doctor` tells it among its
# findings, and the simulator has no database.
LOOK_AT_NO_CLOCK = {"demo", "doctor", "smsc"}


class Machine:
    """Stands for this machine's clocks, moved by so many seconds: the one that is set, and the one
    that never is.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall_s = self.running_s = 0.0
        monkeypatch.setattr(
            clock,
            "time",
            SimpleNamespace(
                time_ns=lambda: time.time_ns() + int(self.wall_s * 1e9),
                monotonic=time.monotonic,
                clock_gettime_ns=lambda which: (
                    time.clock_gettime_ns(which) + int(self.running_s * 1e9)
                ),
            ),
        )

    def starts(self, seconds: float) -> None:
        """Begins a process when the machine's clock is wrong by so much."""
        self.wall_s = seconds
        clock.forget_database()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def wrong_s() -> float:
    """Returns how far our time is from the right one."""
    return clock.now_us() / 1e6 - time.time()


@pytest.mark.parametrize("seconds", [-1.9, -0.3, 0.0, 0.3, 1.9])
def test_a_small_difference_is_corrected_at_the_start(
    machine: Machine, seconds: float, postgresql_url: str
) -> None:
    db = Database(postgresql_url)
    machine.starts(seconds)
    assert wrong_s() == pytest.approx(seconds, abs=0.01)
    timekeeping.begin(db)
    assert wrong_s() == pytest.approx(0, abs=0.1)
    db.close()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3_600, "3600.0 s ahead of the database's"), (-2.5, "2.5 s behind the database's")],
)
def test_more_than_two_seconds_are_refused(
    machine: Machine, seconds: float, words: str, postgresql_url: str
) -> None:
    db = Database(postgresql_url)
    machine.starts(seconds)
    with pytest.raises(
        ClockApart,
        match=(
            f"The clock of this machine is {words}; it may be 2 s apart at most. Synchronise both"
            " with NTP."
        ),
    ):
        timekeeping.begin(db)
    assert wrong_s() == pytest.approx(seconds, abs=0.1)
    db.close()


@pytest.mark.parametrize(
    "typed",
    [each for each in every_command() if each.name not in LOOK_AT_NO_CLOCK],
    ids=lambda typed: typed.name,
)
def test_commands_say_so_in_one_line(
    typed: Typed, machine: Machine, postgresql_url: str, tmp_path: Path
) -> None:
    write_files(tmp_path)
    machine.starts(-60)
    assert runner(postgresql_url, tmp_path)(*typed.args(tmp_path)) == (
        1,
        "",
        (
            "heliograph: The clock of this machine is 60.0 s behind the database's; it may be 2 s"
            " apart at most. Synchronise both with NTP.\n"
        ),
    )
    db = Database(postgresql_url)
    with db.read() as tx:
        assert secret_key_canary.load(tx) is None  # nothing was written by that clock
    db.close()


def test_sqlite_has_no_clock_of_its_own(machine: Machine, sqlite_url: str) -> None:
    db = Database(sqlite_url)
    machine.starts(3_600)
    timekeeping.begin(db)
    assert timekeeping.measure(db) is None
    db.close()


def test_a_slow_answer_says_nothing_against_a_clock() -> None:
    assert (
        timekeeping.ClockDifference(ahead_us=3_000_000, within_us=1_200_000).apart_ms < START_MS_MAX
    )
    assert timekeeping.ClockDifference(ahead_us=-3_000_000, within_us=5_000).apart_ms > START_MS_MAX


def test_processes_of_the_databases_machine_have_exactly_its_time(postgresql_url: str) -> None:
    """A clock takes over nothing of the error with which it was compared. Now and then another
    process runs between the two clocks that are read when a process begins.
    """
    db = Database(postgresql_url)
    exact = 0
    for _ in range(20):
        clock.forget_database()  # a process begins
        timekeeping.begin(db)
        clock_watch.compare(db)
        before_ns = time.time_ns()
        now_us = clock.now_us()
        exact += before_ns // 1_000 <= now_us <= time.time_ns() // 1_000
    assert exact >= 15
    db.close()


def test_what_is_more_than_the_error_is_corrected() -> None:
    assert timekeeping.ClockDifference(ahead_us=2_001, within_us=2_000).to_correct_us == 2_001
    assert timekeeping.ClockDifference(ahead_us=-2_001, within_us=2_000).to_correct_us == -2_001
    assert timekeeping.ClockDifference(ahead_us=-2_000, within_us=2_000).to_correct_us == 0


def test_a_difference_that_comes_later_is_neared_and_time_never_goes_back(
    machine: Machine, postgresql_url: str
) -> None:
    db = Database(postgresql_url)
    machine.starts(0)
    timekeeping.begin(db)
    machine.running_s = 3.0  # a clock that counts wrongly
    assert wrong_s() == pytest.approx(3, abs=0.2)
    clock_watch.compare(db)
    before_s = last_s = clock.now_us() / 1e6
    for _ in range(10):
        machine.running_s += 10
        now_s = clock.now_us() / 1e6
        assert now_s > last_s
        last_s = now_s
    assert last_s - before_s == pytest.approx(100 * 0.99, abs=0.2)
    assert not clock.is_disputed()
    db.close()


@awaited
async def test_while_the_clocks_dispute_nothing_is_claimed_and_nothing_expires(
    machine: Machine, postgresql_house: House
) -> None:
    house = postgresql_house
    machine.starts(0)
    timekeeping.begin(house.db)
    await house.send(phones(3), validity_s=60)
    link = house.turn()
    machine.running_s = CLAIM_MS_MAX / 1_000 + 120  # they would have expired by our clock
    clock_watch.compare(house.db)
    assert clock.is_disputed()
    sweeps = Sweeps(house.db, lease_of(house.db, WORKER), house.queue, {}, lambda _: None)
    await sweeps._fail_expired()
    await link.turn.run_once()
    assert (link.submitted, house.statuses()) == ([], ["queued"] * 3)
    machine.running_s = 0
    clock_watch.compare(house.db)
    assert not clock.is_disputed()
    await link.turn.run_once()
    assert len(link.submitted) == 3
