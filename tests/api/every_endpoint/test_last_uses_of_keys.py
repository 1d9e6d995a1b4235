"""The server stores again and again when keys were last used, for as long as it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from heliograph.api import app
from heliograph.base import log
from heliograph.keys.issue import digest
from heliograph.keys.tables import api_keys
from tests.support.api.service import Service, service_on
from tests.support.polling import wait_until

# A constraint that is violated is no error of the service, as a database that is away would be. The
# second statement takes the first one back.
REFUSE: Final = {
    "sqlite": (
        "CREATE TRIGGER refuse BEFORE UPDATE OF last_used_at_ms ON api_keys"
        " BEGIN SELECT RAISE(ABORT, 'refused'); END",
        "DROP TRIGGER refuse",
    ),
    "postgresql": (
        "ALTER TABLE api_keys ADD CONSTRAINT refuse CHECK (last_used_at_ms IS NULL) NOT VALID",
        "ALTER TABLE api_keys DROP CONSTRAINT refuse",
    ),
}


def last_used_ms(api: Service, key: str) -> int:
    with api.db.read() as tx:
        return (
            tx.scalar(sa.select(api_keys.c.last_used_at_ms).where(api_keys.c.sha256 == digest(key)))
            or 0
        )


@contextmanager
def refused(api: Service) -> Iterator[None]:
    """Lets the database refuse to store when keys were last used, until the end of the block."""
    refuse, allow = REFUSE["postgresql" if api.db.postgresql else "sqlite"]
    with api.db.write() as tx:
        tx.execute(sa.text(refuse))
    try:
        yield
    finally:
        with api.db.write() as tx:
            tx.execute(sa.text(allow))


def test_last_uses_of_keys_are_stored_again_after_a_fault(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "STORE_EVERY_S", 0.05)
    # a logger that has written keeps what was configured then, and is not captured
    monkeypatch.setattr(log, "log", log.Log("faults"))
    with capture_logs() as logs, service_on(database_url, tmp_path) as api:
        key = api.amina.key()
        assert api.get(key, "/balance").status == 200
        wait_until(lambda: last_used_ms(api, key) > 0, "a use is stored")
        before_ms = last_used_ms(api, key)
        with refused(api):
            assert api.get(key, "/balance").status == 200
            wait_until(
                lambda: "key_usage_not_stored" in [line["event"] for line in logs], "a fault"
            )
            told = [line["log_level"] for line in logs if line["event"] == "key_usage_not_stored"]
            assert set(told) == {"warning"}, "nothing depends on it (docs/operations.md)"
        assert last_used_ms(api, key) == before_ms
        assert api.get(key, "/balance").status == 200
        wait_until(lambda: last_used_ms(api, key) > before_ms, "a later use is stored")
