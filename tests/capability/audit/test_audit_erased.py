"""The audit works against the SMSC's log, when numbers and texts are no longer there."""

from pathlib import Path

import sqlalchemy as sa

from heliograph.base import ids
from heliograph.messages.retention.retention import MESSAGES, TEXTS
from heliograph.messages.tables import kept_from, messages, sends
from tests.support.capability.lived import RECIPIENTS, Lived, audited, rows, submits_of, text_id


def test_submissions_of_messages_whose_number_was_erased_are_explained(
    lived: Lived, tmp_path: Path
) -> None:
    one = (
        sa.update(messages).where(messages.c.recipient == int(RECIPIENTS[4])).values(recipient=None)
    )
    assert audited(lived, tmp_path, change=one).findings == []
    assert audited(lived, tmp_path, change=sa.update(sends).values(text=None)).findings == []


def test_a_submission_that_nobody_made_is_found_beside_erased_ones(
    lived: Lived, tmp_path: Path
) -> None:
    erased = (
        sa.update(messages).where(messages.c.recipient == int(RECIPIENTS[4])).values(recipient=None)
    )
    for other in ({"sender": "CHIDI"}, {"user_message_reference": None}):
        events = list(lived.events)
        place = next(
            place for place in submits_of(lived) if events[place]["recipient"] == RECIPIENTS[4]
        )
        events[place] = events[place] | other
        kinds = {
            finding.kind
            for finding in audited(lived, tmp_path, events=events, change=erased).findings
        }
        assert "unexplained" in kinds, other


def test_what_was_deleted_is_neither_promised_nor_looked_for(lived: Lived, tmp_path: Path) -> None:
    after = ids.raw_of_number(int(rows(lived)[-1].id, 16) + (1 << 90))
    for what in (TEXTS, MESSAGES):
        gone = [sa.delete(kept_from), sa.insert(kept_from).values(what=what, from_id=after)]
        emptied = (
            [sa.delete(messages), sa.delete(sends)]
            if what == MESSAGES
            else [sa.update(messages).values(recipient=None)]
        )
        assert [
            finding
            for finding in audited(lived, tmp_path, change=[*gone, *emptied]).findings
            if "answered 200" in finding.what or "nobody sent" in finding.what
        ] == []
    assert text_id(after) not in lived.accepted
