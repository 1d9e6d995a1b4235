"""The operator's commands about messages and receipts are run as they are typed; beside them runs
what a server would do.
"""

import re

import pytest
import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.carriers import SubmitOutcome
from heliograph.messages import read
from heliograph.messages.doubt import trace
from heliograph.messages.tables import inflight
from tests.support.capability.commands import Run
from tests.support.capability.doubtful import RESEND, SETTLE, TEXT, Beside
from tests.support.capability.sending import House
from tests.support.factories import phones


def test_what_is_in_doubt_is_listed_with_what_comes_next_and_without_its_text(
    run: Run, doubtful: list[str]
) -> None:
    one, long, otp, sent = doubtful
    listed = run("message", "list", "--in-doubt", "--json")
    assert TEXT not in listed.out
    found = listed.json
    assert [
        (each["id"], each["segments_in_doubt"], each["status"], each["carrier"]) for each in found
    ] == [
        (otp, [1], "queued", "carrier"),
        (long, [2, 3], "queued", "carrier"),
        (one, [1], "queued", "carrier"),
    ]
    assert [each["recipient"] for each in found] == [phones(2)[1], phones(2)[1], phones(1)[0]]
    assert [each["resend_at"] is None for each in found] == [True, False, False]
    assert all(each["expires_at"] > each["in_doubt_since"] >= each["created_at"] for each in found)
    run("carrier", "set", "carrier", "--in-doubt", "never")
    assert {each["resend_at"] for each in run("message", "list", "--in-doubt", "--json").json} == {
        None
    }
    printed = run("message", "list", "--in-doubt", "--limit", 2)
    assert re.split("  +", printed.out.splitlines()[0]) == [
        "ID",
        "CARRIER",
        "TYPE",
        "RECIPIENT",
        "STATUS",
        "SEGMENTS IN DOUBT",
        "IN DOUBT SINCE",
        "RESEND AT",
        "EXPIRES AT",
    ]
    assert printed.err == f"There may be more: --before {long}\n"
    assert [
        each["id"] for each in run("message", "list", "--in-doubt", "--before", long, "--json").json
    ] == [one]
    assert [each["id"] for each in run("message", "list", "--json").json] == [sent, otp, long, one]


def test_a_list_shows_one_moment_though_a_doubt_is_settled_while_it_is_read(
    run: Run, doubtful: list[str], beside: Beside
) -> None:
    settled: list[str] = []

    def settle(_connection: object, _cursor: object, statement: str, *_others: object) -> None:
        if not settled and "FROM inflight" in statement:
            settled.append(statement)
            with beside.house.db.write() as tx:
                tx.execute(
                    sa.delete(inflight).where(
                        inflight.c.message_id == ids.raw_of_text("msg", doubtful[0])
                    )
                )

    sa.event.listen(sa.Engine, "after_cursor_execute", settle)
    try:
        listed = run("message", "list", "--in-doubt", "--json").json
    finally:
        sa.event.remove(sa.Engine, "after_cursor_execute", settle)
    assert settled
    assert [(each["id"], each["segments_in_doubt"]) for each in listed] == [
        (doubtful[2], [1]),
        (doubtful[1], [2, 3]),
        (doubtful[0], [1]),
    ]
    assert [each["id"] for each in run("message", "list", "--in-doubt", "--json").json] == [
        doubtful[2],
        doubtful[1],
    ]


@pytest.mark.parametrize(
    ("options", "places"),
    [
        (["--in-doubt", "--carrier", "carrier"], [2, 1, 0]),
        (["--in-doubt", "--carrier", "simulator"], []),
        (["--in-doubt", "--account", "amina"], [2, 1, 0]),
        (["--in-doubt", "--account", "bilal"], []),
        (["--in-doubt", "--older-than", "1h"], []),
        (["--in-doubt", "--older-than", "0s"], [2, 1, 0]),
        (["--in-doubt", "--status", "failed"], []),
        (["--status", "sent"], [3]),
        (["--account", "bilal"], []),
        (["--carrier", "carrier", "--status", "queued"], [2, 1, 0]),
    ],
)
def test_a_list_is_narrowed(
    run: Run, doubtful: list[str], options: list[str], places: list[int]
) -> None:
    run("account", "create", "bilal", "--country", "GH", "--currency", "GHS")
    assert [
        doubtful.index(each["id"]) for each in run("message", "list", *options, "--json").json
    ] == places


def test_a_message_is_as_old_in_doubt_as_the_last_of_its_segments(run: Run, beside: Beside) -> None:
    async def make(house: House) -> None:
        link = await house.submitted(text=TEXT * 20)
        one, *others = link.submitted
        link.answer(one, outcome=SubmitOutcome.UNANSWERED)
        await link.turn.run_once()
        clock.move(by_ms=60_000)
        link.answer(*others, outcome=SubmitOutcome.UNANSWERED)
        await link.turn.run_once()

    beside.do(make)
    assert run("message", "list", "--in-doubt", "--older-than", "30s", "--json").json == []
    clock.move(by_ms=30_000)
    assert len(run("message", "list", "--in-doubt", "--older-than", "30s", "--json").json) == 1


def test_a_list_that_has_looked_through_enough_says_where_to_go_on(
    run: Run, doubtful: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (read, trace):
        monkeypatch.setattr(module, "LOOKED_AT_MAX", 2)
    first = run("message", "list", "--status", "delivered")
    assert first.err == f"Searched 2 messages. There may be more: --before {doubtful[2]}\n"
    assert [
        each["id"] for each in run("message", "list", "--before", doubtful[2], "--json").json
    ] == [doubtful[1], doubtful[0]]


def test_a_message_is_shown_with_its_segments_and_what_was_decided(
    run: Run, doubtful: list[str]
) -> None:
    run(*SETTLE, "sent", doubtful[1])
    shown = run("message", "show", doubtful[1], "--json")
    assert TEXT not in shown.out
    record = shown.json
    assert (record["status"], record["credits"], record["recipient"]) == ("sent", 3, phones(2)[1])
    assert [entry["status"] for entry in record["timeline"]] == ["queued", "sent"]
    assert [
        (each["segment"], each["state"], each["carrier"], each["ref"], each["receipt"])
        for each in record["segments"]
    ] == [
        (1, "delivered", "carrier", "aa1", "DELIVRD"),
        (2, "accepted", None, None, None),
        (3, "accepted", None, None, None),
    ]
    assert record["decisions"] == [
        {
            "decision": "sent",
            "segments": [2, 3],
            "carrier": "carrier",
            "decided_by": "kofi",
            "reason": "ticket 4711",
            "decided_at": record["decisions"][0]["decided_at"],
        }
    ]
    printed = run("message", "show", doubtful[1]).out
    assert "ticket 4711" in printed
    assert "DELIVRD" in printed
    segments = run("message", "show", doubtful[0], "--json").json["segments"]
    assert [(each["state"], each["carrier"], each["attempt"]) for each in segments] == [
        ("in_doubt", "carrier", 1)
    ]
    run(*RESEND, doubtful[0])
    segment = run("message", "show", doubtful[0], "--json").json["segments"][0]
    assert (segment["state"], segment["carrier"], segment["attempt"], segment["resent"]) == (
        "queued",
        "carrier",
        2,
        True,
    )


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["message", "show", "msg_nonsense"], "There is no message 'msg_nonsense'."),
        (["message", "list", "--before", "x"], "There is no message 'x'."),
        (["message", "list", "--in-doubt", "--carrier", "mtn"], "There is no carrier 'mtn'."),
        (
            [*SETTLE, "sent", "msg_01m7xjf7d0e0096sn80kyqrthc"],
            "There is no message 'msg_01m7xjf7d0e0096sn80kyqrthc'.",
        ),
        ([*RESEND, "--carrier", "mtn"], "There is no carrier 'mtn'."),
        (
            ["receipt", "match", "nonsense", "--message", "{0}"],
            "There is no unmatched receipt 'nonsense'.",
        ),
        (
            ["receipt", "match", "mtn/aa7", "--message", "{0}"],
            "There is no unmatched receipt 'mtn/aa7'.",
        ),
        (
            ["receipt", "match", "carrier/aa9", "--message", "{0}"],
            "There is no unmatched receipt 'carrier/aa9'.",
        ),
        (
            ["receipt", "match", "carrier/aa7", "--message", "{1}"],
            "names another handset than the message msg_",
        ),
    ],
)
def test_a_failure_is_one_line_and_status_1(
    run: Run, doubtful: list[str], args: list[str], told: str
) -> None:
    said = run(*(arg.format(*doubtful) for arg in args))
    assert (said.status, said.out, said.err.count("\n")) == (1, "", 1), said
    assert said.err.startswith("heliograph: ")
    assert told in said.err


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["message", "resend", "--carrier", "carrier", "--reason", " "],
            "--reason must have 1 to 255 characters, not 0.",
        ),
        (
            [*RESEND, "--by", "a\nb", "--carrier", "carrier"],
            "--by must be one line of printable characters.",
        ),
    ],
)
def test_a_value_that_is_refused_is_one_line_and_status_2(
    run: Run, doubtful: list[str], args: list[str], told: str
) -> None:
    said = run(*(arg.format(*doubtful) for arg in args))
    assert (said.status, said.out, said.err.count("\n")) == (2, "", 1), said
    assert said.err.startswith("heliograph: ")
    assert told in said.err


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("args", "told"),
    [
        ([*RESEND], "Give IDs, or --carrier"),
        ([*RESEND, "msg_1", "--carrier", "carrier"], "Give IDs, or --carrier"),
        ([*RESEND, "msg_1", "--older-than", "10m"], "Give IDs, or --carrier"),
        (
            [*SETTLE, "lost", "msg_1"],
            "'lost' is not one of 'sent', 'delivered', 'undeliverable', 'canceled'.",
        ),
        (["message", "settle", "msg_1", "--as", "sent"], "Missing option '--reason'"),
        (["message", "list", "--older-than", "10m"], "give --in-doubt too"),
        (
            ["message", "list", "--in-doubt", "--older-than", "10"],
            "'10' is not a length of time such as 30s, 10m, 2h or 1d.",
        ),
        (["receipt", "list"], "Give --unmatched"),
        (["receipt", "match", "carrier/aa7"], "Missing option '--message'"),
    ],
)
def test_a_mistake_in_the_command_line_is_status_2(run: Run, args: list[str], told: str) -> None:
    said = run(*args)
    assert (said.status, told in said.err) == (2, True), said.err


def test_one_queued_message_is_canceled_and_the_command_says_why_it_is_not(
    run: Run, beside: Beside
) -> None:
    async def made(house: House) -> list[str]:
        link = await house.submitted(phones(2)[0])
        await house.send(phones(2)[1])
        assert link.open
        return [ids.text_of_raw("msg", row.id) for row in house.messages()]

    given, queued = beside.do(made)
    assert run("message", "cancel", queued, "--json").json == {
        "id": queued,
        "canceled": 1,
        "credits_refunded": 1,
    }
    assert run("message", "show", queued, "--json").json["error"]["code"] == "canceled"
    assert run("ledger", "verify", "--json").json["proven"]
    for message, why in (
        (queued, "was canceled already."),
        (given, "has left the queue: a carrier has it, and will answer."),
    ):
        refused = run("message", "cancel", message)
        assert refused.status == 1
        assert refused.err == f"heliograph: The message {message} {why}\n"
    assert run("message", "cancel", "msg_x").status == 1
    for none_or_both in ((), (queued, "--account", "amina")):
        assert run("message", "cancel", *none_or_both).status == 2
