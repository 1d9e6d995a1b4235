"""The test follows docs/operations.md, "Backup" and "Restore", on PostgreSQL and word by word; in
between the database is lost.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from heliograph.database.database import Database
from heliograph.messages.sweeps import restored
from tests.support import warm
from tests.support.capability.sending import House
from tests.support.documents import blocks
from tests.support.factories import SECRET_KEY, awaited
from tests.support.services.postgres import find_programs

DOCUMENT = Path(__file__).parents[3] / "docs" / "operations.md"
NAME = "heliograph-restored"  # of the new database, as the document says it


@pytest.fixture
def own_house(new_database: Callable[[str], str]) -> House:
    """Returns a house on a database that may be lost."""
    return House(new_database("postgresql"))


@pytest.fixture
def name(own_house: House) -> Iterator[str]:
    """Yields another name for the restored database, which many tests at once may want; it is
    dropped at the end.
    """
    url = urlsplit(own_house.db.url)
    name = f"{url.path[1:]}-restored"
    yield name
    _sql(url._replace(path="/postgres").geturl(), f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@awaited
async def test_a_backup_is_what_a_restore_restores_when_the_database_is_gone(
    own_house: House, name: str, tmp_path: Path
) -> None:
    house = own_house
    await house.send()
    _run(_commands("Backup"), house.db.url, tmp_path)
    backup = (tmp_path / "heliograph.dump").read_bytes()
    house.db.close()
    await house.db.close_hot()
    url = urlsplit(house.db.url)
    _sql(url._replace(path="/postgres").geturl(), f'DROP DATABASE "{url.path[1:]}" WITH (FORCE)')
    # the nightly one comes once more
    assert _shell(_commands("Backup"), house.db.url, tmp_path).returncode != 0
    assert (tmp_path / "heliograph.dump").read_bytes() == backup, (
        "a backup of nothing has replaced the good one"
    )
    _run(_commands("Restore").replace(NAME, name), house.db.url, tmp_path)
    assert (tmp_path / "heliograph.dump").read_bytes() == backup
    assert {path.stat().st_mode & 0o077 for path in tmp_path.glob("heliograph.dump*")} == {0}, (
        "others may read it"
    )
    copy = Database(url._replace(path=f"/{name}").geturl())
    with copy.read() as tx:
        assert sum(kept.messages for kept in restored.kept_messages(tx)) == 1
    copy.close()


def _commands(section: str) -> str:
    """Returns all commands of a section that are for PostgreSQL."""
    text = re.split(
        r"^## ", DOCUMENT.read_text("utf-8").split(f"\n## {section}\n")[1], flags=re.MULTILINE
    )[0]
    return "".join(block.code for block in blocks(text) if "PostgreSQL" in block.comment)


def _run(commands: str, url: str, directory: Path) -> None:
    done = _shell(commands, url, directory)
    assert done.returncode == 0, done.stdout + done.stderr


def _shell(commands: str, url: str, directory: Path) -> "subprocess.CompletedProcess[str]":
    programs = find_programs()
    assert programs is not None
    env = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "DATABASE_URL": url,
        "HELIOGRAPH_SECRET_KEY": SECRET_KEY,
        "HELIOGRAPH_DATA_DIR": str(directory / "data"),
    }
    shell = ["bash", "-euo", "pipefail", "-c", commands]
    return subprocess.run(
        shell,
        cwd=directory,
        env=warm.on_path(env),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _sql(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())
