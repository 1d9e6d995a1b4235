"""Prepares the databases that tests copy once for all processes of a run.

To migrate one takes 0.7 s of a processor on SQLite and 2.6 on PostgreSQL, with what the server
does, and each process that runs tests copies two on each: an empty one, and one with the API's
cast. So `python -m tests` has one process prepare them (`__main__.py`), while another one collects
the tests and the second processor has nothing to do. Without it, and where it failed, each process
prepares its own; and if that fails too, its tests say why.
"""

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tests.support.api.cast import Cast

ROOT: Final = Path(__file__).parents[3]
NAMED: Final = "HELIOGRAPH_TEST_PREPARED"  # the name of the variable that says where they are


class Template(NamedTuple):
    """Says what there is to be copied of one kind of database."""

    empty: str  # the URL of a database with the current schema
    staged: str  # of one that has the API's cast as well
    cast: "Cast"


@contextmanager
def beside(postgres_url: str | None) -> Iterator["subprocess.Popen[str]"]:
    """Has databases prepared, by a process that begins now and keeps them until the block ends:
    on SQLite, and on this PostgreSQL server, if all processes use one.
    """
    with tempfile.TemporaryDirectory(prefix="heliograph-prepared-") as directory:
        file = str(Path(directory) / "templates")
        os.environ[NAMED] = file
        with subprocess.Popen(
            [sys.executable, "-m", __name__, file, *([postgres_url] if postgres_url else [])],
            cwd=ROOT,
            stdin=subprocess.PIPE,  # when it is closed, the process drops what it has made
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                del os.environ[NAMED]
                process.communicate()


def wait_until_there(process: "subprocess.Popen[str]") -> None:
    """Waits until the databases are prepared, or cannot be."""
    assert process.stdout is not None
    process.stdout.readline()


def found(kind: str) -> Template | None:
    """Returns what is prepared for this run of one kind of database (`sqlite`, `postgresql`)."""
    named = os.environ.get(NAMED)
    return _read(Path(named)).get(kind) if named else None


@cache
def _read(file: Path) -> dict[str, Template]:
    templates: dict[str, Template] = pickle.loads(file.read_bytes()) if file.exists() else {}
    return templates
