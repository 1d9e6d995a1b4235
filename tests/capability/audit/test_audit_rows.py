"""The audit of the database finds whatever is changed of messages, queue or flights."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph.audit.audit import FINDINGS_SHOWN_MAX
from heliograph.messages.tables import (
    carrier_refs,
    inflight,
    messages,
    queue,
    sends,
)
from tests.support.capability.lived import (
    NOWHERE,
    TEXTS,
    Lived,
    audited,
    rows,
    submits_of,
)
from tests.support.capability.tampering import (
    BACK,
    DOUBTFUL,
    FLIGHT,
    FRESH,
    LONG,
    RUN,
    decides,
    fails,
    one,
    puts,
    queues,
    update,
)

NOBODY_SAID = "neither an operator nor its campaign canceled it"


TAMPERED: dict[str, tuple[Any, str, str]] = {
    "a message": (
        sa.delete(messages).where(messages.c.id == one("delivered")),
        "unexplained",
        "nobody sent this submit_sm: its id belongs to msg_",
    ),
    "a message that a client was promised": (
        sa.delete(messages).where(messages.c.id == one("delivered")),
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
        "but here it is neither accepted nor in doubt",
    ),
    "a flight of no message": (
        sa.insert(inflight).values(message_id=NOWHERE, state="submitting", **FLIGHT),
        "unexplained",
        "but it is not stored",
    ),
    "a flight of the last": (
        sa.insert(inflight).values(message_id="f" * 32, state="submitting", **FLIGHT),
        "unexplained",
        "but it is not stored",
    ),
    "a run of no message": (
        sa.insert(queue).values(first_id=NOWHERE, send_id=NOWHERE, **RUN),
        "unexplained",
        "1 of the run's 1 messages are not stored",
    ),
    "a run of the last": (
        sa.insert(queue).values(first_id="f" * 32, send_id=NOWHERE, **RUN),
        "unexplained",
        "1 of the run's 1 messages are not stored",
    ),
    "a run of another send": (
        sa.insert(queue).values(first_id=one("delivered"), send_id=NOWHERE, **RUN),
        "unexplained",
        "as another send's",
    ),
    "a delivered message": (
        update("delivered", {"status": "sent"}),
        "unexplained",
        "it is sent, but all of its segments are delivered",
    ),
    "its segments": (
        update("delivered", {"status": "sent", "parts_delivered": 0}),
        "lost",
        "was acknowledged, but it changed nothing",
    ),
    "a sent message": (
        update("sent", {"status": "queued"}),
        "lost",
        "it is queued, but all of it is accepted",
    ),
    "what is accepted of it": (
        update("sent", {"status": "queued", "parts_accepted": 0}),
        "lost",
        "neither waits for a carrier nor is in flight",
    ),
    "a doubt that nobody settled": (
        update("queued", {"parts_accepted": 1}),
        "lost",
        "it is queued, but all of it is accepted",
    ),
    "one that has failed by itself": (
        update("sent", {"status": "failed", "error_code": "unknown", "failed_at_ms": 1}),
        "unexplained",
        "no receipt of the SMSC said so",
    ),
    "one called undeliverable": (
        update("sent", {"status": "failed", "error_code": "undeliverable", "failed_at_ms": 1}),
        "unexplained",
        "no receipt of the SMSC said so",
    ),
    "one delivered by itself": (
        update("sent", {"status": "delivered", "parts_delivered": 1, "delivered_at_ms": 1}),
        "unexplained",
        "the SMSC did not report that",
    ),
    "one delivered in part": (
        sa.update(messages).where(messages.c.id == LONG).values(parts_delivered=5),
        "unexplained",
        "not all of its segments",
    ),
    "one with too many segments": (
        update("delivered", {"parts_accepted": 3}),
        "unexplained",
        "but accepted or delivered ones beyond them",
    ),
    "one that nobody took": (
        update("failed", {"parts_accepted": 1}, error_code="carrier_rejected"),
        "lost",
        "the SMSC did not take it",
    ),
    "why it has failed": (
        update("failed", {"error_code": "rejected"}, error_code="undeliverable"),
        "unexplained",
        "no receipt of the SMSC",
    ),
    "with which status": (
        update(
            "failed",
            {"error_message": "(command_status 0x00000045)"},
            error_code="carrier_rejected",
        ),
        "unexplained",
        "command_status 0x00000045",
    ),
    "when it was delivered": (
        update("delivered", {"delivered_at_ms": None}),
        "unexplained",
        "is not stored",
    ),
    "when it was sent": (update("sent", {"sent_at_ms": None}), "unexplained", "is not stored"),
    "when it failed": (update("failed", {"failed_at_ms": None}), "unexplained", "is not stored"),
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
        "did not take it",
    ),
    "a sender": (sa.update(sends).values(sender="CHIDI"), "unexplained", "has another sender"),
    "a recipient": (
        update("sent", {"recipient": 233_209_999_999}),
        "unexplained",
        "its id belongs to msg_",
    ),
    "a carrier's id": (
        sa.update(carrier_refs)
        .where(carrier_refs.c.message_id == one("delivered"))
        .values(ref="feed"),
        "lost",
        "the carrier's id feed, which no SMSC gave",
    ),
    "a carrier's id of another": (
        sa.insert(carrier_refs).from_select(
            ["carrier_id", "ref", "message_id", "parts", "created_at_ms"],
            sa.select(
                carrier_refs.c.carrier_id,
                sa.literal("00") + carrier_refs.c.ref,
                one("sent"),
                sa.literal(1),
                sa.literal(0),
            ).where(carrier_refs.c.message_id == one("delivered")),
        ),
        "unexplained",
        " has too",
    ),
    "a carrier's id of another part": (
        sa.update(carrier_refs)
        .where(carrier_refs.c.message_id == LONG, carrier_refs.c.parts == 1)
        .values(parts=2),
        "unexplained",
        "to another part of it",
    ),
    "a waiting message in flight": (
        queues(FRESH, state="submitting"),
        "unexplained",
        "in 2 places at once",
    ),
    "a waiting message in two runs": (queues(FRESH, BACK), "unexplained", "in 2 places at once"),
    "a long one in two runs": (
        queues(FRESH, {**BACK, "carrier_id": 2}, message=LONG),
        "unexplained",
        "as if it had never been handed to a carrier",
    ),
    "a long one twice with a carrier": (
        queues(BACK, {**BACK, "rank_us": 2}, message=LONG),
        "unexplained",
        "waits for one carrier more than once",
    ),
    "a run of a delivered message": (
        puts(one("delivered", parts_resent=0), BACK),
        "unexplained",
        "it is delivered, but still waits in the queue",
    ),
    "a run of a long one": (
        puts(LONG, FRESH),
        "unexplained",
        "as if it had never been handed to a carrier",
    ),
    "a flight of a delivered message": (
        sa.insert(inflight).values(
            message_id=one("delivered", parts_resent=0), state="in_doubt", **FLIGHT
        ),
        "unexplained",
        "it is delivered, but still waits in the queue, or is in flight",
    ),
    "a flight of a failed message": (
        sa.insert(inflight).values(
            message_id=one("failed", parts_resent=0), state="claimed", **FLIGHT
        ),
        "unexplained",
        "it is failed, but still waits in the queue, or is in flight",
    ),
    "a flight of a long one": (
        sa.insert(inflight).values(message_id=LONG, state="in_doubt", **FLIGHT),
        "unexplained",
        "was accepted before",
    ),
    "one canceled by nobody": (fails("canceled"), "unexplained", NOBODY_SAID),
    "one canceled after another decision": (
        [decides(one("delivered"), "resent"), *fails("canceled")],
        "unexplained",
        NOBODY_SAID,
    ),
    "one without a route": (fails("no_route"), "unexplained", "the SMSC took it"),
    "one that was blocked": (
        fails("blocked"),
        "unexplained",
        "it has failed (blocked), but all of it is accepted",
    ),
    "one that the carrier refused": (
        fails("carrier_rejected", "(it cannot be encoded for this carrier)"),
        "unexplained",
        "all of it is accepted",
    ),
    "one refused with no status": (
        fails("carrier_rejected"),
        "unexplained",
        "but no command_status is stored",
    ),
    "one expired too early": (
        fails("expired", parts_accepted=0),
        "unexplained",
        "no receipt of the SMSC said so",
    ),
    "one unknown too early": (
        fails("unknown", parts_accepted=0),
        "unexplained",
        "no receipt of the SMSC said so",
    ),
    "one in sandbox": (
        update("delivered", {"sandbox": True}),
        "unexplained",
        "nobody sent this submit_sm",
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
        ("one delivered by itself", one("sent"), "delivered"),
        ("one called undeliverable", one("sent"), "undeliverable"),
        ("one that nobody took", one("failed", error_code="carrier_rejected"), "sent"),
    ],
)
def test_what_the_operator_has_decided_is_explained_by_that(
    lived: Lived, tmp_path: Path, what: str, message: Any, decision: str
) -> None:
    assert not audited(lived, tmp_path, change=TAMPERED[what][0]).is_clean
    assert audited(lived, tmp_path, change=(decides(message, decision), TAMPERED[what][0])).is_clean


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
                lived, tmp_path, events=events, change=decides(its_id, "resent", at_ms)
            ).is_clean
            == is_explained
        )


def _places(lived: Lived, row: Any) -> list[int]:
    """Returns the places of a message's submissions that were taken."""
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
