"""What has one rule has one place: the statement that adds a ledger entry is written once, and
every transaction uses it, hot or not. So it is with the rule of the low-balance alarms, and with
Idempotency-Keys.
"""

import ast
import re
from collections import defaultdict
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


def test_idempotency_keys_are_written_and_aged_by_one_file() -> None:
    assert _inserting_into("idempotency_keys") == {"requests/stored_keys.py"}
    aged = {
        source.path
        for source in sources(PACKAGE)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.BinOp) and "KEPT_MS" in map(ast.unparse, (node.left, node.right))
        if source.path.startswith(("messages/accept/", "otp/verify", "requests/"))
    }
    assert aged == {"requests/stored_keys.py"}


def test_no_function_has_a_twin_for_ordinary_transactions() -> None:
    twins = [
        f"{source.path}:{node.lineno} {node.name}"
        for source in sources(PACKAGE)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.endswith("_now")
    ]
    assert not twins, f"database.hot.run_in runs what the hot paths run: {twins}"


def test_bodies_of_requests_are_compared_by_one_function() -> None:
    comparing = {
        source.path
        for source in sources(PACKAGE)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Compare)
        and any("sha256" in ast.unparse(value) for value in _compared(node))
        if source.path.startswith(("messages/", "otp/", "requests/"))
    }
    assert comparing == {"requests/stored_keys.py"}


def test_no_two_classes_have_the_same_name() -> None:
    """A name means one thing, also where it begins with _ and is its module's own."""
    places: dict[str, list[str]] = defaultdict(list)
    for source in sources(PACKAGE):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(source.path)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert len(places) > 800, "there are so many classes"
    assert not shared, shared


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
