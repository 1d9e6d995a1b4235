"""What the databases of a run are copied from is prepared once, by a process of its own
(tests/support/prepared).
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import sqlalchemy as sa

from heliograph.accounts.tables import accounts
from heliograph.database import schema
from heliograph.database.database import Database
from tests.support import prepared
from tests.support.api.service import service_on
from tests.support.services.databases import PostgresDatabases, SqliteDatabases


def not_again(url: str) -> None:
    raise AssertionError(f"{url} is prepared already")


@pytest.fixture
def of_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgets for this test what was prepared for the run that it belongs to."""
    monkeypatch.delenv(prepared.NAMED, raising=False)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_copies_are_empty_or_have_the_cast(
    of_no_run: None, postgres_url: str, tmp_path: Path, kind: str
) -> None:
    with prepared.beside(postgres_url) as preparing:
        prepared.wait_until_there(preparing)
        made = prepared.found(kind)
        assert made is not None
        with (
            copied(made.empty, postgres_url, tmp_path) as url,
            closing(Database(url)) as database,
            database.read() as tx,
        ):
            assert schema.is_current(tx)
            assert tx.execute(sa.select(accounts)).all() == []
        with (
            copied(made.staged, postgres_url, tmp_path) as url,
            service_on(url, tmp_path, made.cast) as service,
        ):
            assert service.send(service.amina, ["233201234567"])


@contextmanager
def copied(template: str, postgres_url: str, directory: Path) -> Iterator[str]:
    if template.startswith("sqlite"):
        yield SqliteDatabases(directory, not_again, template).new(directory)
        return
    with closing(PostgresDatabases(postgres_url, not_again, template)) as databases:
        yield databases.new()


def test_they_go_with_the_run(of_no_run: None, postgres_url: str) -> None:
    with prepared.beside(postgres_url) as preparing:
        prepared.wait_until_there(preparing)
        made = prepared.found("postgresql")
        assert made is not None
        names = [urlsplit(url).path[1:] for url in (made.empty, made.staged)]
        assert there(postgres_url, names) == 2
    assert there(postgres_url, names) == 0
    assert prepared.found("postgresql") is None


def there(postgres_url: str, names: list[str]) -> int:
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_database WHERE datname = ANY(%s)", (names,)
        ).fetchone()
    assert found is not None
    return int(found[0])


def test_where_it_fails_nothing_is_prepared_and_nobody_waits(of_no_run: None) -> None:
    with prepared.beside("postgresql://127.0.0.1:1/postgres") as preparing:
        prepared.wait_until_there(preparing)
        assert prepared.found("sqlite") is None
    assert preparing.returncode == 1
    assert prepared.NAMED not in os.environ
