"""`db`: a migrated, empty database; every test of this folder runs on SQLite and on PostgreSQL."""

from collections.abc import Iterator

import pytest

from heliograph.base.db import Database


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()
