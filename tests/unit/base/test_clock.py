"""The one source of time runs beside a machine's clock that somebody sets."""

import time
from types import SimpleNamespace

import pytest
import structlog
from structlog.testing import capture_logs

from heliograph.base import clock

HOUR_S = 3_600
START_S = 1_800_000_000


class Machine:
    """Puts its two clocks, in seconds, in place of the module's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall_s, self.running_s = float(START_S), 1_000.0
        monkeypatch.setattr(
            clock,
            "time",
            SimpleNamespace(
                time_ns=lambda: int(self.wall_s * 1e9),
                monotonic=time.monotonic,
                clock_gettime_ns=lambda _: int(self.running_s * 1e9),
            ),
        )
        monkeypatch.setattr(clock, "_ahead_ns", int((self.wall_s - self.running_s) * 1e9))
        monkeypatch.setattr(clock, "_apart", False)
        monkeypatch.setattr(clock, "_looked_ns", 0)
        # another test of this process may have agreed with a database, or moved the time
        monkeypatch.setattr(clock, "_agreed_ns", None)
        monkeypatch.setattr(clock, "_offset_ms", 0)
        # one that has logged keeps what was configured then, and is not captured
        monkeypatch.setattr(clock, "log", structlog.get_logger())

    def goes_on(self, seconds: float) -> None:
        self.wall_s += seconds
        self.running_s += seconds

    def is_set(self, seconds: float) -> None:
        self.wall_s += seconds


def since_start_s() -> float:
    return clock.now_us() / 1e6 - START_S


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_small_corrections_are_followed(machine: Machine) -> None:
    for correction_s in (0.0, 0.4, -0.4, 0.9, -0.9):
        machine.goes_on(10)
        machine.is_set(correction_s)
        assert clock.now_us() == pytest.approx(machine.wall_s * 1e6)


@pytest.mark.parametrize("moved_s", [HOUR_S, -HOUR_S])
def test_an_hour_is_not_believed_but_neared(machine: Machine, moved_s: int) -> None:
    machine.is_set(moved_s)
    with capture_logs() as logs:
        assert since_start_s() == pytest.approx(0)
        for seconds in (0.001, 1, 8.999, 90):
            before_s = since_start_s()
            machine.goes_on(seconds)
            assert since_start_s() - before_s == pytest.approx(
                seconds * (1.01 if moved_s > 0 else 0.99), abs=1e-5
            )
    moved = [entry for entry in logs if entry["event"] == "clock_moved"]
    assert [entry["seconds"] for entry in moved] == [moved_s]
    machine.is_set(-moved_s)
    machine.goes_on(1)
    machine.goes_on(100)  # for what was neared meanwhile
    assert clock.now_us() == pytest.approx(machine.wall_s * 1e6)


def test_in_the_end_it_is_believed(machine: Machine) -> None:
    machine.is_set(-HOUR_S)
    last_s = since_start_s()
    for _ in range(100):
        machine.goes_on(HOUR_S)
        assert since_start_s() > last_s
        last_s = since_start_s()
    assert clock.now_us() == pytest.approx(machine.wall_s * 1e6)
