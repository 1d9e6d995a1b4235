"""Whoever answers a complaint uses `message list` to see which text failed, and why."""

import re

import pytest

from heliograph.base import ids
from heliograph.carriers import SubmitOutcome
from heliograph.messages.doubt import trace
from tests.support.capability.commands import Run
from tests.support.capability.doubtful import TEXT, Beside
from tests.support.capability.sending import House
from tests.support.factories import phones


@pytest.fixture
def failed(house: House) -> list[str]:
    """Returns the ids of three messages: sent, refused with 0x0000000B, and refused by a status of
    the carrier's own; the account is in Ghana.
    """

    async def make(house: House) -> list[str]:
        link = house.turn(100)
        for place, reference in enumerate(("order-1", "order-2", None)):
            await house.send(phones(3)[place], TEXT, reference=reference)
            await link.turn.run_once()
        first, second, third = link.submitted
        link.answer(first)
        link.answer(second, outcome=SubmitOutcome.REFUSED, command_status=0x0B)
        link.answer(third, outcome=SubmitOutcome.REFUSED, command_status=0x401)
        await link.turn.run_once()
        return [ids.text_of_raw("msg", row.id) for row in house.messages()]

    return Beside(house).do(make)


NATIONAL = "0" + phones(3)[1].removeprefix("233")


@pytest.mark.parametrize(
    ("options", "places"),
    [
        (["--to", phones(3)[1]], [1]),
        (["--to", "+" + phones(3)[1], "--account", "amina"], [1]),
        (["--to", NATIONAL, "--account", "amina"], [1]),
        (["--to", phones(3)[1], "--status", "sent"], []),
        (["--to", phones(4)[3]], []),
        (["--reference", "order-2"], [1]),
        (["--reference", "order-1", "--account", "amina"], [0]),
        (["--reference", "order-3"], []),
        (["--error", "carrier_rejected"], [2, 1]),
        (["--error", "0x0b"], [1]),
        (["--error", "0x00000401"], [2]),
        (["--error", "expired"], []),
        (["--sender", "Amina"], [2, 1, 0]),
        (["--sender", "OTHER"], []),
        (["--since", "1h"], [2, 1, 0]),
        (["--until", "1h"], []),
        (["--since", "1h", "--until", "2999-01-01", "--reference", "order-1"], [0]),
        (["--in-doubt", "--to", phones(3)[1]], []),
    ],
)
def test_a_list_is_narrowed_by_what_a_complaint_names(
    run: Run, failed: list[str], options: list[str], places: list[int]
) -> None:
    assert [
        failed.index(each["id"]) for each in run("message", "list", *options, "--json").json
    ] == places


def test_what_is_looked_up_is_found_however_far_back_it_is(
    run: Run, failed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "LOOKED_AT_MAX", 1)
    for options in (["--to", phones(3)[0]], ["--reference", "order-1"]):
        said = run("message", "list", *options, "--json")
        assert ([each["id"] for each in said.json], said.err) == ([failed[0]], "")


def test_a_failure_is_told_in_plain_words_in_lists_too(run: Run, failed: list[str]) -> None:
    told = [
        "-",
        "no such number, says the carrier (0x0000000B)",
        "a status of this carrier's own, which its documentation explains (0x00000401)",
    ]
    assert [re.split("  +", line)[-1] for line in run("message", "list").out.splitlines()] == [
        "FAILURE",
        *reversed(told),
    ]
    assert [run("message", "show", each, "--json").json["failure"] for each in failed] == [
        None,
        *told[1:],
    ]
    assert f"failure            {told[1]}\n" in run("message", "show", failed[1]).out


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["message", "list", "--to", "0201234567"],
            "'0201234567' is not a phone number such as 233201234567.",
        ),
        (
            ["message", "list", "--error", "11"],
            (
                "'11' is not one of carrier_rejected, undeliverable, expired, rejected, unknown,"
                " canceled, "
            ),
        ),
        (["message", "list", "--since", "soon"], "'soon' is not a time such as 2027-01-31"),
    ],
)
def test_a_mistake_in_the_command_line_is_status_2(run: Run, args: list[str], told: str) -> None:
    said = run(*args)
    assert (said.status, told in said.err) == (2, True), said.err
