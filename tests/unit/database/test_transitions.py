"""A table of transitions says which state may follow which, to code and to statements."""

import pytest

from heliograph.database.transitions import NO_ROW, Arrow, Transitions

DOOR = Transitions(
    meanings={"open": "", "shut": "", "locked": "", "gone": ""},
    begins={"open": ""},
    moves={"open": {"shut": "", "gone": ""}, "shut": {"open": "", "locked": "", "gone": ""}},
    ends={"shut": "demolished"},
)


def test_a_statement_that_writes_one_state_changes_the_rows_that_may_come_to_it() -> None:
    assert DOOR.may_become("gone") == "status IN ('open', 'shut')"
    assert DOOR.may_become("locked", of="d.") == "d.status = 'shut'"


def test_a_statement_that_writes_one_of_several_changes_the_rows_that_may_come_to_each() -> None:
    assert DOOR.may_become("gone", "open") == "status = 'shut'"


def test_a_statement_that_deletes_rows_deletes_those_that_may_end() -> None:
    assert DOOR.may_become(NO_ROW) == "status = 'shut'"
    assert [state for state in DOOR.states if DOOR.allows(state, NO_ROW)] == ["shut"]
    assert [arrow for arrow in DOOR.arrows() if arrow.to == NO_ROW] == [
        Arrow("shut", NO_ROW, "demolished"),
        Arrow("locked", NO_ROW, ""),
        Arrow("gone", NO_ROW, ""),
    ]


@pytest.mark.parametrize("states", [(), ("open", "shut"), ("no such state",)])
def test_a_statement_that_may_change_no_row_is_refused(states: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="no state can become"):
        DOOR.may_become(*states)


def test_a_statement_whose_rows_have_a_state_each_changes_those_that_may_come_to_theirs() -> None:
    assert DOOR.may_store("g.status", of="d.") == (
        "(d.status = g.status"
        " OR (d.status = 'open' AND g.status IN ('shut', 'gone'))"
        " OR (d.status = 'shut' AND g.status IN ('open', 'locked', 'gone')))"
    )
