"""Manages the data directory: who may make it, and the secret key in it, which SQLite keeps there
unless the settings hold one.

While a new key replaces another, the former one lies beside it, in OLD_SECRET_FILE.
"""

import base64
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal

from heliograph.base.setting_error import SettingError

CONFIG_FILE: Final = "heliograph.toml"
SECRET_FILE: Final = "secret.key"
OLD_SECRET_FILE: Final = "secret.key.old"
SECRET_BYTES_MIN: Final = 32

# whether a database of SQLite may be made where there is none
Making = Literal["always", "in empty directory", "never"]


class NoDatabase(SettingError):
    """There is no database where a command looked for it, and this command does not make one."""

    def __init__(self, path: Path, directory: Path) -> None:
        Exception.__init__(
            self,
            f"There is no database {path}; the data directory is {directory}. Name another one with"
            " --data-dir or DATABASE_URL, or make the database with `heliograph serve`, `demo` or"
            " `migrate`. In an empty directory, `account create` makes it too.",
        )


def make(directory: Path) -> None:
    """Makes the directory if it is not there. Raises SettingError."""
    with _usable(directory):
        # texts and numbers are nobody else's to read
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def may_make(making: Making, database_url: str, directory: Path) -> bool:
    """Says whether a key may be made; makes the directory if so. Raises NoDatabase,
    SettingError.
    """
    if making == "always" or database_url.startswith("postgresql"):
        return making == "always"
    path = Path(database_url.removeprefix("sqlite:///"))
    with _usable(directory):
        if path.exists():
            return False
        if making == "never" or not all(map(_is_empty, (directory, path.parent))):
            raise NoDatabase(path, directory)
    make(directory)
    return True


def _is_empty(directory: Path) -> bool:
    """Says whether the directory holds only what may be there before its database."""
    return not directory.is_dir() or all(
        entry.name in (CONFIG_FILE, SECRET_FILE, OLD_SECRET_FILE) for entry in directory.iterdir()
    )


def secret_keys(
    given: Any, given_old: Any, directory: Path, database_url: str, *, make: bool
) -> tuple[str, str | None]:
    """Returns the key, and another one that is known while one of them replaces the other; from the
    settings, else from the files. With `make`, it makes the file of the key where there is none.
    Raises SettingError.
    """
    if given:
        secret, old = str(given), str(given_old) if given_old else None
    elif database_url.startswith("postgresql"):
        raise SettingError(
            "HELIOGRAPH_SECRET_KEY",
            "nothing",
            f"at least {SECRET_BYTES_MIN} random characters, the same for every process of this"
            " database (openssl rand -base64 32)",
        )
    else:
        with _usable(directory):
            secret = _read(directory / SECRET_FILE, make=make)
            old = str(given_old) if given_old else _read_old(directory / OLD_SECRET_FILE)
    for name, key in (("HELIOGRAPH_SECRET_KEY", secret), ("HELIOGRAPH_SECRET_KEY_OLD", old)):
        if key is not None and len(key) < SECRET_BYTES_MIN:
            raise SettingError(
                name, f"{len(key)} characters", f"at least {SECRET_BYTES_MIN}, from a random source"
            )
    return secret, None if old == secret else old


def _read(path: Path, *, make: bool) -> str:
    if not path.exists():
        if not make:
            raise SettingError(
                "HELIOGRAPH_SECRET_KEY", f"no value, and no file {path}", "the key of this database"
            )
        _write(path)
    return _text(path)


def _read_old(path: Path) -> str | None:
    return _text(path) if path.exists() else None


def _text(path: Path) -> str:
    return path.read_text("ascii", errors="ignore").strip()


def _write(path: Path) -> None:
    # with mode 0600
    descriptor, written = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    with os.fdopen(descriptor, "w") as file:
        file.write(base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
        file.flush()
        os.fsync(file.fileno())  # what is encrypted with it will be on the disk, so it must be too
    # another process was faster: its key is whole, for a link appears with its content
    with suppress(FileExistsError):
        os.link(written, path)
    os.unlink(written)


@contextmanager
def _usable(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SettingError(
            "HELIOGRAPH_DATA_DIR",
            f"{directory} ({error.strerror})",
            "a directory that can be written",
        ) from error
