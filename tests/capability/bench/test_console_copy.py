"""What the benchmark of the console has on SQLite is what it has made on PostgreSQL."""

from typing import Any

import sqlalchemy as sa

from bench.console_copy import copy_to_sqlite
from heliograph import accounts
from heliograph.database.database import Database, metadata
from heliograph.database.schema import installation
from tests.support.factories import open_account, open_carrier
from tests.support.portal.routes import customer_of, things_of


def _rows(db: Database) -> dict[str, list[Any]]:
    with db.read() as tx:
        return {
            table.name: sorted(map(str, tx.execute(sa.select(table))))
            for table in metadata.sorted_tables
            if table is not installation
        }


def test_every_row_is_copied_and_reads_the_same(postgresql_url: str, sqlite_url: str) -> None:
    source, copy = Database(postgresql_url), Database(sqlite_url)
    amina_id = open_account(source, credits=1_000)
    open_carrier(source)
    things_of(source, amina_id, customer_of(source, amina_id))
    copy_to_sqlite(postgresql_url, sqlite_url)
    assert _rows(copy) == _rows(source)
    with copy.read() as tx:
        assert accounts.by_id(tx, amina_id).name == "amina", "it is found by its id, too"
    source.close()
    copy.close()
