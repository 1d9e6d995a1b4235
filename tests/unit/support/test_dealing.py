"""Tests are dealt so that at each moment of a run some wait while others work."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.support.dealing import VERY_FIRST, WAITING, dealt, folder_of, unit_of

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
    trees = {f"tests/architecture/test_{name}.py::test" for name in ("size", "front_doors")}
    assert len({*map(unit_of, trees)}) == 1
    assert unit_of("tests/architecture/documents/test_documents.py::test") not in map(
        unit_of, trees
    )
    assert unit_of("tests/faults/database/test_patroni.py::a") == unit_of(
        "tests/faults/database/test_patroni.py::b"
    )
    assert unit_of("tests/faults/test_cut.py::a") != unit_of("tests/faults/test_cut.py::b")
