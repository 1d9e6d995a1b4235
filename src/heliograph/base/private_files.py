"""Makes files that nobody but their owner may read, and finds others: all that is in the data
directory, the database wherever it is, and what commands write.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

MODE: Final = 0o600
# a directory with more is not the service's alone: there only the service's own files are looked at
ENTRIES_MAX: Final = 10_000
_FOR_GROUP_AND_OTHERS: Final = 0o077
_FOR_OTHERS: Final = 0o007
_OURS: Final = ("heliograph.toml", "secret.key", "secret.key.old", "serve.lock")
_BESIDE_DATABASE: Final = ("-wal", "-shm", "-journal", ".home")


class PublicFiles(NamedTuple):
    """Lists files that other users of the machine can read: the data directory itself, the
    service's own files, then the others by name.

    `is_all` is False when the directory has more than ENTRIES_MAX entries, and only the service's
    own files were looked at.
    """

    open: list[Path]
    is_all: bool


def opener(path: str, flags: int) -> int:
    """Opens a file for `open(…, opener=opener)`: a new one is private from its first moment, and an
    old one becomes so.
    """
    descriptor = os.open(path, flags, MODE)
    with suppress(OSError):  # somebody else's file
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, MODE)
    return descriptor


def make_file(path: Path) -> None:
    """Makes this file, private from its first moment, if it is not there. SQLite gives its
    own files beside a database the database's mode.
    """
    with suppress(OSError):  # whoever opens it says what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, MODE))


def find_public_files(data_dir: Path, database: Path | None) -> PublicFiles:
    """Returns which files and folders of the data directory others may read, and whether the
    database is one. `database` is the file, on SQLite. Symbolic links are not followed.
    """
    databases = [data_dir / "heliograph.db", *([database] if database is not None else [])]
    own = [data_dir / name for name in _OURS]
    own += [
        each.with_name(f"{each.name}{ending}")
        for each in databases
        for ending in ("", *_BESIDE_DATABASE)
    ]
    entries, is_all = _entries(data_dir)
    found = [path for path in dict.fromkeys([*own, *sorted(entries)]) if _is_open(path)]
    return PublicFiles([*([data_dir] if _is_open_directory(data_dir) else []), *found], is_all)


def make_private(data_dir: Path, database: Path | None) -> None:
    """Makes all files and folders that `find_public_files` finds private. What belongs to another
    user stays as it is, unless the superuser asks: `heliograph doctor` tells of it.
    """
    for path in find_public_files(data_dir.resolve(), database).open:
        with suppress(OSError):
            _take_from_others(path)


def _entries(data_dir: Path) -> tuple[list[Path], bool]:
    """Returns what is in the directory and in those below it, and True; nothing and False
    when that is more than ENTRIES_MAX.
    """
    found: list[Path] = []
    for path in _walk(data_dir):
        if len(found) == ENTRIES_MAX:
            return [], False
        found.append(path)
    return found, True


def _walk(directory: Path) -> Iterator[Path]:
    waiting = [str(directory)]
    while waiting:
        # another user's folder, or one that has just gone
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _is_open(path: Path) -> bool:
    """Says whether others can read a file. A file of another user, such as settings of root's that
    our group may read, is open only when everybody may read it.
    """
    try:
        found = path.lstat()
    except OSError:
        return False
    closed = _FOR_GROUP_AND_OTHERS if found.st_uid == os.geteuid() else _FOR_OTHERS
    return (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)) and bool(
        found.st_mode & closed
    )


def _is_open_directory(data_dir: Path) -> bool:
    """Returns whether the data directory itself shows others what is in it. A directory of
    another user, or one that all write to (/tmp), is not ours to close.
    """
    try:
        found = data_dir.stat()
    except OSError:
        return False
    return (
        found.st_uid == os.geteuid()
        and not found.st_mode & stat.S_ISVTX
        and bool(found.st_mode & _FOR_GROUP_AND_OTHERS)
    )


def _take_from_others(path: Path) -> None:
    """Gives a file the mode 0600 and a folder 0700. What its owner may not do with it, nobody
    can afterwards.
    """
    # Not opened for reading, for closing that would let go SQLite's locks (fcntl); and a link that
    # has taken its place meanwhile is not followed.
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        found = os.fstat(descriptor).st_mode
        if not stat.S_ISLNK(found):
            os.chmod(f"/proc/self/fd/{descriptor}", stat.S_IMODE(found) & ~_FOR_GROUP_AND_OTHERS)
    finally:
        os.close(descriptor)
