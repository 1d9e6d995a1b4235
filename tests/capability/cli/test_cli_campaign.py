"""`heliograph campaign …` is run as it is typed."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from heliograph.database.database import Database
from heliograph.messages.states import VALIDITY_S
from tests.support.capability.campaigns import add_contacts
from tests.support.capability.commands import Run, typed
from tests.support.factories import SENDER, grant, open_route

ACCOUNT = ("--account", "amina", "--sender", SENDER)


@pytest.fixture(autouse=True)
def ready_to_launch(db: Database, amina_id: str) -> None:
    """Amina has ten credits, a route, and three contacts, one of whom has opted out."""
    open_route(db)
    grant(db, amina_id, 10)
    add_contacts(
        db,
        amina_id,
        [
            {"phone": "233200000000", "name": "Ama", "tags": ["gold"]},
            {"phone": "233200000001", "opted_out": True},
            "233200000002",
        ],
    )


def spring(run: Run) -> Any:
    """Returns a campaign to all contacts, as it is written down."""
    return run(
        *typed("campaign create Spring --message 'Hi {name|friend}!' --all"),
        *ACCOUNT,
        *typed("--rate 5 --validity 2h --json"),
    ).json


def test_a_campaign_is_written_down_estimated_and_tested(run: Run, amina_id: str) -> None:
    made = spring(run)
    assert (made["name"], made["status"], made["audience"], made["rate"], made["validity_s"]) == (
        "Spring",
        "draft",
        {"kind": "all", "tags": []},
        5,
        7_200,
    )
    campaign = made["id"]
    assert run("campaign", "estimate", campaign, "--json").json == {
        "id": campaign,
        "recipients": 2,
        "opted_out": 1,
        "refused": {},
        "without_value": {"name": 1},
        "segments": 2,
        "credits": 2,
        "credits_available": 10,
        "credits_reach": True,
    }
    for phone, text in (
        ("233200000002", "Hi friend!"),
        ("+233 20 999 9999", "Hi Ama!"),
        ("0200000001", "Hi friend!"),
    ):
        tested = run("campaign", "test", campaign, "--to", phone, "--country", "GH", "--json")
        assert [
            tested.json[name] for name in ("message", "status", "credits_used", "opted_out")
        ] == [text, "queued", 1, phone == "0200000001"]
        assert ("heliograph: 233200000001 has opted out" in tested.err) == (phone == "0200000001")


def test_a_campaign_is_launched_paused_resumed_and_canceled(run: Run, amina_id: str) -> None:
    campaign = spring(run)["id"]
    launched = run("campaign", "launch", campaign, "--json").json
    assert (launched["status"], launched["recipients_total"], launched["credits_estimated"]) == (
        "sending",
        2,
        2,
    )
    assert launched["left_out"] == {"opted_out": 1, "refused": 0}
    assert (
        run("campaign", "pause", campaign, "--json").json["status_reason"] == "paused_by_operator"
    )
    refused = run("campaign", "launch", campaign)
    assert (refused.status, refused.err) == (
        1,
        (
            "heliograph: This campaign is paused; only one that is draft or scheduled can be"
            " launched.\n"
        ),
    )
    assert run("campaign", "resume", campaign, "--json").json["status"] == "sending"
    assert run("campaign", "cancel", campaign, "--json").json["status"] == "canceled"
    assert [
        one["id"]
        for one in run(
            "campaign", "list", "--account", "amina", "--status", "canceled", "--json"
        ).json
    ] == [campaign]
    assert run("campaign", "list", "--status", "draft", "--json").json == []


def test_a_campaign_that_was_estimated_and_tested_is_launched_to_its_whole_audience(
    run: Run, amina_id: str
) -> None:
    campaign = spring(run)["id"]
    run("campaign", "estimate", campaign)
    tested = run("campaign", "test", campaign, "--to", "233200000002", "--json").json
    assert (tested["status"], tested["credits_used"]) == ("queued", 1)
    launched = run("campaign", "launch", campaign, "--json").json
    assert (launched["status"], launched["recipients_total"], launched["credits_estimated"]) == (
        "sending",
        2,
        2,
    )


def test_both_figures_are_told_when_the_credits_do_not_reach(
    run: Run, db: Database, amina_id: str
) -> None:
    add_contacts(db, amina_id, [str(233_200_001_000 + k) for k in range(10)])
    campaign = run(
        "campaign", "create", "Spring", *ACCOUNT, "--message", "Hi", "--all", "--json"
    ).json["id"]
    refused = run("campaign", "launch", campaign)
    assert (refused.status, refused.err) == (
        1,
        "heliograph: This campaign takes 12 credits; the wallet holds 10.\n",
    )
    assert (
        run("campaign", "launch", campaign, "--as-far-as-credits-reach", "--json").json["status"]
        == "sending"
    )


@pytest.mark.parametrize(
    ("whom", "text", "unfilled"),
    [
        ("--all", "{name}, {phone}: {nmae|friend}", {"nmae": 2}),
        ("--tag=gold", "{name} {shop}", {"shop": 1}),
        ("--tag=nobody", "{nmae}", {}),
    ],
)
def test_a_placeholder_that_nobody_has_a_value_for_is_told_from_the_beginning(
    run: Run, amina_id: str, whom: str, text: str, unfilled: dict[str, int]
) -> None:
    made = run("campaign", "create", "Spring", *ACCOUNT, "--message", text, whom, "--json")
    told = [
        f"heliograph: none of the {people} contacts of the audience has a value for {{{name}}}: is"
        " it misspelled? Upper and lower case differ."
        for name, people in unfilled.items()
    ]
    assert made.err.splitlines() == told
    estimated = run("campaign", "estimate", made.json["id"], "--json")
    assert estimated.err.splitlines() == told
    launched = run("campaign", "launch", made.json["id"])
    assert launched.err.splitlines()[:1] == told or launched.status == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("phone,amount\n233200000000,3\n", "its columns are phone, amount"),
        ("233200000000\n", "it has no header"),
    ],
)
def test_a_placeholder_that_is_no_column_of_the_file_is_refused(
    run: Run, amina_id: str, tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "owed.csv"
    file.write_text(text, "utf-8")
    said = run(
        "campaign",
        "create",
        "Owed",
        *ACCOUNT,
        "--message",
        "{name|Dear}: {Amount}, {phone}",
        "--numbers",
        file,
    )
    assert (said.status, said.err) == (
        1,
        (
            "heliograph: The text asks for {name}, {Amount}, which is not a column of the file:"
            f" {told}.\n"
        ),
    )
    assert run("campaign", "list", "--json").json == []


def test_a_campaign_that_is_moved_goes_as_far_as_credits_reach_until_it_is_told_otherwise(
    run: Run, amina_id: str
) -> None:
    campaign = run(
        "campaign", "create", "Spring", *ACCOUNT, "--message", "Hi", "--all", "--json"
    ).json["id"]
    in_two_days = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%M}"
    for options, kept in (
        ((), False),
        (("--as-far-as-credits-reach",), True),
        ((), True),
        (("--no-as-far-as-credits-reach",), False),
    ):
        moved = run("campaign", "schedule", campaign, "--at", in_two_days, *options, "--json").json
        assert moved["as_far_as_credits_reach"] is kept


def test_all_values_of_a_campaign_that_are_wrong_are_told_together(run: Run, amina_id: str) -> None:
    said = run(
        "campaign",
        "create",
        " ",
        "--account",
        "amina",
        "--sender",
        "x" * 65,
        "--message",
        "{",
        "--tag",
        "a|b",
        "--rate",
        1_000_000,
        "--validity",
        "1s",
    )
    assert [line.split(" must ")[0].split(" has ")[0] for line in said.err.splitlines()] == [
        "heliograph: 6 values are wrong.",
        "  NAME",
        "  --sender",
        "  --message",
        "  --tag 1",
        "  --validity",
        "  --rate",
    ]


def test_times_are_those_of_the_accounts_time_zone(run: Run, amina_id: str) -> None:
    run("account", "set", "amina", "--time-zone", "Africa/Lagos")
    campaign = run(
        "campaign", "create", "Spring", *ACCOUNT, "--message", "Hi", "--tag", "gold", "--json"
    ).json["id"]
    year = int(run("campaign", "show", campaign, "--json").json["created_at"][:4])
    at = f"{year}-12-31T23:59"
    assert (
        run("campaign", "schedule", campaign, "--at", at, "--json").json["scheduled_at"]
        == f"{year}-12-31T22:59:00.000Z"
    )
    shown = run("campaign", "show", campaign).out
    assert re.search(rf"^scheduled at +{year}-12-31 23:59:00 WAT$", shown, re.MULTILINE)
    assert re.search(r"^statistics delivery rate +-$", shown, re.MULTILINE)
    refused = run("campaign", "schedule", campaign, "--at", "yesterday")
    assert (
        refused.status,
        refused.err.startswith("heliograph: --at must be a time such as 2027-01-31T09:30"),
    ) == (2, True)


def test_a_file_of_numbers_is_read_and_what_is_wrong_is_told_by_line(
    run: Run, amina_id: str, tmp_path: Path
) -> None:
    file = tmp_path / "owed.csv"
    file.write_text("phone,amount\n0200000000,3\n0200000001,4\n12,5\n0200000000,6\n", "utf-8")
    made = run(
        "campaign",
        "create",
        "Owed",
        *ACCOUNT,
        "--message",
        "You owe {amount}",
        "--numbers",
        file,
        "--country",
        "gh",
        "--json",
    )
    assert made.json["file"] == {
        "columns": ["phone", "amount"],
        "rows": 4,
        "recipients": 2,
        "duplicates": 1,
        "bad": 1,
        "without_value": {},
        "bad_rows": [{"line": 4, "why": "says '12', which is not a valid number"}],
    }
    assert made.err == "heliograph: line 4 is left out: it says '12', which is not a valid number\n"
    assert (
        run("campaign", "test", made.json["id"], "--to", "233200000001", "--json").json["message"]
        == "You owe 4"
    )
    assert run("campaign", "launch", made.json["id"], "--json").json["quote"]["opted_out"] == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--message", "Hi"], "Say whom it is for: one of --all, --tag and --numbers."),
        (
            ["--message", "Hi", "--all", "--tag", "gold"],
            "Say whom it is for: one of --all, --tag and --numbers, not several.",
        ),
        (["--all"], "Give the text: --message or --message-file."),
        (
            ["--message", "Hi", "--message-file", "-", "--all"],
            "Give the text once: --message or --message-file.",
        ),
        (
            ["--message", "Hi", "--all", "--country", "GH"],
            "--country is for the numbers of a file: give --numbers.",
        ),
    ],
)
def test_a_line_that_does_not_say_what_is_meant_is_a_mistake_in_it(
    run: Run, amina_id: str, options: list[str], told: str
) -> None:
    said = run("campaign", "create", "Spring", *ACCOUNT, *options)
    assert (said.status, told in said.err) == (2, True), said.err


def test_what_help_says_of_validity_is_what_is_taken(run: Run, amina_id: str) -> None:
    for shortest_or_longest, seconds in zip(("1m", "2d"), VALIDITY_S, strict=True):
        made = run(
            "campaign",
            "create",
            "Spring",
            *ACCOUNT,
            "--message",
            "Hi",
            "--all",
            "--validity",
            shortest_or_longest,
            "--json",
        )
        assert made.json["validity_s"] == seconds


def test_a_text_whose_braces_are_wrong_says_where(run: Run, amina_id: str) -> None:
    said = run("campaign", "create", "Spring", *ACCOUNT, "--message", "Hi {name", "--all")
    assert (said.status, said.err) == (
        2,
        (
            "heliograph: --message has a { at character 4 that is not part of a placeholder such"
            " as {name}; for a brace in the text, write two: {{.\n"
        ),
    )


def test_a_text_is_read_from_a_file_without_its_byte_order_mark_and_one_that_is_not_utf_8_is_told(
    run: Run, amina_id: str, tmp_path: Path
) -> None:
    file = tmp_path / "offer.txt"
    file.write_bytes(b"\xef\xbb\xbfHi {name},\r\nmangoes are back.\r\n")
    made = run(
        "campaign", "create", "Spring", *ACCOUNT, "--message-file", file, "--all", "--json"
    ).json
    assert made["message"] == "Hi {name},\nmangoes are back."
    file.write_bytes(b"caf\xe9 offers")
    refused = run("campaign", "create", "Spring", *ACCOUNT, "--message-file", file, "--all")
    assert (refused.status, refused.err) == (
        1,
        "heliograph: --message-file is not UTF-8: the octet E9 cannot stand where it does.\n",
    )
