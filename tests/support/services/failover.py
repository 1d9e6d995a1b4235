"""Finds what docs/failover.md builds with, beside PostgreSQL and HAProxy: patroni, etcd and
PgBouncer.
"""

import os
import shutil

import psycopg

from tests.support.services import ServiceMissing
from tests.support.services.postgres import UNPRIVILEGED
from tests.support.services.private import PrivateService

# Debian's is where an ordinary user's PATH does not lead
PATH = f"/usr/sbin{os.pathsep}{os.environ.get('PATH', os.defpath)}"
PACKAGES = ("patroni", "etcd-server", "pgbouncer")
ADVICE = (
    "patroni, etcd and PgBouncer are needed: install them (Debian, Ubuntu: sudo apt-get install"
    " --no-install-recommends patroni etcd-server pgbouncer)"
)


def find_programs() -> str | None:
    """Returns where they are, or None when one is missing."""
    found = [shutil.which(program, path=PATH) for program in ("patroni", "etcd", "pgbouncer")]
    return None if None in found else ", ".join(map(str, found))


class PgBouncer(PrivateService):
    """Runs PgBouncer with the handbook's configuration in front of that PostgreSQL, whose place it
    takes for the role `heliograph`.
    """

    user = UNPRIVILEGED[0] if os.geteuid() == 0 else ""  # it refuses to run as root

    def __init__(self, files: dict[str, str], postgres_port: int) -> None:
        program = shutil.which("pgbouncer", path=PATH)
        if program is None:
            raise ServiceMissing(ADVICE)
        super().__init__()
        self._program = program
        self.url = (
            f"postgresql://heliograph:change-me-3@127.0.0.1:{self.port}/heliograph"
            "?target_session_attrs=read-write"
        )
        if self.user:
            shutil.chown(self.directory, self.user)
        for name in ("pgbouncer.ini", "userlist.txt"):
            text = (
                files[name]
                .replace("port=5000 dbname=heliograph", f"port={postgres_port} dbname=postgres")
                .replace("6432", str(self.port))
            )
            (self.directory / name).write_text(text, "utf-8")

    def command(self) -> list[str]:
        return [self._program, "pgbouncer.ini"]

    def is_ready(self) -> bool:
        try:
            psycopg.connect(self.url.partition("?")[0], connect_timeout=2).close()
            return True
        except psycopg.OperationalError:
            return False
