"""A server is set to answer COMMIT before it has stored anything, and is killed
(docs/reliability.md, row 38).
"""

from collections.abc import Callable
from typing import Final

import psycopg
import pytest

from heliograph.database import migrate
from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import quick_or_long
from tests.support.services.postgres import PrivatePostgres

WINDOW: Final = 10
NewDeployment = Callable[..., Deployment]
LAZY: Final = (
    "ALTER SYSTEM SET synchronous_commit = off",
    "ALTER SYSTEM SET wal_writer_delay = '10s'",
    "ALTER SYSTEM SET wal_writer_flush_after = '1GB'",
    "ALTER DATABASE postgres SET synchronous_commit = off",
    "ALTER ROLE heliograph SET synchronous_commit = off",
)


@pytest.mark.fault(38)
def test_accepted_means_stored_on_a_server_that_answers_before_it_has_stored(
    new_deployment: NewDeployment, private_postgres: PrivatePostgres
) -> None:
    """Of a transaction that is committed lazily, what is written down within ten seconds
    is gone when all of PostgreSQL is killed.
    """
    migrate.upgrade(private_postgres.url)
    with psycopg.connect(private_postgres.url, autocommit=True) as admin:
        for statement in LAZY:
            admin.execute(statement)
    private_postgres.stop()
    private_postgres.start()
    deployment = new_deployment("postgresql", url=private_postgres.url)
    deployment.carrier("--answer-delay-ms", "20", window=WINDOW)
    deployment.start()
    kills = int(quick_or_long(1, 20))
    with deployment.clients.sending(per_second=quick_or_long(100, 300)):
        for _ in range(kills):
            deployment.clients.wait_for(int(quick_or_long(100, 300)))
            private_postgres.kill()
            private_postgres.start()
        deployment.clients.wait_for(20)
    deployment.settle_doubts()
    deployment.holds(
        repeated_max=WINDOW * kills,
        how=(
            f"synchronous_commit=off for the server, the database and the role; {kills} times kill"
            " -9 of all of PostgreSQL under load"
        ),
    )
