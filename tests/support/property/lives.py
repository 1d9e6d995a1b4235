"""Says how often a state machine is run from its beginning to its end."""

import os

from tests.support import trials


def lives(url: str, on_sqlite: int) -> int:
    """Returns how many runs a machine gets on the database of this URL, at least 4.

    The rules are the same on both databases, and SQLite exercises them in all runs. PostgreSQL gets
    half as many runs, because each takes about twice as long there. Only its statements and locks
    differ, and every run meets those. `make test` has half as many runs as `make trials`.
    """
    if os.environ.get(trials.PART) == trials.FIRST:
        on_sqlite //= 2
    return max(4, on_sqlite) if url.startswith("sqlite") else max(4, on_sqlite // 2)
