"""`heliograph receipt …` is run as it is typed."""

import re

from tests.support.capability.commands import Run
from tests.support.factories import phones


def test_receipts_without_a_message_are_listed_with_what_they_may_be(
    run: Run, doubtful: list[str]
) -> None:
    listed = run("receipt", "list", "--unmatched", "--carrier", "carrier", "--json").json
    assert sorted(
        (each["state"] or "", each["recipient"], each["why"], each["may_be"]) for each in listed
    ) == [
        ("", phones(1)[0], "it cannot be read", []),
        (
            "DELIVRD",
            phones(1)[0],
            "no message has its id; 1 message in doubt may be meant",
            [doubtful[0]],
        ),
        ("DELIVRD", phones(2)[1], "it has no id; no messages in doubt may be meant", []),
    ]
    assert run("receipt", "list", "--unmatched", "--carrier", "simulator", "--json").json == []
    some = run("receipt", "list", "--unmatched", "--limit", 2)
    assert (
        some.err
        == "There are more, older ones: --limit shows up to 1000, --carrier one carrier's.\n"
    )
    assert len(some.out.splitlines()) == 3
    assert run("receipt", "list", "--unmatched", "--limit", 3).err == ""
    printed = run("receipt", "list", "--unmatched").out
    assert "\u202e" not in printed
    assert re.split("  +", printed.splitlines()[0])[-1] == "MAY BE"
    assert sorted(
        re.split("  +", line)[-1] for line in printed.splitlines() if "may be meant" in line
    ) == ["-", doubtful[0]]


def test_a_receipt_is_given_to_its_message(run: Run, doubtful: list[str]) -> None:
    said = run(
        "receipt", "match", "carrier/aa7", "--message", doubtful[0], "--by", "kofi", "--json"
    )
    assert said.json == {
        "id": doubtful[0],
        "status": "delivered",
        "error": None,
        "credits_refunded": 0,
        "receipt": "carrier/aa7",
    }
    assert (
        run("message", "show", doubtful[0], "--json").json["decisions"][0]["reason"]
        == "receipt carrier/aa7 (DELIVRD)"
    )
    other = next(
        each["id"]
        for each in run("receipt", "list", "--unmatched", "--json").json
        if each["why"].startswith("it has no id")
    )
    assert (
        run("receipt", "match", other, "--message", doubtful[2], "--json").json["status"]
        == "delivered"
    )
    assert run("ledger", "verify", "--json").json["proven"]
