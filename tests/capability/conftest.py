"""Every test of this folder runs on SQLite and on PostgreSQL: `db` is a migrated, empty database.
`amina_id` is the id of an account in it. `house` is the way out on one, and `run` runs the
commands. `lived` and `decided` hold what an eventful hour, or an operator's decisions, have left
behind, on each; who changes it takes the change back. With `quick_hashes` a password is hashed in
no time.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heliograph.database.database import Database
from heliograph.users import passwords
from tests.support.capability.commands import Run, runner
from tests.support.capability.decided import Decided, decide
from tests.support.capability.lived import Lived, live
from tests.support.capability.sending import House
from tests.support.factories import open_account


@pytest.fixture
def db(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def amina_id(db: Database) -> str:
    """Returns the id of an account that can send once it has credits, and has no contacts."""
    return open_account(db)


@pytest.fixture
def house(database_url: str) -> House:
    return House(database_url)


@pytest.fixture
def postgresql_house(postgresql_url: str) -> House:
    return House(postgresql_url)


@pytest.fixture
def run(database_url: str, tmp_path: Path) -> Run:
    return runner(database_url, tmp_path)


@pytest.fixture
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets a hash of a password take as little memory and time as argon2 can: for tests of what
    comes of a password that is right or wrong. The hash itself is tested as it is.
    """
    monkeypatch.setattr(passwords, "MEMORY_KIB", 8)
    monkeypatch.setattr(passwords, "PASSES", 1)
    for made_once in (passwords._hasher, passwords._hash_of_nobody):
        made_once.cache_clear()
    yield
    for made_once in (passwords._hasher, passwords._hash_of_nobody):
        made_once.cache_clear()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def lived(
    request: pytest.FixtureRequest,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Lived]:
    database = Database(new_database(request.param))
    yield live(database, tmp_path_factory.mktemp("lived"))
    database.close()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def decided(
    request: pytest.FixtureRequest,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Decided]:
    database = Database(new_database(request.param))
    yield decide(database, tmp_path_factory.mktemp("decided"))
    database.close()
