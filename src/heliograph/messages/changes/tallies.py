"""Says what changes of messages add to the figures of their groups."""

from collections import Counter
from collections.abc import Iterable

from heliograph.messages.changes.collect import MessageRow
from heliograph.messages.groups import GroupTally


def tallies_added(rows: Iterable[MessageRow]) -> dict[int, GroupTally]:
    """Returns what the changes of some messages add to their groups."""
    found: dict[int, Counter[str]] = {}
    for row in rows:
        if row.group_id is None or not row.changed:
            continue
        tally = found.setdefault(row.group_id, Counter())
        tally[row.was] -= 1
        tally[row.status] += 1
        tally["credits"] -= row.refunded - row.refunded_before
    return {group_id: GroupTally(**tally) for group_id, tally in found.items()}
