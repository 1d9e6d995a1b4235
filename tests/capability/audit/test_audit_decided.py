"""After an operator's decisions, the audit does not ask the SMSC's log for what his word replaces,
and asks for everything else.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from heliograph.cli import main
from heliograph.messages.tables import carrier_refs
from tests.support.capability.decided import NAMES, SCRIPT, Decided, again, changed, without
from tests.support.capability.lived import Event, audited, written
from tests.support.factories import SECRET_KEY

Doctor = Callable[[Decided], list[Event]]


def test_what_was_decided_is_found_in_order(decided: Decided, tmp_path: Path) -> None:
    log = written(decided.lived.events, tmp_path / "smsc.jsonl")
    said = CliRunner().invoke(
        main,
        ["ledger", "verify", "--json", "--smsc-log", str(log)],
        env={"DATABASE_URL": decided.lived.db.url, "HELIOGRAPH_SECRET_KEY": SECRET_KEY},
    )
    assert (said.exit_code, said.stderr) == (0, "")
    told = json.loads(said.stdout)
    assert (
        told.items()
        >= {
            "proven": True,
            "submitted": len(SCRIPT),
            "repeated": 4,
            "duplicates": 4,
            "sent": 3,
            "delivered": 6,
            "failed": 2,
        }.items()
    )


def test_what_the_smsc_never_took_is_explained_by_the_operators_word(
    decided: Decided, tmp_path: Path
) -> None:
    """Each first submission in doubt may never have come there; nor may what he has settled."""
    for name in NAMES:
        if name == "matched":
            continue  # its receipt has come
        part = 2 if name.startswith("long") else None
        place = decided.places(name, part=part)[0]
        events = without(decided.lived.events, [place])
        assert audited(decided.lived, tmp_path, events=events).findings == [], name


def _last(decided: Decided, name: str, part: int | None = None) -> int:
    return decided.places(name, part=part)[-1]


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("once", None),
        ("twice", None),
        ("long", 1),
        ("long", 2),
        ("long", 3),
        ("long sent", 1),
        ("long sent", 2),
        ("delivered", None),
        ("sent", None),
        ("canceled", None),
        ("undeliverable", None),
        ("matched", None),
    ],
)
def test_it_is_sent_again_as_often_as_the_operator_has_said_and_not_more(
    decided: Decided, tmp_path: Path, name: str, part: int | None
) -> None:
    events = decided.lived.events
    for values in (
        {},
        {"session": 1_000},
        {"status": 0x58, "message_id": None},
        {"at_ms": events[-1]["at_ms"]},
    ):
        found = audited(
            decided.lived, tmp_path, events=again(events, _last(decided, name, part), **values)
        )
        told = [finding for finding in found.findings if finding.where == decided.ids[name]]
        assert any("was sent again" in finding.what for finding in told), (values, found)


@pytest.mark.parametrize("name", ["once", "twice"])
def test_one_more_is_found_also_when_the_first_never_came_to_the_smsc(
    decided: Decided, tmp_path: Path, name: str
) -> None:
    place, first = _last(decided, name), decided.places(name)[0]
    found = audited(
        decided.lived, tmp_path, events=without(again(decided.lived.events, place), [first])
    )
    assert any("was sent again" in finding.what for finding in found.findings), found


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("name", "part"), [("once", None), ("twice", None), ("long", 1), ("long", 2), ("long", 3)]
)
@pytest.mark.parametrize("way", ["removed", "changed"])
def test_what_came_of_it_after_it_was_sent_again_is_still_what_the_smsc_has_said(
    decided: Decided, tmp_path: Path, name: str, part: int | None, way: str
) -> None:
    events = decided.lived.events
    receipts = [*decided.places(name, "receipt", part), *decided.places(name, "acknowledged", part)]
    assert receipts
    doctored = (
        without(events, receipts)
        if way == "removed"
        else changed(events, receipts, state="UNDELIV")
    )
    found = audited(decided.lived, tmp_path, events=doctored)
    assert [(finding.kind, finding.where) for finding in found.findings] == [
        ("unexplained", decided.ids[name])
    ], found
    assert "the SMSC did not report that" in found.findings[0].what


def test_a_receipt_of_the_try_that_nobody_knew_of_is_not_what_the_message_came_to(
    decided: Decided, tmp_path: Path
) -> None:
    """It waits for its message; only the other one's had an effect."""
    events, first = decided.lived.events, decided.lived.events[decided.places("once")[0]]
    receipt = {
        "at_ms": events[-1]["at_ms"],
        "session": 1,
        "sequence": 1,
        "message_id": first["message_id"],
        "state": "DELIVRD",
    }
    late = [{"event": "receipt", **receipt}, {"event": "acknowledged", "status": 0, **receipt}]
    unmatched = sa.insert(carrier_refs).values(
        carrier_id=2, ref=first["message_id"], receipt_state="DELIVRD", created_at_ms=0
    )
    assert audited(decided.lived, tmp_path, events=[*events, *late], change=unmatched).is_clean
    unsaid = [*without(events, decided.places("once", "receipt")), *late]
    found = audited(decided.lived, tmp_path, events=unsaid, change=unmatched)
    assert [(finding.kind, finding.where) for finding in found.findings] == [
        ("unexplained", decided.ids["once"])
    ], found


@pytest.mark.judged_in_python
@pytest.mark.parametrize(("name", "part"), [("once", None), ("twice", None), ("long", 2)])
@pytest.mark.parametrize("way", [{}, {"status": 0x58, "message_id": None}, {"message_id": "feed"}])
def test_what_was_sent_again_and_accepted_was_taken(
    decided: Decided, tmp_path: Path, name: str, part: int | None, way: Event
) -> None:
    place = _last(decided, name, part)
    events = (
        changed(decided.lived.events, [place], **way)
        if way
        else without(decided.lived.events, [place])
    )
    found = audited(decided.lived, tmp_path, events=events)
    assert any(
        finding.kind == "lost" and finding.where == decided.ids[name] for finding in found.findings
    ), found


def test_what_he_has_not_decided_about_is_asked_of_the_smsc(
    decided: Decided, tmp_path: Path
) -> None:
    """He has not decided about the other parts of a message, nor about a receipt of which he has
    only said whose it is.
    """
    events = decided.lived.events
    for name, part in (("long", 1), ("long sent", 3), ("long delivered", 1)):
        found = audited(
            decided.lived, tmp_path, events=without(events, decided.places(name, part=part))
        )
        assert any(
            finding.kind == "lost" and finding.where == decided.ids[name]
            for finding in found.findings
        ), found
    found = audited(
        decided.lived, tmp_path, events=without(events, decided.places("matched", "receipt"))
    )
    assert [(finding.kind, finding.where) for finding in found.findings] == [
        ("unexplained", decided.ids["matched"])
    ], found


def test_what_was_acknowledged_of_a_part_that_he_has_called_sent_is_known(
    decided: Decided, tmp_path: Path
) -> None:
    events = decided.lived.events
    place = decided.places("long sent", part=2)[0]
    receipt = {
        "event": "acknowledged",
        "at_ms": events[place]["at_ms"],
        "session": 1,
        "sequence": 1,
        "message_id": events[place]["message_id"],
        "status": 0,
        "state": "DELIVRD",
    }
    found = audited(decided.lived, tmp_path, events=[*events, receipt])
    assert [(finding.kind, finding.where) for finding in found.findings] == [
        ("lost", decided.ids["long sent"])
    ], found
