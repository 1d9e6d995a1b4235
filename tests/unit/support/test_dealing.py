"""Tests are dealt so that at each moment of a run some wait while others work."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.dealing import VERY_FIRST, WAITING, Dealing, dealt, folder_of, unit_of

tests_of_files = st.lists(
    st.tuples(
        st.sampled_from(["crash", "faults", "browser", "capability/audit", "architecture", "unit"]),
        st.sampled_from(["test_audit_rows", "test_patroni", "test_install_documented", "test_x"]),
        st.integers(0, 9),
    ).map(lambda named: "tests/{}/{}.py::test_{}".format(*named)),
    unique=True,
)


@given(tests_of_files)
def test_each_test_is_dealt_once_and_with_its_unit(tests: list[str]) -> None:
    order = dealt(tests)
    assert sorted(order) == sorted(tests)
    units = [unit_of(test) for test in order]
    began = [unit for unit, before in zip(units, [None, *units], strict=False) if unit != before]
    assert len(began) == len({*units}), "a unit was torn"
    first = [test for test in order if test.startswith(VERY_FIRST)]
    assert order[: len(first)] == first


def test_those_that_wait_are_spread_over_the_run() -> None:
    waiting = [f"tests/faults/test_{k}.py::test" for k in range(20)]
    working = [f"tests/api/test_{k}.py::test" for k in range(100)]
    order = dealt([*waiting, *working])
    places = [k for k, test in enumerate(order) if folder_of(test) in WAITING]
    gaps = [after - before for before, after in pairwise(places)]
    assert len(places) == 20
    assert set(gaps) <= {5, 6}
    assert places[0] < 5
    assert 10 < len(order) - places[-1] < 20, "the last to begin are others"


def test_what_shares_what_is_made_once_is_one_unit() -> None:
    rows, erased = (
        f"tests/capability/audit/test_audit_{name}.py::test" for name in ("rows", "erased")
    )
    assert dealt([rows, "tests/capability/audit/test_charges.py::test", erased])[:2] == [
        rows,
        erased,
    ]
    assert unit_of("tests/faults/database/test_patroni.py::a") == unit_of(
        "tests/faults/database/test_patroni.py::b"
    )
    assert unit_of("tests/faults/test_cut.py::a") != unit_of("tests/faults/test_cut.py::b")


# what xdist asks of pytest's configuration
CONFIG = SimpleNamespace(
    getvalue=lambda _: ["popen", "popen"], option=SimpleNamespace(loadscopereorder=False)
)


class Process:
    """Stands for a process that runs tests. Like a real one, it begins a test once it knows the
    next, or that there is none.
    """

    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.shutting_down = False
        self.gateway = SimpleNamespace(id="gw")

    def send_runtest_some(self, tests: list[int]) -> None:
        self.waiting += tests

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def runs(self) -> bool:
        return len(self.waiting) > (0 if self.shutting_down else 1)


@given(st.integers(1, 40), st.integers(0, 39), st.integers(0, 3))
def test_all_tests_are_run_also_when_a_process_dies_and_another_takes_its_place(
    count: int, dies_after: int, begun: int
) -> None:
    collection = [f"tests/crash/test_a.py::test_{k}" for k in range(count)]
    dealing: Any = Dealing(CONFIG)
    processes = [Process(), Process()]
    done: list[int] = []

    def joins(process: Process) -> None:
        dealing.add_node(process)
        dealing.add_node_collection(process, collection)
        if dealing.collection_is_completed:
            dealing.schedule()

    for process in processes:
        joins(process)
    while running := [process for process in processes if process.runs]:
        process = running[begun % len(running)]
        if len(done) == dies_after and len(processes) == 2:
            dealing.remove_node(process)
            processes = [other for other in processes if other is not process] + [Process()]
            joins(processes[-1])
            dies_after = -1
            continue
        test = process.waiting.pop(0)
        done.append(test)
        dealing.mark_test_complete(process, test)
    assert sorted(done) == list(range(count))
