"""The fixture `api` is the whole API in this process, with its cast, on each of the two databases.

The cast is made once for each of them (tests/support/prepared), and every test gets a copy: three
accounts with money, senders and keys are a hundred statements, and there are more than a thousand
tests.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import prepared
from tests.support.api.cast import Actor
from tests.support.api.service import Service, service_on
from tests.support.api.stage import Stage
from tests.support.services.databases import PostgresDatabases, SqliteDatabases


@pytest.fixture(scope="session")
def _sqlite_stage(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[SqliteDatabases, Stage]:
    made = prepared.found("sqlite")
    stage = Stage(made.cast if made else None)
    directory = tmp_path_factory.mktemp("cast")
    return SqliteDatabases(directory, stage.prepare, made.staged if made else None), stage


@pytest.fixture(scope="session")
def _postgresql_stage(postgres_url: str) -> Iterator[tuple[PostgresDatabases, Stage]]:
    made = prepared.found("postgresql")
    stage = Stage(made.cast if made else None)
    databases = PostgresDatabases(postgres_url, stage.prepare, made.staged if made else None)
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
    """Yields the API on PostgreSQL, for what can only happen where several processes share a
    database.
    """
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
