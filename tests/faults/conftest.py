"""Says what the tests of the fault matrix can ask for, and where their results go: see the
package's docstring.
"""

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.support.faults import matrix
from tests.support.faults.deployment import Deployment

_DEPLOYMENT = pytest.StashKey[Deployment]()


@pytest.fixture
def new_deployment(
    new_database: Callable[[str], str],
    redis_url: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Callable[..., Deployment]]:
    """Yields what makes a deployment: `new_deployment("postgresql")`. With `url` and `redis_url` it
    is on servers of the test's own, such as private_postgres.url.
    """
    made: list[Deployment] = []

    def make(kind: str, url: str | None = None, redis_url: str = redis_url) -> Deployment:
        made.append(Deployment(kind, url or new_database(kind), redis_url, tmp_path))
        request.node.stash[_DEPLOYMENT] = made[-1]
        return made[-1]

    yield make
    for deployment in made:
        deployment.close()


@pytest.fixture(params=["sqlite", "postgresql"] if matrix.LONG else ["postgresql"])
def deployment(
    request: pytest.FixtureRequest, new_deployment: Callable[[str], Deployment]
) -> Deployment:
    """Returns a deployment. The long form of a test runs on both: everything in one process on
    SQLite, and in several on PostgreSQL with Redis.
    """
    return new_deployment(request.param)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keeps what became of each test that is marked with the number of a row."""
    report = yield
    mark = item.get_closest_marker("fault")
    if mark is not None and (report.when == "call" or report.failed):
        deployment = item.stash.get(_DEPLOYMENT, None)
        seen = (
            deployment.seen._asdict()
            if deployment is not None and deployment.seen is not None and report.passed
            else {}
        )
        held = report.passed and bool(seen)
        matrix.add(
            matrix.Result(
                mark.args[0],
                deployment.kind if deployment is not None else "",
                item.name,
                held,
                round(report.duration, 1),
                seen,
            )
        )
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves what has no quick form to `make faults`."""
    if not matrix.LONG:
        long = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)
