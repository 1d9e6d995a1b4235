"""A database with rows of an earlier version is brought to this one, and keeps them."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
import sqlalchemy as sa
from alembic import command

from heliograph.base import migrate
from heliograph.base.db import Database
from heliograph.senders import skeleton

SENDERS = {"PAYPA1": "1" * 32, "M-TN": "2" * 32, "2335550": "3" * 32, "Modern & Co": "4" * 32}


@pytest.fixture(params=["sqlite", "postgresql"])
def bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database that nothing is in."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/bare.db"
        return
    server = str(request.getfixturevalue("postgres_url"))
    name = f"heliograph_bare_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield f"{server.rsplit('/', 1)[0]}/{name}"
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def bring_to(database: Database, revision: str) -> None:
    with database.engine.begin() as connection:
        config = migrate._config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def test_senders_of_before_look_alike_too(bare_url: str) -> None:
    database = Database(bare_url)
    bring_to(database, "0006")
    with database.write() as tx:
        tx.execute(sa.text("INSERT INTO accounts (id, name, country_code, status, max_tier, time_zone, created_at_ms)"
                           " VALUES (:id, 'amina', 'GH', 'active', 'standard', 'UTC', 1)"), {"id": "0" * 32})
        for sender, id_ in SENDERS.items():
            tx.execute(sa.text("INSERT INTO senders (id, account_id, sandbox, sender, folded, status, is_default, created_at_ms)"
                               " VALUES (:id, :account, :no, :sender, :folded, 'approved', :no, 1)"),
                       {"id": id_, "account": "0" * 32, "no": False, "sender": sender, "folded": sender.lower()})
    migrate.upgrade(bare_url)
    with database.read() as tx:
        assert migrate.is_current(tx)
        found = {row[0]: row[1] for row in tx.execute(sa.text("SELECT sender, skeleton FROM senders"))}
    assert found == {sender: skeleton(sender) for sender in SENDERS}
    database.close()
