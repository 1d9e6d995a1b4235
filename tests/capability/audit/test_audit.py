"""The audit against the SMSC's log finds what has lived in order, and finds whatever is then
changed in the log.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from heliograph.audit.audit import audit
from heliograph.audit.smsc_log import AHEAD_MAX_MS, NotALog, read_logs
from heliograph.base import clock
from heliograph.messages.tables import carrier_refs, messages, sends, unmatched_receipts
from tests.support.capability.lived import (
    LATE,
    NOWHERE,
    RECIPIENTS,
    TEXTS,
    Event,
    Lived,
    audited,
    known,
    rows,
    submits_of,
    text_id,
    written,
)

T = TypeVar("T")
CASES = 40  # of all that could be changed; which ones follows from the seed


def test_what_has_lived_is_found_in_order(lived: Lived, tmp_path: Path) -> None:
    found = audited(lived, tmp_path)
    assert found.findings == []
    figures = found.figures
    assert (figures["lost"], figures["unexplained"]) == (0, 0)
    live_segments = len(LATE) + len(RECIPIENTS) * (1 + 3 + 1)
    assert figures["messages"] == len(lived.accepted) == len(LATE) + len(RECIPIENTS) * 4
    assert figures["segments"] == live_segments + len(RECIPIENTS)  # and those in sandbox
    assert (
        sum(figures[status] for status in ("queued", "sent", "delivered", "failed"))
        == figures["messages"]
    )
    submits = [event for event in lived.events if event["event"] == "submit_sm"]
    assert (figures["submitted"], figures["taken"]) == (
        len(submits),
        sum(event["status"] == 0 for event in submits),
    )
    repeated = len(submits) - len({(event["recipient"], event["text_sha256"]) for event in submits})
    # the SMSC may have taken the first of each, too
    assert figures["repeated"] == repeated >= figures["duplicates"]
    assert repeated >= 1
    assert figures["in_doubt"] >= 1


def test_a_one_time_password_is_found_though_its_text_is_erased(
    lived: Lived, tmp_path: Path
) -> None:
    erased = (
        sa.update(sends)
        .where(sends.c.text == TEXTS[2], ~sends.c.sandbox)
        .values(type="otp", text=None)
    )
    found = audited(lived, tmp_path, change=erased)
    assert [finding for finding in found.findings if "was sent again" not in finding.what] == []
    assert found.figures["submitted"] > 0


def test_an_id_that_was_misread_is_found_as_it_was_printed(lived: Lived, tmp_path: Path) -> None:
    """So a doubt keeps it, when the only receipt that could be its own was read in a wrong base."""
    with lived.db.read() as tx:
        refs = list(
            tx.execute(
                sa.select(carrier_refs.c.ref).where(carrier_refs.c.message_id.is_not(None))
            ).scalars()
        )
    misread = [
        sa.update(carrier_refs)
        .where(carrier_refs.c.ref == ref)
        .values(ref=f"{int(ref, 16)}", printed=ref)
        for ref in refs
    ]
    assert audited(lived, tmp_path, change=misread).findings == []
    # nothing was printed so; no reading of what was
    for other in ({"printed": None}, {"ref": "9" + carrier_refs.c.ref}):
        changed = [
            *misread,
            sa.update(carrier_refs).where(carrier_refs.c.message_id.is_not(None)).values(other),
        ]
        assert {finding.kind for finding in audited(lived, tmp_path, change=changed).findings} >= {
            "lost"
        }


# --- the SMSC's log


def drawn(cases: list[T]) -> list[T]:
    return random.Random(CASES).sample(cases, CASES)


OTHER: dict[str, Callable[[Any], Any]] = {
    "recipient": lambda recipient: str(int(recipient) + 1),
    "sender": lambda sender: sender + "X",
    "text_sha256": lambda text: text[::-1],
    "user_message_reference": lambda reference: (reference + 16) % 65_536,
    "parts": lambda parts: parts + 1,
}


def test_a_submission_that_is_another_ones_is_nobodys(lived: Lived, tmp_path: Path) -> None:
    for place, name in drawn([(place, name) for place in submits_of(lived) for name in OTHER]):
        events = list(lived.events)
        events[place] = {**events[place], name: OTHER[name](events[place][name])}
        found = audited(lived, tmp_path, events=events)
        assert ("unexplained", f"smsc.jsonl line {place + 1}") in {
            (finding.kind, finding.where) for finding in found.findings
        }, (place, name, found)


def test_a_submission_that_the_smsc_never_took_is_missed(lived: Lived, tmp_path: Path) -> None:
    """It is gone from the log, or was refused there, or has another id."""
    with lived.db.read() as tx:
        found_ids = tx.execute(sa.select(messages.c.recipient, messages.c.id)).all()
    ways: tuple[Event, ...] = (
        {},
        {"status": 0x58, "message_id": None},
        {"status": 0, "message_id": "feed"},
    )
    for place, values in drawn([(place, values) for place in known(lived) for values in ways]):
        was = lived.events[place]
        if was["status"] and was["parts"] > 1:
            continue  # the other parts were refused alike
        events = [
            *lived.events[:place],
            *([{**was, **values}] if values else []),
            *lived.events[place + 1 :],
        ]
        # what has failed with a status that nobody answered has no cause; what counts as accepted
        # is lost
        expected = "unexplained" if was["status"] else "lost"
        found = audited(lived, tmp_path, events=events)
        of_recipient = {
            text_id(message_id)
            for recipient, message_id in found_ids
            if str(recipient) == was["recipient"]
        }
        assert expected in {
            finding.kind for finding in found.findings if finding.where in of_recipient
        }, (place, values, found)


def test_a_submission_that_the_smsc_took_once_more_has_no_explanation(
    lived: Lived, tmp_path: Path
) -> None:
    # may have been taken twice
    resent = {str(row.recipient) for row in rows(lived, messages.c.parts_resent != 0)}
    for place in drawn(
        [place for place in submits_of(lived) if lived.events[place]["recipient"] not in resent]
    ):
        again = {**lived.events[place], "status": 0, "message_id": "feed", "session": 9}
        answer = {**again, "event": "answer"}
        found = audited(
            lived,
            tmp_path,
            events=[*lived.events[: place + 1], again, answer, *lived.events[place + 1 :]],
        )
        assert found.figures["unexplained"] >= 1, (place, found)


def test_what_was_sent_twice_has_to_have_been_unheard(lived: Lived, tmp_path: Path) -> None:
    """If all was answered at once, on connections that have lived on, nothing was in doubt."""
    answers = [
        {**event, "event": "answer"} for event in lived.events if event["event"] == "submit_sm"
    ]
    answered = {(event["session"], event["sequence"]): event for event in answers}
    events = []
    for event in lived.events:
        if event["event"] not in ("answer", "lost"):
            events.append(event)
        if event["event"] == "submit_sm":
            events.append(answered[event["session"], event["sequence"]])
    found = audited(lived, tmp_path, events=events)
    again = [finding for finding in found.findings if "was sent again" in finding.what]
    assert len(again) == found.figures["duplicates"] >= 1
    assert {finding.kind for finding in found.findings} == {"unexplained"}


@pytest.mark.parametrize(
    ("status", "code"), [("delivered", None), ("failed", "undeliverable"), ("failed", "expired")]
)
def test_what_a_message_came_to_was_said_by_a_receipt(
    lived: Lived, tmp_path: Path, status: str, code: str | None
) -> None:
    for row in rows(lived, messages.c.status == status, messages.c.error_code == code)[::5]:
        with lived.db.read() as tx:
            refs = set(
                tx.execute(
                    sa.select(carrier_refs.c.ref).where(carrier_refs.c.message_id == row.id)
                ).scalars()
            )
        unsaid = [
            event
            for event in lived.events
            if event["event"] != "receipt" or event["message_id"] not in refs
        ]
        found = audited(lived, tmp_path, events=unsaid)
        assert [(finding.kind, finding.where) for finding in found.findings] == [
            ("unexplained", text_id(row.id))
        ], found


@pytest.mark.parametrize("state", ["DELIVRD", "UNDELIV", "EXPIRED", "REJECTD"])
def test_a_receipt_that_was_acknowledged_has_an_effect_or_waits_for_its_message(
    lived: Lived, tmp_path: Path, state: str
) -> None:
    sent = rows(lived, messages.c.status == "sent")[0]
    with lived.db.read() as tx:
        refs = set(
            tx.execute(
                sa.select(carrier_refs.c.ref).where(carrier_refs.c.message_id == sent.id)
            ).scalars()
        )
    [at] = [place for place in submits_of(lived) if lived.events[place]["message_id"] in refs]
    its = {
        "at_ms": lived.events[at]["at_ms"],
        "session": 1,
        "sequence": 1,
        "message_id": lived.events[at]["message_id"],
        "state": state,
    }
    for others, is_found in (
        ({"event": "receipt"}, False),
        ({"event": "acknowledged", "status": 0x08}, False),
        ({"event": "acknowledged", "status": 0}, True),
        ({"event": "acknowledged", "status": 0, "at_ms": clock.now_ms() + 60_000}, False),
    ):
        found = audited(
            lived,
            tmp_path,
            events=[*lived.events[: at + 1], {**its, **others}, *lived.events[at + 1 :]],
        )
        assert [(finding.kind, finding.where) for finding in found.findings] == [
            ("lost", text_id(sent.id))
        ] * is_found, found

    acknowledged = [
        *lived.events[: at + 1],
        {**its, "event": "acknowledged", "status": 0},
        *lived.events[at + 1 :],
    ]
    for values in (
        {"ref": its["message_id"], "raw": b""},
        {"ref": str(int(its["message_id"], 16)), "raw": b""},
        {"ref": None, "raw": f"id:{its['message_id'].upper().zfill(20)} stat:{state}".encode()},
    ):
        unmatched = sa.insert(unmatched_receipts).values(
            id=NOWHERE, carrier_id=sent.carrier_id, received_at_ms=0, **values
        )
        assert audited(lived, tmp_path, events=acknowledged, change=unmatched).is_clean


def test_what_came_after_the_look_at_the_database_needs_no_explanation(
    lived: Lived, tmp_path: Path
) -> None:
    place = submits_of(lived)[-1]
    later = {**lived.events[place], "recipient": "1", "at_ms": clock.now_ms() + 60_000}
    assert audited(lived, tmp_path, events=[*lived.events, later]).is_clean
    assert not audited(
        lived, tmp_path, events=[*lived.events, {**later, "at_ms": clock.now_ms() - 1}]
    ).is_clean


def test_a_log_whose_clock_is_ahead_is_not_taken_for_what_came_later(
    lived: Lived, tmp_path: Path
) -> None:
    """A stranger's submission of tomorrow is not proven: the log is called what it is, once."""
    place = submits_of(lived)[-1]
    for ahead_ms, is_found in (
        (AHEAD_MAX_MS - 60_000, False),
        (AHEAD_MAX_MS + 60_000, True),
        (86_400_000, True),
    ):
        later = {
            **lived.events[place],
            "recipient": "1",
            "message_id": "feed",
            "at_ms": clock.now_ms() + ahead_ms,
        }
        found = audited(lived, tmp_path, events=[*lived.events, later, later])
        where = [
            (finding.kind, finding.where)
            for finding in found.findings
            if "later than now: the clock of that SMSC is ahead" in finding.what
        ]
        assert where == [("unexplained", f"smsc.jsonl line {len(lived.events) + 1}")] * is_found, (
            found
        )
        assert found.is_clean != is_found


def test_a_rotated_log_and_logs_of_several_smscs_say_the_same(lived: Lived, tmp_path: Path) -> None:
    whole = audited(lived, tmp_path).figures
    of_all = [
        event for event in lived.events if "message_id" not in event and "sequence" not in event
    ]
    for name, parts in {
        "rotated": [lived.events[:100], lived.events[100:300], lived.events[300:]],
        "several": [
            [event for event in lived.events if event in of_all or _is_of(event, half, lived)]
            for half in (0, 1)
        ],
    }.items():
        paths = [
            written(events, tmp_path / f"{name}{number}.jsonl")
            for number, events in enumerate(parts)
        ]
        with lived.db.read() as tx:
            found = audit(tx, read_logs(paths, clock.now_ms()))
        assert (found.findings, found.figures) == ([], whole), name


def _is_of(event: Event, half: int, lived: Lived) -> bool:
    """Returns whether the event is about this half of the recipients' messages."""
    halves = {
        (one["session"], one["sequence"]): int(one["recipient"]) // 1_000 % 2
        for one in lived.events
        if one["event"] == "submit_sm"
    }
    by_id = {
        one["message_id"]: int(one["recipient"]) // 1_000 % 2
        for one in lived.events
        if one["event"] == "submit_sm" and one["message_id"]
    }
    if event["event"] in ("submit_sm", "answer"):
        return halves[event["session"], event["sequence"]] == half
    return event.get("message_id") in by_id and by_id[event["message_id"]] == half


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON\n",
        b"[]\n",
        b'{"event": "submit_sm"}\n',
        b'{"event": "submit_sm", "at_ms": "x"}\n',
        b"\xff\n",
    ],
)
def test_a_file_that_is_no_log_is_named_with_its_line(line: bytes, tmp_path: Path) -> None:
    log = tmp_path / "smsc.jsonl"
    log.write_bytes(b'{"event": "listening", "at_ms": 1}\n' + line)
    with pytest.raises(NotALog, match=r"smsc\.jsonl line 2: found no event"):
        read_logs([log], 0)
    log.write_bytes(b'{"event": "listening", "at_ms": 1}\n' + line.rstrip())  # it is being written
    assert read_logs([log], 0).submits == []
