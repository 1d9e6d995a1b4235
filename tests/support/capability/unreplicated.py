"""Runs a PostgreSQL server whose standby confirms nothing."""

import psycopg

from tests.support.polling import wait_until
from tests.support.services.postgres import PrivatePostgres

ENDED_WITHIN_S = 10.0


class Unreplicated:
    """Stands for a server whose commits wait for a standby that there is not, from `lose` to
    `confirm`.
    """

    def __init__(self, server: PrivatePostgres) -> None:
        self.server = server

    def lose(self) -> None:
        self._wait_for("nobody")

    def confirm(self) -> None:
        self._wait_for("")

    def _wait_for(self, names: str) -> None:
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
            connection.execute("SELECT pg_reload_conf()")
            wait_until(
                lambda: connection.execute("SHOW synchronous_standby_names").fetchone() == (names,),
                "the setting is in effect",
            )
