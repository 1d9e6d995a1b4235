"""How often a state machine is run from its beginning to its end."""


def lives(url: str, on_sqlite: int) -> int:
    """Return how many runs a machine gets on the database of this URL, at least 4.

    The rules of the house are the same on both databases and are exercised on SQLite. PostgreSQL
    gets half as many runs, which take as long: what differs there are its statements and locks, and
    each run meets all of those.
    """
    return on_sqlite if url.startswith("sqlite") else max(4, on_sqlite // 2)
