"""What has one rule has one place: the statement that adds a ledger entry is written once, and
every transaction uses it, hot or not.
"""

import re

from tests.support.sources import PACKAGE, sources


def test_ledger_entries_are_inserted_by_one_file() -> None:
    assert _inserting_into("ledger_entries") == {"wallet/entry.py"}


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
