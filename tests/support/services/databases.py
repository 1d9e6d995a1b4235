"""Makes databases for tests: they are migrated once a session, then copied; and one on PostgreSQL
is emptied and used again.

On two cores with fsync, a copy takes 36 ms and dropping it 50 ms, and emptying takes 2 ms: so
emptying is what most tests get.
"""

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

PREFIX = "heliograph_test_"
SQLITE = "sqlite:///"  # what the URL of a file begins with

_TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> 'alembic_version'"""
_REFERENCES = """
    SELECT f.relname, t.relname FROM pg_constraint JOIN pg_class f ON f.oid = conrelid
        JOIN pg_class t ON t.oid = confrelid
    WHERE contype = 'f' AND f.oid <> t.oid AND NOT f.relispartition AND NOT t.relispartition"""
_COLUMNS = """
    SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0
        AND NOT attisdropped AND attgenerated = ''"""
_OTHERS_OFF = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend'"""
# All tables are emptied, so no row is left that could refer to a deleted one. To look for it took
# 73 s after 10,000 accounts.
_NO_TRIGGERS = "SET session_replication_role = replica"
_LEFT_BEHIND = """
    SELECT d.datname FROM pg_database d WHERE starts_with(d.datname, %s)
    AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE starts_with(d.datname, a.application_name)
        AND starts_with(a.application_name, %s))"""


class PostgresDatabases:
    """Makes the databases of one session of tests. Their names begin with the session's, which its
    connection carries as long as it lives.
    """

    def __init__(
        self, url: str, prepare: Callable[[str], None], template: str | None = None
    ) -> None:
        """`prepare` makes of an empty database what is copied. `template` is the URL of one that
        somebody has prepared already, and keeps for as long as this is used.
        """
        self._url = url
        self._prepare = prepare
        if template is not None:
            self.template = template
        self._session = f"{PREFIX}{os.getpid()}_{secrets.token_hex(4)}"
        self._admin = psycopg.connect(url, autocommit=True, application_name=self._session)
        self._made: list[str] = []
        # by a run that was killed
        for (name,) in self._admin.execute(_LEFT_BEHIND, (PREFIX, PREFIX)).fetchall():
            self._drop(name)

    def new(self) -> str:
        """Returns the URL of a migrated database of its own."""
        return self._url_of(self._create(template=urlsplit(self.template).path[1:]))

    def reused(self) -> str:
        """Returns the URL of the one database that is given out again and again, as empty as after
        its migrations. Whoever was connected is not any more.
        """
        self._reusable.empty()
        return self._reusable.url

    def close(self) -> None:
        """Drops all of them."""
        if "_reusable" in self.__dict__:
            self._reusable.close()
        for name in self._made:
            self._drop(name)
        self._admin.close()

    @cached_property
    def template(self) -> str:
        """Returns the URL of the database that is copied."""
        url = self._url_of(self._create(template="template0"))
        self._prepare(url)
        return url

    @cached_property
    def _reusable(self) -> "ReusableDatabase":
        return ReusableDatabase(self.new())

    def _create(self, template: str) -> str:
        name = f"{self._session}_{len(self._made)}"
        self._admin.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        self._made.append(name)
        return name

    def _drop(self, name: str) -> None:
        self._admin.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )

    def _url_of(self, name: str) -> str:
        return urlsplit(self._url)._replace(path=f"/{name}").geturl()


class ReusableDatabase:
    """Holds a migrated database that can be brought back to what it held at first."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = psycopg.connect(url, autocommit=True)
        # whoever is no superuser may not say so: then it is emptied as before, and more slowly
        with suppress(psycopg.errors.InsufficientPrivilege):
            self._connection.execute(_NO_TRIGGERS)
        self._refill = self._remember()

    def empty(self) -> None:
        # what a test left running must not write into the next one's database
        self._connection.execute(_OTHERS_OFF)
        self._connection.execute(self._refill)

    def close(self) -> None:
        self._connection.close()

    def _remember(self) -> sql.Composed:
        """Copies the rows that the migrations made into a schema beside, and returns the statements
        that bring back this state.
        """
        tables = [name for (name,) in self._connection.execute(_TABLES).fetchall()]
        needed_by: dict[str, set[str]] = {name: set() for name in tables}
        for child, parent in self._connection.execute(_REFERENCES).fetchall():
            needed_by[parent].add(child)
        children_first = list(TopologicalSorter(needed_by).static_order())
        statements = [
            sql.SQL("DELETE FROM {}").format(sql.Identifier(name)) for name in children_first
        ]
        self._connection.execute("CREATE SCHEMA first_rows")
        for name in reversed(children_first):
            table, kept = sql.Identifier(name), sql.Identifier("first_rows", name)
            if (
                self._connection.execute(sql.SQL("SELECT FROM {} LIMIT 1").format(table)).fetchone()
                is None
            ):
                continue
            self._connection.execute(sql.SQL("CREATE TABLE {} AS TABLE {}").format(kept, table))
            columns = sql.SQL(", ").join(
                sql.Identifier(column)
                for (column,) in self._connection.execute(_COLUMNS, (name,)).fetchall()
            )
            statements.append(
                sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {}").format(
                    table, columns, columns, kept
                )
            )
        for (name,) in self._connection.execute(
            "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'"
        ).fetchall():
            state = self._connection.execute(
                sql.SQL("SELECT last_value, is_called FROM {}").format(sql.Identifier(name))
            ).fetchone()
            assert state is not None
            statements.append(
                sql.SQL("SELECT setval({}, {}, {})").format(
                    sql.Literal(name), *map(sql.Literal, state)
                )
            )
        return sql.SQL("; ").join(statements)


class SqliteDatabases:
    """Makes copies of one migrated file."""

    def __init__(
        self, directory: Path, prepare: Callable[[str], None], template: str | None = None
    ) -> None:
        """`template` is the URL of a database that somebody has prepared already."""
        self._directory = directory
        self._prepare = prepare
        if template is not None:
            self.template = template

    def new(self, directory: Path) -> str:
        """Returns the URL of a migrated database in that directory."""
        file = directory / "heliograph.db"
        shutil.copyfile(self.template.removeprefix(SQLITE), file)
        return f"{SQLITE}{file}"

    @cached_property
    def template(self) -> str:
        """Returns the URL of the database that is copied."""
        file = self._directory / "template.db"
        self._prepare(f"{SQLITE}{file}")
        assert not file.with_name("template.db-wal").exists(), (
            "the last connection was not closed: the copy would lack what is in the WAL"
        )
        return f"{SQLITE}{file}"
