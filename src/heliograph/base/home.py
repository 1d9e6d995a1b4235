"""Where a database is at home, by which a copy that was restored elsewhere is told from the one that was served.

On PostgreSQL that is the server's own identifier and the database's in it: both stay over a restart and a fail-over,
and a database made by `pg_restore` has others. On SQLite it is a word that stands in the database and, beside it, in a
file which no backup of the database has; each start agrees on a new one, so that also a copy of before the last start
is told.

A copy that has both, such as a base backup of a PostgreSQL server, cannot be told (docs/operations.md, Restore).
"""

import os
import secrets
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.db import Database
from heliograph.base.schema import installation
from heliograph.base.sessions import sqlite_path

SUFFIX: Final = ".home"  # of the file beside a SQLite database

_MAY_ASK: Final = sa.text("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')")  # some hosts forbid it
_IN_POSTGRESQL: Final = sa.text("""
    SELECT c.system_identifier || '/' || d.oid FROM pg_control_system() c, pg_database d
    WHERE d.datname = current_database()""")


def is_elsewhere(db: Database) -> bool:
    """Says whether the database has been served, and not where it is now: it is a copy, or it was moved. Raises
    Unavailable."""
    with db.read() as tx:
        known = tx.execute(sa.select(installation.c.home)).scalar_one()
        if known is None:
            return False
        if db.postgresql:
            return _in_postgresql(tx) not in (None, known)
    return known not in _words(_file(db))


def settle(db: Database) -> None:
    """Says that the database is at home here. Raises Unavailable, OSError."""
    if db.postgresql:
        with db.write() as tx:
            here = _in_postgresql(tx)
            tx.execute(sa.update(installation).where(installation.c.home.is_distinct_from(here)).values(home=here))
        return
    file, word = _file(db), secrets.token_hex(16)
    with db.read() as tx:
        before = tx.execute(sa.select(installation.c.home)).scalar_one()
    _write(file, [word, *([before] if before is not None else [])])  # whichever of them a kill leaves in the database
    with db.write() as tx:
        tx.execute(sa.update(installation).values(home=word))
    _write(file, [word])


def _in_postgresql(tx: Connection) -> str | None:
    return str(tx.execute(_IN_POSTGRESQL).scalar_one()) if tx.execute(_MAY_ASK).scalar_one() else None


def _file(db: Database) -> Path:
    path = sqlite_path(db.url)
    return path.with_name(path.name + SUFFIX)


def _words(file: Path) -> list[str]:
    try:
        return file.read_text("ascii").split()
    except FileNotFoundError:
        return []


def _write(file: Path, words: list[str]) -> None:
    """Replaces the file whole, and has it on the disk."""
    beside = file.with_name(file.name + ".new")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as opened:
        opened.write("".join(f"{word}\n" for word in words))
        opened.flush()
        os.fsync(opened.fileno())
    beside.replace(file)
