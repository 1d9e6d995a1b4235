"""Sets up databases of the benchmark once, and copies them for each case, so that every case starts
from the same state.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from tests.support.services.postgres import postgres_server

PREFIX = "heliograph_bench_"
DATABASE_FILE = "heliograph.db"

_LEFT_BEHIND = """
    SELECT d.datname FROM pg_database d WHERE starts_with(d.datname, %s)
    AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE starts_with(d.datname, a.application_name)
        AND starts_with(a.application_name, %s))"""

Fill = Callable[["Installation"], None]


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation is a data directory and the database that goes with it."""

    kind: str  # "sqlite" or "postgresql"
    data_dir: Path
    url: str


class SqliteDatabases:
    """Makes data directories with SQLite in them."""

    kind = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._template: Path | None = None

    @contextmanager
    def new(self, fill: Fill) -> Iterator[Installation]:
        """Yields an installation of its own, which is a copy of the template that `fill` filled
        once. It is gone on leaving.
        """
        if self._template is None:
            self._template = Path(tempfile.mkdtemp(dir=self._folder, prefix="sqlite-template-"))
            fill(self._installation(self._template))
        data_dir = Path(tempfile.mkdtemp(dir=self._folder, prefix="sqlite-"))
        try:
            shutil.copytree(self._template, data_dir, dirs_exist_ok=True)
            yield self._installation(data_dir)
        finally:
            shutil.rmtree(data_dir)

    def _installation(self, data_dir: Path) -> Installation:
        return Installation(self.kind, data_dir, f"sqlite:///{data_dir / DATABASE_FILE}")


class PostgresDatabases:
    """Makes databases on a server where they may be created. Their names begin with the session's,
    which its connection carries as long as it lives.
    """

    kind = "postgresql"

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url
        self._session = f"{PREFIX}{os.getpid()}_{secrets.token_hex(4)}"
        self._admin = psycopg.connect(url, autocommit=True, application_name=self._session)
        self._template: Installation | None = None
        # by a run that was killed
        for (name,) in self._admin.execute(_LEFT_BEHIND, (PREFIX, PREFIX)).fetchall():
            self._drop(name)

    @property
    def version(self) -> str:
        """Returns the server's version, such as `15.20`."""
        return self._admin.info.parameter_status("server_version") or "unknown"

    @contextmanager
    def empty(self) -> Iterator[str]:
        """Yields the URL of an empty database, which is dropped on leaving."""
        name = self._create(template="template0")
        try:
            yield self._url_of(name)
        finally:
            self._drop(name)

    @contextmanager
    def new(self, fill: Fill) -> Iterator[Installation]:
        """Yields an installation of its own, which is a copy of the template that `fill` filled
        once. It is gone on leaving.
        """
        if self._template is None:
            name = self._create(template="template0")
            self._template = Installation(
                self.kind,
                Path(tempfile.mkdtemp(dir=self._folder, prefix="postgresql-template-")),
                self._url_of(name),
            )
            fill(self._template)
        name = self._create(template=urlsplit(self._template.url).path[1:])
        data_dir = Path(tempfile.mkdtemp(dir=self._folder, prefix="postgresql-"))
        try:
            shutil.copytree(self._template.data_dir, data_dir, dirs_exist_ok=True)
            yield Installation(self.kind, data_dir, self._url_of(name))
        finally:
            self._drop(name)
            shutil.rmtree(data_dir)

    def close(self) -> None:
        """Drops the template."""
        if self._template is not None:
            self._drop(urlsplit(self._template.url).path[1:])
        self._admin.close()

    def _create(self, template: str) -> str:
        name = f"{self._session}_{secrets.token_hex(3)}"
        self._admin.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        return name

    def _drop(self, name: str) -> None:
        self._admin.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )

    def _url_of(self, name: str) -> str:
        return urlsplit(self._url)._replace(path=f"/{name}").geturl()


Databases = SqliteDatabases | PostgresDatabases


@contextmanager
def postgres_databases(folder: Path) -> Iterator[PostgresDatabases]:
    """Yields databases on the server of HELIOGRAPH_TEST_DATABASE_URL, on the one at 127.0.0.1:5432,
    or on a private one. Raises ServiceMissing.
    """
    with postgres_server() as url:
        databases = PostgresDatabases(folder, url)
        try:
            yield databases
        finally:
            databases.close()


def both_databases(stack: ExitStack, folder: Path) -> list["Databases"]:
    """Returns databases of both kinds in a folder, which are gone when the stack ends."""
    return [stack.enter_context(postgres_databases(folder)), SqliteDatabases(folder)]
