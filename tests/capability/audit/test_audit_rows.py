"""The audit of the database, and the command: whatever is changed of messages, queue or flights is
found, and told.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from heliograph.audit.audit import FINDINGS_SHOWN_MAX
from heliograph.base import ids
from heliograph.cli import main
from heliograph.messages.queue.rank import BULK_FROM_US
from heliograph.messages.tables import (
    carrier_refs,
    inflight,
    messages,
    operator_decisions,
    queue,
    sends,
)
from tests.support.capability.lived import (
    NOWHERE,
    RECIPIENTS,
    TEXTS,
    Lived,
    audited,
    known,
    rows,
    submits_of,
    written,
)
from tests.support.factories import SECRET_KEY


def _one(status: str, **others: object) -> sa.ScalarSelect[Any]:
    """The id of a message of one segment."""
    where = [messages.c[name] == value for name, value in others.items()]
    return (
        sa.select(messages.c.id)
        .where(messages.c.status == status, messages.c.segments == 1, ~messages.c.sandbox, *where)
        .order_by(messages.c.id)
        .limit(1)
        .scalar_subquery()
    )


def _update(status: str, values: dict[str, object], **others: object) -> sa.Update:
    return sa.update(messages).where(messages.c.id == _one(status, **others)).values(**values)


LONG = (
    sa.select(messages.c.id)
    .where(messages.c.status == "delivered", messages.c.segments == 3)
    .order_by(messages.c.id)
    .limit(1)
    .scalar_subquery()
)
DOUBTFUL = (
    sa.select(inflight.c.message_id).order_by(inflight.c.message_id).limit(1).scalar_subquery()
)
RUN = {
    "carrier_id": 1,
    "rank_us": 1,
    "count": 1,
    "segments": 1,
    "prefix": "",
    "attempt": 1,
    "not_before_ms": 0,
    "expires_at_ms": 1 << 50,
}
FLIGHT = {
    "part": 1,
    "parts": 1,
    "carrier_id": 1,
    "worker": 1,
    "attempt": 1,
    "prefix": "",
    "expires_at_ms": 1 << 50,
    "since_ms": 0,
}
NOBODY_SAID = "neither an operator nor its campaign has said so"
FRESH, BACK = {**RUN, "rank_us": BULK_FROM_US}, RUN  # never handed to a carrier; came back from one


def _puts(message: sa.ScalarSelect[Any], run: dict[str, Any]) -> sa.Insert:
    """Into the queue, as its send's."""
    its = sa.select(messages.c.id, messages.c.send_id, messages.c.segments).where(
        messages.c.id == message
    )
    values = {name: value for name, value in run.items() if name != "segments"}
    return sa.insert(queue).from_select(
        ["first_id", "send_id", "segments", *values],
        its.add_columns(*map(sa.literal, values.values())),
    )


def _queues(
    *runs: dict[str, Any], message: sa.ScalarSelect[Any] | None = None, state: str | None = None
) -> list[sa.Executable]:
    """Makes a message wait anew: in these runs and, with this state, in flight."""
    chosen = _one("sent") if message is None else message
    what: list[sa.Executable] = [_puts(chosen, run) for run in runs]
    what += (
        []
        if state is None
        else [sa.insert(inflight).values(message_id=chosen, state=state, **FLIGHT)]
    )
    anew = {"status": "queued", "parts_accepted": 0, "parts_delivered": 0}
    return [*what, sa.update(messages).where(messages.c.id == chosen).values(anew)]


def _fails(code: str, why: str | None = None, **others: object) -> list[sa.Executable]:
    """Of a message that was delivered: the log says taken, DELIVRD, acknowledged."""
    at_ms = {"failed_at_ms": messages.c.delivered_at_ms, "delivered_at_ms": None}
    return [
        _update(
            "delivered",
            {"status": "failed", "error_code": code, "error_message": why, **at_ms, **others},
        )
    ]


def _decides(message: sa.ScalarSelect[Any], decision: str, at_ms: int = 0) -> sa.Insert:
    return sa.insert(operator_decisions).values(
        id=NOWHERE,
        message_id=message,
        carrier_id=1,
        parts=1,
        decision=decision,
        decided_by="amina",
        reason="asked the carrier",
        decided_at_ms=at_ms,
    )


TAMPERED: dict[str, tuple[Any, str, str]] = {
    "a message": (
        sa.delete(messages).where(messages.c.id == _one("delivered")),
        "unexplained",
        "nobody has sent: its id is that of msg_",
    ),
    "a message that a client was promised": (
        sa.delete(messages).where(messages.c.id == _one("delivered")),
        "lost",
        "was answered 200",
    ),
    "the flight of a doubt": (
        sa.delete(inflight).where(inflight.c.message_id == DOUBTFUL),
        "lost",
        "neither waits for a carrier nor is in flight",
    ),
    "a doubt's state": (
        sa.update(inflight).values(state="claimed"),
        "unexplained",
        "neither accepted here nor in doubt",
    ),
    "a flight of no message": (
        sa.insert(inflight).values(message_id=NOWHERE, state="submitting", **FLIGHT),
        "unexplained",
        "and it is not there",
    ),
    "a flight of the last": (
        sa.insert(inflight).values(message_id="f" * 32, state="submitting", **FLIGHT),
        "unexplained",
        "and it is not there",
    ),
    "a run of no message": (
        sa.insert(queue).values(first_id=NOWHERE, send_id=NOWHERE, **RUN),
        "unexplained",
        "1 of them are not there",
    ),
    "a run of the last": (
        sa.insert(queue).values(first_id="f" * 32, send_id=NOWHERE, **RUN),
        "unexplained",
        "1 of them are not there",
    ),
    "a run of another send": (
        sa.insert(queue).values(first_id=_one("delivered"), send_id=NOWHERE, **RUN),
        "unexplained",
        "as another send's",
    ),
    "a delivered message": (
        _update("delivered", {"status": "sent"}),
        "unexplained",
        "it is sent, and all of its segments are delivered",
    ),
    "its segments": (
        _update("delivered", {"status": "sent", "parts_delivered": 0}),
        "lost",
        "was acknowledged, and nothing is known of it",
    ),
    "a sent message": (
        _update("sent", {"status": "queued"}),
        "lost",
        "it is queued, and all of it is accepted",
    ),
    "what is accepted of it": (
        _update("sent", {"status": "queued", "parts_accepted": 0}),
        "lost",
        "neither waits for a carrier nor is in flight",
    ),
    "a doubt that nobody settled": (
        _update("queued", {"parts_accepted": 1}),
        "lost",
        "it is queued, and all of it is accepted",
    ),
    "one that has failed by itself": (
        _update("sent", {"status": "failed", "error_code": "unknown", "failed_at_ms": 1}),
        "unexplained",
        "no receipt of the SMSC has said so",
    ),
    "one called undeliverable": (
        _update("sent", {"status": "failed", "error_code": "undeliverable", "failed_at_ms": 1}),
        "unexplained",
        "no receipt of the SMSC has said so",
    ),
    "one delivered by itself": (
        _update("sent", {"status": "delivered", "parts_delivered": 1, "delivered_at_ms": 1}),
        "unexplained",
        "the SMSC has not said so",
    ),
    "one delivered in part": (
        sa.update(messages).where(messages.c.id == LONG).values(parts_delivered=5),
        "unexplained",
        "not all of its segments",
    ),
    "one with too many segments": (
        _update("delivered", {"parts_accepted": 3}),
        "unexplained",
        "and knows of others",
    ),
    "one that nobody took": (
        _update("failed", {"parts_accepted": 1}, error_code="carrier_rejected"),
        "lost",
        "the SMSC has not taken it",
    ),
    "why it has failed": (
        _update("failed", {"error_code": "rejected"}, error_code="undeliverable"),
        "unexplained",
        "no receipt of the SMSC",
    ),
    "with which status": (
        _update(
            "failed",
            {"error_message": "(command_status 0x00000045)"},
            error_code="carrier_rejected",
        ),
        "unexplained",
        "command_status 0x00000045",
    ),
    "when it was delivered": (
        _update("delivered", {"delivered_at_ms": None}),
        "unexplained",
        "not since when",
    ),
    "when it was sent": (_update("sent", {"sent_at_ms": None}), "unexplained", "not since when"),
    "when it failed": (_update("failed", {"failed_at_ms": None}), "unexplained", "not since when"),
    "the mark of a second try": (
        sa.update(messages).values(parts_resent=0),
        "unexplained",
        "was sent again",
    ),
    "an OTP sent twice": (sa.update(sends).values(type="otp"), "unexplained", "was sent again"),
    "a text": (
        sa.update(sends).where(sends.c.segments == 3).values(text=TEXTS[1][:-2] + "! "),
        "unexplained",
        "has another text",
    ),
    "a text, and who is missing": (
        sa.update(sends).where(sends.c.segments == 3).values(text=TEXTS[1][:-2] + "! "),
        "lost",
        "has not taken it",
    ),
    "a sender": (sa.update(sends).values(sender="CHIDI"), "unexplained", "has another sender"),
    "a recipient": (
        _update("sent", {"recipient": 233_209_999_999}),
        "unexplained",
        "its id is that of msg_",
    ),
    "a carrier's id": (
        sa.update(carrier_refs)
        .where(carrier_refs.c.message_id == _one("delivered"))
        .values(ref="feed"),
        "lost",
        "the carrier's id feed, which no SMSC has given",
    ),
    "a carrier's id of another": (
        sa.insert(carrier_refs).from_select(
            ["carrier_id", "ref", "message_id", "parts", "created_at_ms"],
            sa.select(
                carrier_refs.c.carrier_id,
                sa.literal("00") + carrier_refs.c.ref,
                _one("sent"),
                sa.literal(1),
                sa.literal(0),
            ).where(carrier_refs.c.message_id == _one("delivered")),
        ),
        "unexplained",
        " has too",
    ),
    "a carrier's id of another part": (
        sa.update(carrier_refs)
        .where(carrier_refs.c.message_id == LONG, carrier_refs.c.parts == 1)
        .values(parts=2),
        "unexplained",
        "is not that of the same part at the SMSC",
    ),
    "a waiting message in flight": (
        _queues(FRESH, state="submitting"),
        "unexplained",
        "at 2 places at once",
    ),
    "a waiting message in two runs": (_queues(FRESH, BACK), "unexplained", "at 2 places at once"),
    "a long one in two runs": (
        _queues(FRESH, {**BACK, "carrier_id": 2}, message=LONG),
        "unexplained",
        "as if it had never been handed to a carrier",
    ),
    "a long one twice with a carrier": (
        _queues(BACK, {**BACK, "rank_us": 2}, message=LONG),
        "unexplained",
        "waits for one carrier more than once",
    ),
    "a run of a delivered message": (
        _puts(_one("delivered", parts_resent=0), BACK),
        "unexplained",
        "it is delivered, and still waits in the queue",
    ),
    "a run of a long one": (
        _puts(LONG, FRESH),
        "unexplained",
        "as if it had never been handed to a carrier",
    ),
    "a flight of a delivered message": (
        sa.insert(inflight).values(
            message_id=_one("delivered", parts_resent=0), state="in_doubt", **FLIGHT
        ),
        "unexplained",
        "it is delivered, and still waits in the queue, or is in flight",
    ),
    "a flight of a failed message": (
        sa.insert(inflight).values(
            message_id=_one("failed", parts_resent=0), state="claimed", **FLIGHT
        ),
        "unexplained",
        "it is failed, and still waits in the queue, or is in flight",
    ),
    "a flight of a long one": (
        sa.insert(inflight).values(message_id=LONG, state="in_doubt", **FLIGHT),
        "unexplained",
        "was accepted before",
    ),
    "one canceled by nobody": (_fails("canceled"), "unexplained", NOBODY_SAID),
    "one canceled after another decision": (
        [_decides(_one("delivered"), "resent"), *_fails("canceled")],
        "unexplained",
        NOBODY_SAID,
    ),
    "one without a route": (_fails("no_route"), "unexplained", "the SMSC has taken it"),
    "one that was blocked": (
        _fails("blocked"),
        "unexplained",
        "it has failed (blocked), and all of it is accepted",
    ),
    "one that the carrier refused": (
        _fails("carrier_rejected", "(it cannot be encoded for this carrier)"),
        "unexplained",
        "all of it is accepted",
    ),
    "one refused with no status": (
        _fails("carrier_rejected"),
        "unexplained",
        "not with which command_status",
    ),
    "one expired too early": (
        _fails("expired", parts_accepted=0),
        "unexplained",
        "no receipt of the SMSC has said so",
    ),
    "one unknown too early": (
        _fails("unknown", parts_accepted=0),
        "unexplained",
        "no receipt of the SMSC has said so",
    ),
    "one in sandbox": (
        _update("delivered", {"sandbox": True}),
        "unexplained",
        "a submit_sm that nobody has sent",
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_whatever_is_changed_in_the_database_is_found(
    lived: Lived, tmp_path: Path, what: str
) -> None:
    statement, kind, told = TAMPERED[what]
    found = audited(lived, tmp_path, change=statement)
    assert any(finding.kind == kind and told in finding.what for finding in found.findings), found
    assert found.figures[kind] >= sum(finding.kind == kind for finding in found.findings)


@pytest.mark.parametrize(
    ("what", "message", "decision"),
    [
        ("one delivered by itself", _one("sent"), "delivered"),
        ("one called undeliverable", _one("sent"), "undeliverable"),
        ("one that nobody took", _one("failed", error_code="carrier_rejected"), "sent"),
    ],
)
def test_what_the_operator_has_decided_is_explained_by_that(
    lived: Lived, tmp_path: Path, what: str, message: Any, decision: str
) -> None:
    assert not audited(lived, tmp_path, change=TAMPERED[what][0]).is_clean
    assert audited(
        lived, tmp_path, change=(_decides(message, decision), TAMPERED[what][0])
    ).is_clean


def test_what_the_operator_sends_again_is_sent_again(lived: Lived, tmp_path: Path) -> None:
    resent = next(
        row for row in rows(lived, messages.c.parts_resent == 1) if len(_places(lived, row)) == 2
    )
    place = _places(lived, resent)[-1]
    again = {
        **lived.events[place],
        "session": 9,
        "message_id": "feed",
        "at_ms": lived.events[place]["at_ms"] + 1,
    }
    events = [*lived.events[: place + 1], again, *lived.events[place + 1 :]]
    assert not audited(lived, tmp_path, events=events).is_clean
    its_id = sa.select(sa.literal(resent.id, messages.c.id.type)).scalar_subquery()
    # said before it was sent, or after
    for at_ms, is_explained in ((again["at_ms"], True), (again["at_ms"] + 1, False)):
        assert (
            audited(
                lived, tmp_path, events=events, change=_decides(its_id, "resent", at_ms)
            ).is_clean
            == is_explained
        )


def _places(lived: Lived, row: Any) -> list[int]:
    """Of a message's submissions, as long as it was taken."""
    return [
        place
        for place in submits_of(lived)
        if lived.events[place]["recipient"] == str(row.recipient)
        and lived.events[place]["message_id"]
    ]


def test_many_findings_are_counted_and_the_first_are_told(lived: Lived, tmp_path: Path) -> None:
    found = audited(lived, tmp_path, events=[], shown_max=FINDINGS_SHOWN_MAX)
    taken = {row.id for row in rows(lived) if row.parts_accepted}
    assert len(found.findings) == FINDINGS_SHOWN_MAX
    assert found.figures["lost"] >= len(taken)


def test_queued_messages_wait_in_runs_that_hold_them(lived: Lived, tmp_path: Path) -> None:
    """A run holds consecutive messages of a send; it may be short of none, and holds none
    but them.
    """
    of_send = rows(lived, messages.c.segments == 3)
    send_id, first, count = of_send[0].send_id, of_send[0].id, len(of_send)
    anew = (
        sa.update(messages)
        .where(messages.c.send_id == send_id)
        .values(
            status="queued",
            parts_accepted=0,
            parts_delivered=0,
            error_code=None,
            error_message=None,
        )
    )
    for held, is_found in ((count, False), (count - 1, True), (count + 1, True)):
        run = sa.insert(queue).values(
            first_id=first, send_id=send_id, **{**RUN, "count": held, "segments": 3}
        )
        found = audited(
            lived,
            tmp_path,
            events=[event for event in lived.events if event.get("parts") != 3],
            change=(anew, run),
        )
        faults = [finding for finding in found.findings if "queue" in finding.what]
        assert bool(faults) == is_found, found


# --- the command


def run(lived: Lived, *args: object) -> Result:
    return CliRunner().invoke(
        main,
        ["ledger", "verify", *map(str, args)],
        env={"DATABASE_URL": lived.db.url, "HELIOGRAPH_SECRET_KEY": SECRET_KEY},
    )


def test_the_command_proves_messages_beside_the_ledger(lived: Lived, tmp_path: Path) -> None:
    log, accepted = written(lived.events, tmp_path / "smsc.jsonl"), tmp_path / "accepted.txt"
    accepted.write_text("\n".join(lived.accepted))
    said = run(lived, "--smsc-log", log, "--accepted", accepted, "--json")
    assert (said.exit_code, said.stderr) == (0, "")
    told = json.loads(said.stdout)
    assert (
        told.items()
        >= {
            "proven": True,
            "wallets": 1,
            "messages": len(lived.accepted),
            "lost": 0,
            "unexplained": 0,
            "findings": [],
        }.items()
    )
    assert {"submitted", "repeated", "duplicates"} <= set(told)
    assert told["promised"] == len(lived.accepted)
    assert run(lived, "--accepted", accepted).exit_code == 0
    assert "promised" not in run(lived).stdout
    assert "messages" not in json.loads(run(lived, "--json").stdout)


def test_the_command_tells_which_message_and_why(lived: Lived, tmp_path: Path) -> None:
    place = known(lived)[0]
    log = written(lived.events[:place] + lived.events[place + 1 :], tmp_path / "smsc.jsonl")
    accepted = tmp_path / "accepted.txt"
    missing = ids.new("msg")
    accepted.write_text(f"{missing}\n")
    said = run(lived, "--smsc-log", log, "--accepted", accepted)
    assert said.exit_code == 1
    assert f"lost: {missing}: it was answered 200, and is not there\n" in said.stderr
    assert "which no SMSC has given\n" in said.stderr
    assert said.stderr.endswith("heliograph: The messages are not proven: 3 lost, 0 unexplained.\n")
    assert not any(recipient in said.output for recipient in RECIPIENTS)
    many = run(lived, "--smsc-log", written([], tmp_path / "empty.jsonl"), "--json")
    findings = json.loads(many.stdout)["findings"]
    assert len(findings) == FINDINGS_SHOWN_MAX
    assert set(findings[0]) == {"kind", "where", "what"}
    *lines, more, last = many.stderr.splitlines()
    assert (
        len(lines),
        more.startswith("and "),
        last.startswith("heliograph: The messages are not proven: "),
    ) == (FINDINGS_SHOWN_MAX, True, True)


def test_the_command_names_a_file_that_it_cannot_use(lived: Lived, tmp_path: Path) -> None:
    log, accepted = written(lived.events, tmp_path / "smsc.jsonl"), tmp_path / "accepted.txt"
    accepted.write_text("msg_1\n")
    empty = tmp_path / "empty.txt"
    empty.touch()
    for args, told in (
        (["--smsc-log", tmp_path / "none"], "none cannot be read: No such file or directory."),
        (
            ["--smsc-log", accepted],
            "accepted.txt line 1: found no event (allowed: what `heliograph smsc --log` writes).",
        ),
        (["--smsc-log", log, "--smsc-log", log], "is named twice"),
        (["--accepted", tmp_path / "none"], "none cannot be read: No such file or directory."),
        (
            ["--accepted", empty],
            (
                "empty.txt is empty: found no id of a message (allowed: msg_…, one a line, at least"
                " one)."
            ),
        ),
        (
            ["--accepted", accepted],
            "accepted.txt line 1: found no id of a message (allowed: msg_…, one a line).",
        ),
    ):
        said = run(lived, *args)
        assert said.exit_code == 2
        assert told in said.stderr, said.stderr
