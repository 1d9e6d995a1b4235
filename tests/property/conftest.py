"""A state machine begins each of its runs with `emptied`, an empty database."""

from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def emptied(
    request: pytest.FixtureRequest, database_url: str, new_database: Callable[[str], str]
) -> Iterator[Callable[[], str]]:
    """Gives the URL of an empty database, as often as it is asked."""
    if database_url.startswith("sqlite"):
        yield lambda: new_database("sqlite")
    else:
        yield request.getfixturevalue("_postgres_databases").reused
