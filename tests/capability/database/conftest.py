"""`bare_url` is a database that nothing is in. `bare_url_beside` is one of the same kind as
`database_url`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest


@contextmanager
def _bare(kind: str, request: pytest.FixtureRequest, directory: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{directory}/bare.db"
        return
    server = str(request.getfixturevalue("postgres_url"))
    name = f"heliograph_bare_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield f"{server.rsplit('/', 1)[0]}/{name}"
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with _bare(request.param, request, tmp_path) as url:
        yield url


@pytest.fixture
def bare_url_beside(
    database_url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[str]:
    kind = "sqlite" if database_url.startswith("sqlite") else "postgresql"
    with _bare(kind, request, tmp_path) as url:
        yield url
