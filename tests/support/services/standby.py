"""Runs two PostgreSQL servers of a test's own: a primary, and a standby that must confirm what the
primary commits.
"""

import shutil
import subprocess
import time
from typing import Final

import psycopg

from tests.support.services import ServiceMissing
from tests.support.services.keeper import as_user
from tests.support.services.postgres import OWNER, PrivatePostgres

STREAMS_WITHIN_S: Final = 30.0
POLL_S: Final = 0.02
NAME: Final = "standby"  # the application_name that the primary knows it by


class Standby(PrivatePostgres):
    """Runs a copy of a running primary, which follows it. A test can `start` and `kill` it, or stop
    and continue its process.
    """

    def __init__(self, primary: PrivatePostgres) -> None:
        super().__init__()
        shutil.rmtree(self._data)
        source = f"host=127.0.0.1 port={primary.port} user={OWNER} application_name={NAME}"
        copied = subprocess.run(
            [
                self._programs / "pg_basebackup",
                "-D",
                self._data,
                "-d",
                source,
                "-R",
                "-X",
                "stream",
                "--checkpoint=fast",
            ],
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **as_user(self.user),
        )
        if copied.returncode:
            self.close()
            raise ServiceMissing(f"pg_basebackup failed:\n{copied.stderr}")


class Pair:
    """Holds a primary and a standby. `url` is the primary's. It is used as a context, in which
    every commit waits for the standby.
    """

    def __init__(self) -> None:
        self.primary = PrivatePostgres()
        self.standby: Standby

    @property
    def url(self) -> str:
        return self.primary.url

    def set_names(self, names: str) -> None:
        """Sets whom a commit waits for: the standby's name, or nobody."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
            connection.execute("SELECT pg_reload_conf()")

    def waiting(self) -> int:
        """Returns how many sessions of the primary wait for the standby to confirm their commit."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            ).fetchone()
            return int(row[0]) if row else 0

    def wait_until_streaming(self) -> None:
        """Returns when the standby confirms commits."""
        until_s = time.monotonic() + STREAMS_WITHIN_S
        with psycopg.connect(self.url, autocommit=True) as connection:
            while (
                connection.execute(
                    "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
                ).fetchone()
                is None
            ):
                assert time.monotonic() < until_s, "the standby does not follow the primary"
                time.sleep(POLL_S)

    def __enter__(self) -> "Pair":
        self.primary.start()
        try:
            self.standby = Standby(self.primary)
            self.standby.start()
            self.set_names(NAME)
            self.wait_until_streaming()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "standby"):
            self.standby.close()
        self.primary.close()
