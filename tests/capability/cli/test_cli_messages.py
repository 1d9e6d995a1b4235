"""The operator's commands about messages and receipts, as they are typed; beside them,
what a server would do.
"""

import getpass
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest
import sqlalchemy as sa
import uvloop

from heliograph.base import clock, ids
from heliograph.carriers import Outcome
from heliograph.messages import read
from heliograph.messages.doubt import trace
from heliograph.messages.tables import inflight
from tests.capability.messages.test_decide import in_doubt, unanswered
from tests.support.capability.commands import Run
from tests.support.capability.sending import House
from tests.support.factories import phones

T = TypeVar("T")
TEXT = "nobody's business"
SETTLE = ("message", "settle", "--reason", "ticket 4711", "--by", "kofi", "--as")
WHY = {
    "undeliverable": "The message could not be delivered to the handset. (UNDELIV)",
    "canceled": (
        "The message was canceled. (it was in doubt whether it was sent; the operator decided so)"
    ),
}
RESEND = ("message", "resend", "--reason", "ticket 4711", "--by", "kofi")


class Beside:
    """A house whose own parts do what a server beside the commands would do; each time in an event
    loop of its own.
    """

    def __init__(self, house: House) -> None:
        self.house = house

    def do(self, doing: Callable[[House], Awaitable[T]]) -> T:
        async def whole() -> T:
            try:
                return await doing(self.house)
            finally:
                await self.house.db.close_hot()

        return uvloop.run(whole())


@pytest.fixture
def beside(house: House) -> Iterator[Beside]:
    yield Beside(house)
    house.assert_sound()
    house.db.close()


@pytest.fixture
def doubtful(beside: Beside) -> list[str]:
    """The ids of three messages in doubt (bulk, of three segments, OTP) and one that is
    sent, in the order of acceptance.
    """

    async def make(house: House) -> list[str]:
        link = await in_doubt(house, phones(1)[0], text=TEXT)
        for text, kind in ((TEXT * 20, "sms"), (TEXT, "otp")):
            await house.send(phones(2)[1], text, kind=kind, validity_s=3_600)
            await link.turn.once()
            if kind == "sms":
                link.answer(link.submitted[-3], ref="aa1")
                link.receive("aa1", phones(2)[1])
            await unanswered(link)
        await house.send(phones(4)[3], TEXT)
        await link.turn.once()
        link.answer(*link.open.values())
        link.receive(None, phones(2)[1], sender="OTHER")
        link.receive("7f\u202e3a", phones(1)[0], None)
        link.receive("aa7", phones(1)[0])
        await link.turn.once()
        return [ids.text_of_raw("msg", row.id) for row in house.messages()]

    return beside.do(make)


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
        link.answer(one, outcome=Outcome.UNANSWERED)
        await link.turn.once()
        clock.move(by_ms=60_000)
        link.answer(*others, outcome=Outcome.UNANSWERED)
        await link.turn.once()

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
    assert first.err == f"Looked through 2 messages. There may be more: --before {doubtful[2]}\n"
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


@pytest.mark.parametrize(
    ("as_", "status", "error", "refunded"),
    [
        ("sent", "sent", None, 0),
        ("delivered", "delivered", None, 0),
        ("undeliverable", "failed", "undeliverable", 0),
        ("canceled", "failed", "canceled", 1),
    ],
)
def test_one_is_settled(
    run: Run, doubtful: list[str], as_: str, status: str, error: str | None, refunded: int
) -> None:
    assert run(*SETTLE, as_, doubtful[0], "--json").json == [
        {
            "id": doubtful[0],
            "status": status,
            "error": error,
            "credits_refunded": refunded,
            "refused": None,
        }
    ]
    assert run("ledger", "verify", "--json").json["proven"]
    told = run("message", "show", doubtful[0], "--json").json["error"]
    assert told == (None if error is None else {"code": error, "message": WHY[error]})
    again = run(*SETTLE, as_, doubtful[0])
    assert (again.status, again.out, again.err) == (
        1,
        "",
        f"heliograph: The message {doubtful[0]} is not in doubt: it is {status}.\n",
    )


def test_all_of_a_carrier_are_settled_or_sent_again_but_no_otp(
    run: Run, doubtful: list[str], beside: Beside
) -> None:
    one, long, otp, _ = doubtful
    clock.move(by_ms=60_000)
    young = run(*RESEND, "--carrier", "carrier", "--older-than", "2m", "--json")
    assert young.json == []
    said = run(*RESEND, "--carrier", "carrier", "--older-than", "1m")
    assert (said.status, [line.split()[0] for line in said.out.splitlines()[1:]]) == (
        0,
        [one, long],
    )
    assert (
        said.err
        == f"1 of 3 messages left as they were: The message {otp} is a one-time password: it is"
        " never sent twice. It can be settled.\n"
    )
    settled = run(*SETTLE, "canceled", "--carrier", "carrier", "--account", "amina", "--json").json
    assert [(each["id"], each["credits_refunded"]) for each in settled] == [(otp, 1)]

    async def go_on(house: House) -> list[tuple[int, int]]:
        link = house.turn()
        await link.turn.once()
        return [(submission.part, submission.attempt) for submission in link.submitted]

    assert beside.do(go_on) == [(1, 2), (2, 2), (3, 2)]


def test_of_several_ids_those_in_doubt_are_settled_and_the_others_named(
    run: Run, doubtful: list[str]
) -> None:
    one, long, _, sent = doubtful
    said = run(*SETTLE, "sent", one, sent, long, one)
    assert (said.status, [line.split()[0] for line in said.out.splitlines()[1:]]) == (
        1,
        [one, long],
    )
    assert (
        said.err
        == f"heliograph: 1 of 3 messages left as they were: The message {sent} is not in doubt: it"
        " is sent.\n"
    )


def test_who_decided_is_who_is_signed_in_unless_told(
    run: Run, doubtful: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    run("message", "settle", doubtful[0], "--as", "sent", "--reason", "x")
    monkeypatch.setenv("SUDO_USER", "ama")
    run("message", "resend", doubtful[1], "--reason", "x")
    decided = [
        run("message", "show", message_id, "--json").json["decisions"][0]["decided_by"]
        for message_id in doubtful[:2]
    ]
    assert decided == [getpass.getuser(), "ama"]


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


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ([*RESEND], "Say which: IDs, or --carrier"),
        ([*RESEND, "msg_1", "--carrier", "carrier"], "Say which: IDs, or --carrier"),
        ([*RESEND, "msg_1", "--older-than", "10m"], "Say which: IDs, or --carrier"),
        (
            [*SETTLE, "lost", "msg_1"],
            "'lost' is not one of 'sent', 'delivered', 'undeliverable', 'canceled'.",
        ),
        (["message", "settle", "msg_1", "--as", "sent"], "Missing option '--reason'"),
        (["message", "list", "--older-than", "10m"], "say --in-doubt too"),
        (
            ["message", "list", "--in-doubt", "--older-than", "10"],
            "'10' is not a length of time such as 30s, 10m, 2h or 1d.",
        ),
        (["receipt", "list"], "Say --unmatched"),
        (["receipt", "match", "carrier/aa7"], "Missing option '--message'"),
    ],
)
def test_a_mistake_in_the_command_line_is_status_2(run: Run, args: list[str], told: str) -> None:
    said = run(*args)
    assert (said.status, told in said.err) == (2, True), said.err


# receipts


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
