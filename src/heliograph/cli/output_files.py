"""Writes the files of commands. A command never overwrites its own input, overwrites another file
only when it is told to, and lets only their owner read its files (mode 0600).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

import click

from heliograph.base.private_files import opener
from heliograph.cli.failure import Failure


def refuse_same(path: str, source: str | int, *, option: str) -> None:
    """Raises BadParameter when both are one file, by whatever path or link. Opens nothing. `source`
    is its path, or its descriptor.
    """
    if os.path.exists(path) and os.path.samefile(path, source):
        raise click.BadParameter(
            f"{path} is the file that is read; name another one.", param_hint=option
        )


def is_standard_output(path: str) -> bool:
    """Returns whether a path is /dev/stdout, say, also where that leads to a file."""
    with suppress(OSError):
        return os.path.samestat(os.stat(path), os.fstat(1))
    return False


def open_to_write(path: str, *, force: bool) -> IO[str]:
    """Opens a file for rows as they were read, octets that are not UTF-8 among them. A file is
    replaced with `force` only. Raises Failure.
    """
    try:
        if not force and os.path.isfile(path) and not is_standard_output(path):
            raise _already_exists(path)
        return open(
            path, "w", encoding="utf-8", errors="surrogateescape", newline="", opener=opener
        )
    except OSError as error:
        raise _failure(path, error) from error


def save_octets(directory: str, name: str, content: bytes) -> str:
    """Writes a new file into a directory, which is made if need be, and returns its path. It
    overwrites nothing. Raises Failure.
    """
    path = os.path.join(directory, name)
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        with open(path, "xb", opener=opener) as file:
            file.write(content)
    except FileExistsError as error:
        raise Failure(f"{path} exists already; name another directory.") from error
    except OSError as error:
        raise _failure(path, error) from error
    return path


@contextmanager
def whole_file(path: str, *, force: bool) -> Iterator[IO[str]]:
    """Opens a file which is there whole or not at all: until then it is `path`.part. Raises
    Failure.

    What is there stays what it is: a link leads to the new file, and a device or pipe is written
    to. A file is replaced with `force` only.
    """
    with _whole(path, "", force=force) as opened:
        yield opened


@contextmanager
def whole_binary_file(path: str, *, force: bool) -> Iterator[IO[bytes]]:
    """Opens such a file of octets. Raises Failure."""
    with _whole(path, "b", force=force) as opened:
        yield opened


@contextmanager
def _whole(path: str, kind: str, *, force: bool) -> Iterator[IO[Any]]:
    how: dict[str, Any] = {} if kind else {"encoding": "utf-8", "newline": ""}
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, f"w{kind}", **how) as opened:
                yield opened
            return
        target = os.path.realpath(path)
        part = f"{target}.part"
        _clear_target(target, part, force=force)
        with (
            open(part, f"x{kind}", opener=opener, **how) as opened,
            _remove_on_error(part),
        ):
            yield opened
            opened.flush()
            os.replace(part, target)
    except OSError as error:
        raise _failure(path, error) from error


def _clear_target(target: str, part: str, *, force: bool) -> None:
    for path in (target, part):
        if os.path.lexists(path) and not force:
            raise _already_exists(path)
    with suppress(FileNotFoundError):
        os.unlink(part)


@contextmanager
def _remove_on_error(part: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def _already_exists(path: str) -> Failure:
    return Failure(f"{path} is there already; --force overwrites it.")


def _failure(path: str, error: OSError) -> Failure:
    return Failure(f"{path} cannot be written: {error.strerror}.")
