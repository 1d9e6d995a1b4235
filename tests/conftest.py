"""Every test can ask for databases (SQLite and PostgreSQL), for Redis, and for servers of its own
to kill. No test is skipped in silence.

- `database_url`: an empty, migrated database. The test runs once on SQLite, once on PostgreSQL.
- `sqlite_url`, `postgresql_url`: the same, on one of them.
- `new_database("postgresql")`: one more, for fixtures of any scope and for tests that need two.
- `postgres_url`: a PostgreSQL server on which databases can be created.
- `redis_url`: an empty Redis database.
- `private_postgres`, `private_redis`: a server of the test's own: `.url`, `.stop()`, `.kill()`,
  `.start()`.
- `at_noon`: the clock, moved to noon.
"""

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import Phase, settings
from xdist.remote import Producer

from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.base.log import Log
from heliograph.campaigns.audience import audience_lock
from heliograph.database import cache, commits, migrate, sessions
from tests.support import compiled, dealing, patience, prepared, trials
from tests.support.crash import processes
from tests.support.services import redis
from tests.support.services.databases import PostgresDatabases, SqliteDatabases
from tests.support.services.postgres import PrivatePostgres, postgres_server
from tests.support.services.redis import PrivateRedis, redis_server

NewDatabase = Callable[[str], str]  # "sqlite" or "postgresql" → the URL

# How long an example takes says nothing on a machine that others use too. In CI a failure is told
# as it was found: making it small takes minutes.
PHASES = [phase for phase in Phase if phase != Phase.shrink or os.environ.get("CI") != "true"]
settings.register_profile("heliograph", deadline=None, phases=PHASES)
settings.load_profile("heliograph")
compiled.share()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Looks for no garbage while tests are collected, and never again among all that there is then:
    every collection of the oldest generation would read it, and it stays to the end.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Chooses the part of the tests that is asked for, as tests/support/trials.py says, and deals
    them if several processes run them.
    """
    left_out = _of_other_part(items)
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]
    if hasattr(config, "workerinput"):  # one of several processes
        place = {test: k for k, test in enumerate(dealing.dealt(item.nodeid for item in items))}
        items.sort(key=lambda item: place[item.nodeid])


def _of_other_part(items: list[pytest.Item]) -> set[str]:
    part = os.environ.get(trials.PART)
    if part is None:
        return set()
    every = {item.nodeid for item in items}
    later = trials.trials_of(every)
    later |= _judged_again([item for item in items if item.nodeid not in later])
    return later if part == trials.FIRST else every - later


def _judged_again(items: list[pytest.Item]) -> set[str]:
    """Returns what is judged again. If the values of a test are judged in Python, and so the same
    way whatever stores them, SQLite gets all values at each change, and PostgreSQL the first one.
    Where such a test runs on PostgreSQL alone, that gets all of them.
    """
    on_sqlite = {_test_of(item) for item in items if "[sqlite" in item.name}
    seen: set[tuple[Path, str]] = set()
    again: set[str] = set()
    for item in items:
        test = _test_of(item)
        if item.get_closest_marker("judged_in_python") is None or "[postgresql" not in item.name:
            continue
        if test in seen and test in on_sqlite:
            again.add(item.nodeid)
        seen.add(test)
    return again


def _test_of(item: pytest.Item) -> tuple[Path, str]:
    """Returns the file and the name of a test, without its values."""
    return item.path, item.name.partition("[")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> dealing.Dealing | None:
    """Deals tests to the processes as tests/support/dealing.py says, for `python -m tests`."""
    return dealing.Dealing(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.fixture(autouse=True)
def _patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the tests' own process read late what it remembers of the configuration. A machine that
    others use too holds up a poll for more than the 0.9 s that the service allows, and the answer
    to whatever is asked then is 503. What is not remembered takes longer than 1.5 s to read, and a
    commit more than 1.2 s. The tests that are about these limits have them as they are.
    """
    tests = request.config.rootpath / "tests"
    kind = (
        request.node.path.relative_to(tests).parts[0]
        if request.node.path.is_relative_to(tests)
        else "unit"
    )
    if kind != "unit":
        monkeypatch.setattr(cache, "STALE_S", 4.0)
        monkeypatch.setattr(commits, "CONFIRMED_WITHIN_S", 8.0)
    if kind in ("capability", "property"):
        monkeypatch.setattr(cache, "ANSWER_S", 15.0)
        monkeypatch.setattr(
            audience_lock, "PAUSE_SQLITE_S", 0.0
        )  # for a server, which is not there


@pytest.fixture(scope="session", autouse=True)
def _patience_between_statements() -> None:
    """Lets a transaction of the tests' own process wait for a minute between two statements, also
    one of a fixture that is made once for many tests. Of the 5 s that the service allows, a machine
    that others use too has taken all.
    """
    assert patience.IDLE_IN_TRANSACTION_MS < 60_000  # it was read before
    sessions.POSTGRES_IDLE_IN_TRANSACTION_MS = 60_000  # type: ignore[misc]  # it is final


@pytest.fixture(autouse=True)
def _unconfigured_logs() -> Iterator[None]:
    """Leaves no configuration of logs to the next test of this process. A logger that writes a line
    while a program's logs are configured keeps that for ever, and tests that capture lines would
    miss its own; and a command would write its lines where the one before had them go.
    """
    yield
    if structlog.is_configured():
        structlog.reset_defaults()
        for module in list(sys.modules.values()):
            if isinstance(of_module := vars(module).get("log"), Log):
                vars(of_module).pop("_structlog", None)


def prepare_database(url: str) -> None:
    """Makes an empty database what the tests start from. It is called once a session for each kind
    of database, unless that is prepared (tests/support/prepared); tests get copies.
    """
    migrate.upgrade(url)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture(scope="session")
def _postgres_databases(postgres_url: str) -> Iterator[PostgresDatabases]:
    made = prepared.found("postgresql")
    databases = PostgresDatabases(postgres_url, prepare_database, made.empty if made else None)
    yield databases
    databases.close()


@pytest.fixture(scope="session")
def _sqlite_databases(tmp_path_factory: pytest.TempPathFactory) -> SqliteDatabases:
    made, directory = prepared.found("sqlite"), tmp_path_factory.mktemp("sqlite")
    return SqliteDatabases(directory, prepare_database, made.empty if made else None)


@pytest.fixture
def sqlite_url(_sqlite_databases: SqliteDatabases, tmp_path: Path) -> str:
    return _sqlite_databases.new(tmp_path)


@pytest.fixture
def postgresql_url(_postgres_databases: PostgresDatabases) -> str:
    return _postgres_databases.reused()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(scope="session")
def new_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> NewDatabase:
    def make(kind: str) -> str:
        databases = request.getfixturevalue(
            f"_{'postgres' if kind == 'postgresql' else kind}_databases"
        )
        return str(
            databases.new()
            if kind == "postgresql"
            else databases.new(tmp_path_factory.mktemp("database"))
        )

    return make


@pytest.fixture(scope="session")
def _redis_database() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture
def redis_url(_redis_database: str) -> str:
    redis.empty(_redis_database)
    return _redis_database


@pytest.fixture
def private_postgres() -> Iterator[PrivatePostgres]:
    with PrivatePostgres() as server:
        yield server


@pytest.fixture
def private_redis() -> Iterator[PrivateRedis]:
    with PrivateRedis() as server:
        yield server


@pytest.fixture(autouse=True)
def _nothing_goes_on() -> Iterator[None]:
    """Ends the servers that a test has left."""
    before = set(processes.RUNNING)
    yield
    processes.kill_left(before)


@pytest.fixture
def at_noon() -> None:
    """Moves the clock to noon, so that no test begins on one day and ends on the next."""
    clock.move((DAY_MS * 3 // 2 - clock.now_ms() % DAY_MS) % DAY_MS)


@pytest.fixture(autouse=True)
def _real_time_again() -> Iterator[None]:
    """Takes back what a test moved the clock by."""
    yield
    clock.move(by_ms=-clock._offset_ms)
    clock.forget_database()


def _skips_fail() -> bool:
    return os.environ.get("CI") == "true"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, a test that could not run is a failure (an expected failure did run)."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and _skips_fail():
        report.outcome, report.longrepr = (
            "failed",
            f"skipped, which CI takes for a failure: {report.longreprtext}",
        )
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """In CI, a file of tests that could not be collected is a failure."""
    report = yield
    if report.skipped and _skips_fail():
        report.outcome, report.longrepr = (
            "failed",
            f"skipped, which CI takes for a failure: {report.longreprtext}",
        )
    return report
