"""Provides PostgreSQL for the tests: a server that runs, or a private one."""

import getpass
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg

from tests.support.services import ServiceMissing, private_only
from tests.support.services.keeper import as_user
from tests.support.services.private import PrivateService

DEFAULT_ADDRESS = "127.0.0.1:5432"
NAMED = "HELIOGRAPH_TEST_DATABASE_URL"
MEMORY = Path("/dev/shm")  # a file system that Linux keeps in memory
MEMORY_MIN = 4 << 30  # octets: a run of all tests takes a part of them
IN_MEMORY_CONNECTIONS = "200"  # of all processes that run tests beside each other
OWNER = "heliograph"  # superuser of a private server
UNPRIVILEGED = ("postgres", "nobody")  # initdb refuses to run as root
OLDEST = 140_000  # pg_terminate_backend(pid, timeout) came with 14
ADVICE = (
    "PostgreSQL 14 or newer is needed: install it (Debian, Ubuntu: sudo apt-get install"
    " postgresql), or name a server on which databases may be created, as in"
    " HELIOGRAPH_TEST_DATABASE_URL=postgresql://USER:PASSWORD@HOST:5432/postgres"
)


class PrivatePostgres(PrivateService):
    """Runs a server with the settings of a fresh installation, so with fsync: what is committed
    survives `kill`.
    """

    def __init__(
        self,
        address: str = "127.0.0.1",
        standby_of: str = "",
        parent: Path | None = None,
        **settings: str,
    ) -> None:
        """Prepares a server. `standby_of` is the URL of a server that this one follows until it is
        promoted; `parent` is where its home is made; `settings` are more of PostgreSQL's.
        """
        programs = find_programs()
        if programs is None:
            raise ServiceMissing(ADVICE)
        super().__init__(parent)
        self._programs = programs
        self._data = self.directory / "data"
        self._addresses = [address]
        self._settings = {"port": str(self.port), "unix_socket_directories": "", **settings}
        self.address = f"{address}:{self.port}"
        self.url = f"postgresql://{OWNER}@{self.address}/postgres"
        if os.geteuid() == 0:
            self.user = _unprivileged_user()
            shutil.chown(self.directory, self.user)
        if standby_of:
            self._run(
                "pg_basebackup",
                "-D",
                self._data,
                "-d",
                standby_of,
                "-R",
                "-X",
                "stream",
                "--checkpoint=fast",
                "--no-sync",
            )
            return
        self._run(
            "initdb",
            "-D",
            self._data,
            "-U",
            OWNER,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        )
        if address != "127.0.0.1":  # in a network of the test's own
            with (self._data / "pg_hba.conf").open("a") as file:
                file.write("host all all samenet trust\nhost replication all samenet trust\n")

    def promote(self) -> None:
        """Makes a primary of a standby, and waits until it is one."""
        self._run("pg_ctl", "promote", "-D", self._data, "--wait")

    def hang(self) -> None:
        """Stops all of its processes where they are (SIGSTOP): its connections stay, and what they
        are sent is acknowledged and not answered.
        """
        for process in self._processes():
            process.suspend()

    def go_on(self) -> None:
        """Lets them continue."""
        for process in self._processes():
            process.resume()

    def _processes(self) -> "list[psutil.Process]":
        return [self.process, *self.process.children(recursive=True)]

    def _run(self, program: str, *words: str | Path) -> None:
        done = subprocess.run(
            [self._programs / program, *words],
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **as_user(self.user),
        )
        if done.returncode:
            shutil.rmtree(self.directory)
            raise ServiceMissing(f"{program} failed:\n{done.stderr}")

    def command(self) -> list[str]:
        settings = {"listen_addresses": ",".join(self._addresses), **self._settings}
        return [
            str(self._programs / "postgres"),
            "-D",
            str(self._data),
            *(f"--{name}={value}" for name, value in settings.items()),
        ]

    def is_ready(self) -> bool:
        return _objection(self.url) is None

    def listen_at(self, address: str) -> str:
        """Returns its URL at another address of this machine, from its next start on: it is for who
        comes from that address's network (of 24 bits).
        """
        self._addresses.append(address)
        with (self._data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {address}/24 trust\n")
        return self.url.replace("127.0.0.1", address)


@contextmanager
def server_in_memory() -> Iterator[str | None]:
    """Yields the URL of a private server whose files are in memory, or None where that cannot be,
    or another server was named. It waits for its disk as any other does, but this disk takes no
    time.
    """
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MEMORY_MIN
    if NAMED in os.environ or not has_room or find_programs() is None:
        yield None
        return
    with PrivatePostgres(
        parent=MEMORY, max_connections=IN_MEMORY_CONNECTIONS, max_wal_size="512MB"
    ) as server:
        yield server.url


@contextmanager
def postgres_server() -> Iterator[str]:
    """Yields the URL of a database on a server where databases can be created, which is a private
    server if none runs.
    """
    if running := find_server():
        yield running
        return
    with PrivatePostgres() as server:
        yield server.url


def find_server() -> str | None:
    """Finds a server that runs and on which we may create databases: the one that was named, or the
    one at the default address.
    """
    if named := os.environ.get(NAMED):
        if objection := _objection(named):
            raise ServiceMissing(f"{NAMED} cannot be used: {objection}")
        return named
    if private_only():
        return None
    candidates = (
        f"postgresql://{user}@{DEFAULT_ADDRESS}/postgres"
        for user in dict.fromkeys((getpass.getuser(), "postgres", "root"))
    )
    return next((url for url in candidates if _objection(url) is None), None)


def find_programs() -> Path | None:
    """Finds the folder that holds initdb and postgres; Debian keeps them outside PATH, one folder a
    version.
    """
    on_path = shutil.which("initdb")
    found = [Path(on_path).resolve().parent] if on_path else []
    found += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: -int(folder.parent.name)
    )
    return next(
        (
            folder
            for folder in found
            if (folder / "initdb").exists() and (folder / "postgres").exists()
        ),
        None,
    )


def _objection(url: str) -> str | None:
    """Says why this server does not do, or returns None if it does."""
    try:
        with psycopg.connect(url, connect_timeout=2, autocommit=True) as connection:
            row = connection.execute(
                "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
            if connection.info.server_version < OLDEST:
                return f"version {connection.info.server_version // 10_000} is too old"
            return None if row and row[0] else "its user may not create databases"
    except psycopg.OperationalError as error:
        return str(error)


def _unprivileged_user() -> str:
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in UNPRIVILEGED if name in known)
