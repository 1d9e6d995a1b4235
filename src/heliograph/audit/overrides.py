"""Reads what an operator has decided about messages. In the audit, these decisions replace some of
what the SMSCs' logs would have to say.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.database.reads import raw_id, stream
from heliograph.messages.tables import operator_decisions

_ACCEPTED: Final = ("sent", "delivered", "undeliverable", "receipt")  # the carrier has it
_NEVER_HEARD: Final = ("resent", "canceled")  # it has it not: whatever it took, nobody knows of


class LoggedDecision(NamedTuple):
    """Holds one decision about a message. `parts` are bits of the segments that were in doubt, or
    whose receipt it was.
    """

    decision: str
    parts: int
    at_ms: int


class Overrides:
    """Answers what an operator's decisions about one message explain."""

    def __init__(self, decided: Sequence[LoggedDecision] = ()) -> None:
        self._decided = decided
        # bits of segments that count as accepted, whether the SMSC has taken them or not
        self.accepted = self._of(*_ACCEPTED)
        # bits of segments that an operator has given a receipt to
        self.matched = self._of("receipt")
        self.cancels = any(each.decision == "canceled" for each in decided)
        self._unheard = [each.parts for each in decided if each.decision in _NEVER_HEARD]

    def _of(self, *decisions: str) -> int:
        bits = 0
        for each in self._decided:
            bits |= each.parts if each.decision in decisions else 0
        return bits

    def resent_ms(self, part: int) -> list[int]:
        """Returns when this segment, counted from 0, was to be sent again: each time once."""
        return [
            each.at_ms
            for each in self._decided
            if each.decision == "resent" and each.parts >> part & 1
        ]

    def explains_unknown(self, parts: int) -> bool:
        """Returns whether the SMSC may have taken these segments without our knowing: a decision
        that the carrier does not have a segment explains one submission of it.
        """
        for place, left in enumerate(self._unheard):
            parts, self._unheard[place] = parts & ~left, left & ~parts
        return not parts

    def delivered_bits(
        self, taken: Sequence[tuple[int, int]], said_delivered: bool, segments: int
    ) -> int:
        """Returns the bits of segments whose delivery follows from the decisions alone. `taken`
        says when the SMSC took which. `said_delivered` says whether it has sent such a receipt to
        that handset, of whichever message.
        """
        bits = self.matched if said_delivered else 0
        ever_taken = 0
        for _, parts in taken:
            ever_taken |= parts
        accepted = 0
        for each in self._decided:
            accepted |= each.parts if each.decision in _ACCEPTED else 0
            # that was said of the message: of all of it that was accepted by then
            if each.decision == "delivered":
                bits |= accepted
                for at_ms, parts in taken:
                    bits |= parts if at_ms <= each.at_ms else 0
            # the last one's receipt may decide for those before it; what they asked for, no log
            # tells
            elif each.decision == "sent":
                bits |= each.parts & ~ever_taken & ~(1 << (segments - 1))
        return bits

    def fails(self, error_code: str | None) -> bool:
        """Returns whether a decision says that the message has failed with this error."""
        return error_code == "undeliverable" and any(
            each.decision == error_code for each in self._decided
        )


def operator_overrides(tx: Connection) -> dict[str, Overrides]:
    """Returns the overrides of each message that an operator has decided about, by its raw id."""
    columns = operator_decisions.c
    query = sa.select(
        raw_id(columns.message_id).label("message_id"),
        columns.decision,
        columns.parts,
        columns.decided_at_ms,
    ).order_by(columns.id)
    found: dict[str, list[LoggedDecision]] = defaultdict(list)
    for row in stream(tx, query):
        decided = LoggedDecision(row.decision, row.parts, row.decided_at_ms)
        found[row.message_id].append(decided)
    return {message_id: Overrides(logged) for message_id, logged in found.items()}
