"""`api`: the whole API in this process, with its cast, on each of the two databases.

The cast is made once a session for each of them, and every test gets a copy: three accounts with
money, senders and keys are a hundred statements, and there are more than a thousand tests.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.database import migrate
from heliograph.database.database import Database
from tests.support.api.cast import Actor, Cast, make_cast
from tests.support.api.service import Service, service_on
from tests.support.services.databases import PostgresDatabases, SqliteDatabases


class Stage:
    """Prepares a database to be copied: migrates it, and makes the cast in it."""

    def __init__(self) -> None:
        self.cast: Cast | None = None

    def prepare(self, url: str) -> None:
        migrate.upgrade(url)
        db = Database(url)
        self.cast = make_cast(db)
        for actor in (self.cast.amina, self.cast.bilal, self.cast.chidi):
            actor.key()
            actor.key(sandbox=True)
        db.close()


@pytest.fixture(scope="session")
def _sqlite_stage(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[SqliteDatabases, Stage]:
    stage = Stage()
    return SqliteDatabases(tmp_path_factory.mktemp("cast"), stage.prepare), stage


@pytest.fixture(scope="session")
def _postgresql_stage(postgres_url: str) -> Iterator[tuple[PostgresDatabases, Stage]]:
    stage = Stage()
    databases = PostgresDatabases(postgres_url, stage.prepare)
    yield databases, stage
    databases.close()


@pytest.fixture
def _sqlite_api(_sqlite_stage: tuple[SqliteDatabases, Stage], tmp_path: Path) -> Iterator[Service]:
    databases, stage = _sqlite_stage
    with service_on(databases.new(tmp_path), tmp_path, stage.cast) as service:
        yield service


@pytest.fixture
def postgresql_api(
    _postgresql_stage: tuple[PostgresDatabases, Stage], tmp_path: Path
) -> Iterator[Service]:
    """For what can only happen where several processes share a database."""
    databases, stage = _postgresql_stage
    with service_on(databases.reused(), tmp_path, stage.cast) as service:
        yield service


@pytest.fixture(params=["sqlite", "postgresql"])
def api(request: pytest.FixtureRequest) -> Service:
    name = "_sqlite_api" if request.param == "sqlite" else "postgresql_api"
    service: Service = request.getfixturevalue(name)
    return service


@pytest.fixture
def amina(api: Service) -> Actor:
    return api.amina


@pytest.fixture
def bilal(api: Service) -> Actor:
    return api.bilal


@pytest.fixture
def chidi(api: Service) -> Actor:
    return api.chidi
