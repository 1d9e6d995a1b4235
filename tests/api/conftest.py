"""`api`: the whole API in this process, with its cast, on each of the two databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from tests.support.api.cast import Actor
from tests.support.api.service import Service, service_on


@pytest.fixture
def api(database_url: str, tmp_path: Path) -> Iterator[Service]:
    with service_on(database_url, tmp_path) as service:
        yield service


@pytest.fixture
def postgresql_api(postgresql_url: str, tmp_path: Path) -> Iterator[Service]:
    """For what can only happen where several processes share a database."""
    with service_on(postgresql_url, tmp_path) as service:
        yield service


@pytest.fixture
def amina(api: Service) -> Actor:
    return api.amina


@pytest.fixture
def bilal(api: Service) -> Actor:
    return api.bilal


@pytest.fixture
def chidi(api: Service) -> Actor:
    return api.chidi


@pytest.fixture
def at_noon() -> None:
    """No test begins on one day and ends on the next."""
    clock.move((DAY_MS * 3 // 2 - clock.now_ms() % DAY_MS) % DAY_MS)
