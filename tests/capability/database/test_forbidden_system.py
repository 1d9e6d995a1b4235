"""A role may not ask PostgreSQL which cluster it is: some hosts forbid that. The service works, and
says what it cannot guard.
"""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from structlog.testing import capture_logs

from heliograph.base.settings import Settings
from heliograph.database import migrate, restored_copy
from heliograph.database.database import Database
from heliograph.database.postgresql.hosts import CLUSTERS_UNKNOWN
from heliograph.processes.checks.doctor import examine
from tests.support.factories import SECRET_KEY, awaited
from tests.support.services.postgres import OWNER, PrivatePostgres


@pytest.fixture(scope="module")
def forbidding() -> Iterator[str]:
    """Yields the URL of a migrated database for an ordinary role."""
    with PrivatePostgres() as server:
        with psycopg.connect(server.url, autocommit=True) as sql:
            sql.execute(
                "CREATE ROLE amina LOGIN; GRANT ALL ON DATABASE postgres TO amina; GRANT ALL ON"
                " SCHEMA public TO amina;REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC"
            )
        url = server.url.replace(OWNER, "amina", 1)
        migrate.upgrade(url)
        yield url


def twice(url: str) -> str:
    address = url.partition("@")[2].partition("/")[0]
    return url.replace(address, f"{address},{address}")


@awaited
async def test_both_kinds_of_connections_are_made_without_it(
    forbidding: str, tmp_path: Path
) -> None:
    for url in (forbidding, twice(forbidding)):
        db = Database(url)
        with capture_logs() as logs:
            async with db.hot() as tx:
                assert (await tx.fetch("SELECT 1"))[0][0] == 1
            restored_copy.mark_as_served_here(db, tmp_path)
        assert not restored_copy.is_served_elsewhere(db, tmp_path)
        assert [
            line["reason"] for line in logs if line["event"] == "database_clusters_not_told_apart"
        ] == [CLUSTERS_UNKNOWN] * ("," in url)
        await db.close_hot()
        db.close()


def test_doctor_says_what_is_not_guarded_where_there_are_several(
    forbidding: str, tmp_path: Path
) -> None:
    def found(url: str) -> list[str]:
        return [
            finding.found
            for finding in examine(Settings(tmp_path, url, SECRET_KEY))
            if finding.check == "database hosts"
        ]

    assert (found(forbidding), found(twice(forbidding))) == ([], [CLUSTERS_UNKNOWN])
