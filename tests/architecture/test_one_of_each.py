"""What has one rule has one place: the statement that adds a ledger entry is written once, and
every transaction uses it, hot or not; and so it is with the rule of the low-balance alarms.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.support.sources import PACKAGE, sources

# what the alarms' rule judges by
ALARMS: Final = {
    "balance_alarm_armed",
    "credits_alarm_armed",
    "low_balance_amount_minor",
    "low_balance_credits",
}


def test_ledger_entries_are_inserted_by_one_file() -> None:
    assert _inserting_into("ledger_entries") == {"wallet/entry.py"}


def test_low_balance_alarms_are_judged_by_one_function() -> None:
    judged = [
        f"{source.path}:{node.lineno} {ast.unparse(node)}: ask wallet.judge_alarm"
        for source in sources(PACKAGE)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Compare | ast.BoolOp)
        and any(
            isinstance(value, ast.Attribute) and value.attr in ALARMS for value in _compared(node)
        )
    ]
    assert not judged, "\n".join(judged)


def _compared(node: ast.Compare | ast.BoolOp) -> Iterator[ast.expr]:
    yield from node.values if isinstance(node, ast.BoolOp) else [node.left, *node.comparators]


def _inserting_into(table: str) -> set[str]:
    """Returns the files that insert rows of this table, in SQL or by SQLAlchemy."""
    inserts = re.compile(
        rf"INSERT\s+INTO\s+{table}\b|\b{table}\.insert\(|(?i:\binsert)\(\s*[\"']?{table}\b"
    )
    return {
        source.path
        for source in sources(PACKAGE)
        if inserts.search(source.text) and not source.path.startswith("migrations/")
    }
