"""Remembers where a database lives, and so recognizes a restored copy of it.

`installation.home` is a mark, which is made anew at each start, every minute, and at a stop. A file
beside it remembers the last one. More things tell a copy:

- on PostgreSQL the mark holds the server's identifier, the database's in it, and the transaction
  that wrote it, which is its row's `xmin` as long as nobody restores the row: a row that
  `pg_restore` writes has another one. So it does not matter into which server and database it is
  restored. The file is in the data directory; it tells a copy of the whole server (which has all of
  this) by a later transaction than the copy's.
- on SQLite the mark is a word, and the file stands beside the database. It also remembers when it
  was made itself, and when the database's file was: a copy of both files, by whatever program, was
  made later.

docs/operations.md, "If it is forgotten", says which copies cannot be told apart.
"""

import asyncio
import os
import secrets
from pathlib import Path
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.log import Log, error_fields
from heliograph.base.periodic import repeat
from heliograph.database.database import Database
from heliograph.database.file_birth import birth_ns
from heliograph.database.schema import installation
from heliograph.database.sessions import sqlite_path

SUFFIX: Final = ".home"  # of the file beside a SQLite database
FILE: Final = "postgresql.home"  # in the data directory
EVERY_S: Final = 60.0
_BORN: Final = "born"  # before the two births; words have no such line
_XIDS: Final = 1 << 32  # xmin has the lower half of a transaction's number

# some hosts forbid it
_MAY_ASK: Final = sa.text("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')")
_IN_POSTGRESQL: Final = sa.text("""
    SELECT c.system_identifier || '/' || d.oid FROM pg_control_system() c, pg_database d
    WHERE d.datname = current_database()""")
_KNOWN: Final = sa.text(
    "SELECT home, CAST(CAST(xmin AS text) AS bigint) AS written_by FROM installation"
)
_MARK: Final = sa.text("""
    UPDATE installation SET home = CAST(:identity AS text)
        || '/' || coalesce(CAST(:checked_s AS text), nullif(split_part(home, '/', 3), ''),
            '0') || '/' || txid_current()
    RETURNING home""")
_UNKNOWN_IDENTITY: Final = "0/0"  # where it may not be asked for

log = Log(__name__)


class _Mark(NamedTuple):
    """Holds a mark of PostgreSQL."""

    identity: str  # of the server and its database
    # Unix time of the last restore-check, so that what data directories remember of before is past
    checked_s: int
    written_by: int  # the number of a transaction, in 64 bits

    @classmethod
    def of(cls, text: str) -> "_Mark":
        """Reads a mark as PostgreSQL stores it. Raises ValueError for any other text."""
        identity, checked_s, written_by = text.rsplit("/", 2)
        return cls(identity, int(checked_s), int(written_by))

    def is_later_than(self, other: "_Mark") -> bool:
        """Returns whether its restore-check is later, or its transaction after the same one."""
        return (self.checked_s, self.written_by) > (other.checked_s, other.written_by)


def is_served_elsewhere(db: Database, data_dir: Path, *, anew: bool = False) -> bool:
    """Says whether the database has been served, and is not what it was then: it is a copy, or it
    was moved. With `anew`, a process asks that has run before, and whose database may have failed
    over to a standby that did not have the last mark yet. Raises Unavailable.
    """
    if db.postgresql:
        with db.read() as tx:
            return _is_copy(tx, None if anew else _stored_mark(data_dir))
    with db.read() as tx:
        known = tx.execute(sa.select(installation.c.home)).scalar_one()
    return known is not None and not _is_beside(_file(db), sqlite_path(db.url), known)


def mark_as_served_here(db: Database, data_dir: Path, *, checked_s: int | None = None) -> None:
    """Says that the database is served here, by a new mark. `checked_s` is the time, if it may be
    a copy and somebody has seen to it; other data directories may remember what the copy does not.
    Raises Unavailable; on SQLite OSError.
    """
    if db.postgresql:
        _store_mark(data_dir, db.transact(lambda tx: mark(tx, checked_s)))
        return
    file, database, word = _file(db), sqlite_path(db.url), secrets.token_hex(16)
    with db.read() as tx:
        before = tx.execute(sa.select(installation.c.home)).scalar_one()
    # a kill leaves either in the database
    _replace(file, [word, *([before] if before is not None else [])], database)
    with db.write() as tx:
        tx.execute(sa.update(installation).values(home=word))
    _replace(file, [word], database)


def mark(tx: Connection, checked_s: int | None = None) -> str:
    """Marks a database of PostgreSQL as served here, in the caller's transaction, and returns the
    mark.
    """
    return str(tx.execute(_MARK, {"identity": _identity(tx), "checked_s": checked_s}).scalar_one())


def is_marked(tx: Connection) -> bool:
    """Says whether a database of PostgreSQL is one that has been served, and no copy. What changes
    the mark's row must mark it anew if so.
    """
    return tx.execute(sa.select(installation.c.home)).scalar_one() is not None and not _is_copy(
        tx, None
    )


async def keep_marking(db: Database, data_dir: Path) -> None:
    """Marks the database anew every minute, until cancelled. So a copy that was taken after the
    start is recognized, too.
    """
    await repeat(
        lambda: asyncio.to_thread(mark_as_served_here, db, data_dir),
        wait=EVERY_S,
        fault="home_not_marked",
        level="warning",
    )


def _is_copy(tx: Connection, remembered: _Mark | None) -> bool:
    row = tx.execute(_KNOWN).one()
    if row.home is None:
        return False
    known, here = _Mark.of(row.home), _identity(tx)
    if known.written_by % _XIDS != row.written_by:
        return True
    if _UNKNOWN_IDENTITY in (here, known.identity):
        return False
    if here != known.identity:
        return True
    return (
        remembered is not None and remembered.identity == here and remembered.is_later_than(known)
    )


def _identity(tx: Connection) -> str:
    return (
        str(tx.execute(_IN_POSTGRESQL).scalar_one())
        if tx.execute(_MAY_ASK).scalar_one()
        else _UNKNOWN_IDENTITY
    )


def _stored_mark(data_dir: Path) -> _Mark | None:
    try:
        return _Mark.of(_lines(data_dir / FILE)[0])
    except (OSError, ValueError, IndexError):
        return None


def _store_mark(data_dir: Path, made: str) -> None:
    """Writes the mark to the file, as far as the data directory may be written to. Without it, a
    copy of the whole server is not told.
    """
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(data_dir / FILE, [made])
    except OSError as error:
        log.warning("home_not_remembered", **error_fields(error))


def _file(db: Database) -> Path:
    path = sqlite_path(db.url)
    return path.with_name(path.name + SUFFIX)


def _is_beside(file: Path, database: Path, known: str) -> bool:
    lines = _lines(file)
    born = [line for line in lines if line.startswith(_BORN)]
    return known in lines and (not born or born[0] == _birth_text(file, database))


def _birth_text(file: Path, database: Path) -> str:
    return f"{_BORN} {birth_ns(file)} {birth_ns(database)}"


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("ascii").splitlines()
    except FileNotFoundError:
        return []


def _replace(file: Path, lines: list[str], database: Path | None = None) -> None:
    """Replaces the file whole, and has it on the disk. With `database`, when both files
    were made is in it.
    """
    # processes may share a data directory
    new_file = file.with_name(f"{file.name}.{os.getpid()}.new")
    new_file.unlink(missing_ok=True)  # one that a kill has left was made earlier
    with os.fdopen(
        os.open(new_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
    ) as opened:
        found = [*lines, _birth_text(new_file, database)] if database is not None else lines
        opened.write("".join(f"{line}\n" for line in found))
        opened.flush()
        os.fsync(opened.fileno())
    new_file.replace(file)
