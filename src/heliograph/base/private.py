"""Files that nobody but their owner may read: the database with its texts and numbers, the secret key, the settings, and what commands write."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

MODE: Final = 0o600
_FOR_GROUP_AND_OTHERS: Final = 0o077
_FOR_OTHERS: Final = 0o007
# By name, for a data directory may be one that other things are kept in too.
_OURS: Final = ("heliograph.toml", "secret.key", "serve.lock", "heliograph.db")
_BESIDE_DATABASE: Final = ("-wal", "-shm", "-journal")


def opener(path: str, flags: int) -> int:
    """Opens a file for `open(…, opener=opener)`: a new one is private from its first moment, and an old one becomes so."""
    descriptor = os.open(path, flags, MODE)
    with suppress(OSError):  # somebody else's file
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, MODE)
    return descriptor


def make_file(path: Path) -> None:
    """Makes this file, private from its first moment, if it is not there. SQLite gives its own files beside a database the database's mode."""
    with suppress(OSError):  # whoever opens it says what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, MODE))


def open_to_others(data_dir: Path, database: Path | None) -> list[Path]:
    """Returns which of the files that the service keeps can be read by others. `database`: the file, on SQLite."""
    return [path for path in _kept(data_dir, database) if _is_open(path)]


def make_private(data_dir: Path, database: Path | None) -> None:
    """Takes these files from others. What belongs to another user is left as it is: `heliograph doctor` tells of it."""
    for path in open_to_others(data_dir, database):
        with suppress(OSError):
            path.chmod(MODE)


def _kept(data_dir: Path, database: Path | None) -> Iterator[Path]:
    files = dict.fromkeys([*(data_dir / name for name in _OURS), *([database] if database is not None else [])])
    for path in files:
        yield path
        if path.suffix == ".db" or path == database:
            yield from (path.with_name(f"{path.name}{ending}") for ending in _BESIDE_DATABASE)


def _is_open(path: Path) -> bool:
    """A file of another user, such as settings of root's that our group may read, is open only when everybody may read it."""
    try:
        found = path.lstat()
    except OSError:
        return False
    closed = _FOR_GROUP_AND_OTHERS if found.st_uid == os.geteuid() else _FOR_OTHERS
    return stat.S_ISREG(found.st_mode) and bool(found.st_mode & closed)
