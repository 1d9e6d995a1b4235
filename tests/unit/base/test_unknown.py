"""Unknown fields that could cost are found by names that are one edit from a known one, however
many others there are.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.base.errors import FIELDS_REPORTED_MAX, InvalidRequest
from heliograph.base.forms import Form
from heliograph.base.unknown_fields import refusals

KNOWN = ("sender", "message", "recipients", "to", "validity_s")
letters = st.characters(min_codepoint=97, max_codepoint=122)


def edits(name: str) -> set[str]:
    """Returns all that is one edit away from `name`, with z for whatever letter."""
    halves = [(name[:place], name[place:]) for place in range(len(name) + 1)]
    return (
        {a + "z" + b for a, b in halves}
        | {a + b[1:] for a, b in halves if b}
        | {a + "z" + b[1:] for a, b in halves if b}
        | {a + b[1] + b[0] + b[2:] for a, b in halves if len(b) > 1}
    ) - {name}


def test_every_edit_of_a_known_name_is_found_and_names_it() -> None:
    for meant in ("sender", "message", "recipients", "validity_s"):
        for slip in edits(meant) | {meant.upper(), meant.replace("_", "-")} - {meant}:
            assert list(refusals([slip], KNOWN, ())) == [
                (slip, f"is unknown here; did you mean {meant}?")
            ]


def distance(one: str, other: str) -> int:
    """Returns the distance of optimal string alignment: characters added, taken away, replaced, and
    neighbours swapped.
    """
    rows = [
        [max(i, j) if 0 in (i, j) else 0 for j in range(len(other) + 1)]
        for i in range(len(one) + 1)
    ]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            rows[i][j] = min(
                rows[i - 1][j] + 1,
                rows[i][j - 1] + 1,
                rows[i - 1][j - 1] + (one[i - 1] != other[j - 1]),
            )
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


@given(st.text(letters, min_size=1, max_size=6), st.text(letters, min_size=1, max_size=6))
def test_what_is_near_is_what_is_one_edit_away(known: str, given_name: str) -> None:
    assert bool(list(refusals([given_name], (known,), ()))) is (distance(known, given_name) <= 1)


def test_of_very_many_bad_names_a_hundred_are_told_and_all_are_counted() -> None:
    form = Form({f"sender{letter}": 1 for letter in map(chr, range(0x4E00, 0x4E00 + 20_000))})
    form.text("sender", most=5)
    with pytest.raises(InvalidRequest) as refused:
        form.finish()
    assert (refused.value.reason, len(refused.value.fields)) == (
        "unknown_field",
        FIELDS_REPORTED_MAX,
    )
    assert refused.value.message.endswith("19999 more fields are wrong.")
