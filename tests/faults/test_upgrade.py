"""An upgrade goes from this version to the next, under load: the schema comes first, then one
process after the other.
"""

import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from heliograph.base import clock
from heliograph.database.migrate import LOCK_MS
from heliograph.database.partitions import missing_months
from tests.support import plain_http
from tests.support.crash.balancer import handbook_haproxy
from tests.support.factories import SECRET_KEY
from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import LONG, quick_or_long
from tests.support.services import free_port
from tests.support.services.haproxy import HAProxy
from tests.support.services.next_version import SCHEMA, next_version
from tests.support.warm import HELIOGRAPH

# as long as somebody's transaction keeps `messages` from the migration
READER_S = quick_or_long(1.5, 17.3)
# a request may take, on a machine that others use too; without a limit it takes as long as the
# reader
SLOWEST_S = 1.0
PER_SECOND = quick_or_long(40, 150)
DRAIN_S = 5  # for the balancer to notice: three looks, one a second
_FARTHEST = """
    SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'messages'::regclass
    AND inhrelid <> 'messages_default'::regclass ORDER BY 1 DESC LIMIT 1"""


def migrate_behind_a_reader(deployment: Deployment, directory: Path, env: dict[str, str]) -> str:
    """Runs `heliograph migrate` of the next version while somebody reads all messages, and is long
    about it: a backup, or a report. Returns what it said on standard error.
    """
    with psycopg.connect(deployment.db.url) as reader:
        reader.execute("SELECT count(*) FROM messages")
        migrating = subprocess.Popen(
            [HELIOGRAPH, "migrate", "--data-dir", directory],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                **env,
                "DATABASE_URL": deployment.db.url,
                "HELIOGRAPH_SECRET_KEY": SECRET_KEY,
            },
        )
        assert migrating.stderr is not None
        said = ""
        while "waits for a lock" not in said:
            said += (
                migrating.stderr.readline() or f"it ended with {migrating.wait()}, waits for a lock"
            )
        time.sleep(READER_S)
        assert migrating.poll() is None, f"it did not wait for the reader: {said}"
        reader.rollback()
        said += migrating.communicate(timeout=120)[1]
    assert migrating.returncode == 0, said
    return said


def schema_of(deployment: Deployment) -> str:
    with psycopg.connect(deployment.db.url) as sql:
        return str(sql.execute("SELECT version_num FROM alembic_version").fetchall()[0][0])


def run_beside(said: str) -> list[str]:
    """Returns what runs beside a migration, as it says."""
    beside = re.findall(r"beside it runs heliograph (\w+) \(process (\d+) ", said)
    # the process of the tests has sessions too, and may have a name from a command that another
    # test ran in it
    return [kind for kind, process_id in beside if int(process_id) != os.getpid()]


@pytest.mark.fault(42)
def test_a_rolling_upgrade_under_load_fails_no_request(
    new_deployment: Callable[[str], Deployment], tmp_path: Path
) -> None:
    """A reader beside it has a transaction that lasts, and keeps both the migration and the
    partition of a month from their locks.
    """
    deployment = new_deployment("postgresql")
    deployment.env["HELIOGRAPH_DRAIN_S"] = str(DRAIN_S)
    newer: dict[str, Any] = {**next_version(tmp_path / "next")}
    carrier = deployment.carrier(window=50)
    ports = [free_port(), free_port()]
    apis = {port: deployment.run("api", port=port) for port in ports}
    worker = deployment.run("worker")
    for api in apis.values():
        api.wait_until_ready()
    with psycopg.connect(deployment.db.url) as sql:  # a month to make
        [(month,)] = sql.execute(_FARTHEST).fetchall()
        sql.execute(f"DROP TABLE {month}")
    with HAProxy(handbook_haproxy(*ports)) as balancer:
        deployment.balancer = balancer.address
        with deployment.clients.sending(per_second=PER_SECOND):
            deployment.clients.wait_for(20)
            began = len(deployment.clients.replies)
            said = migrate_behind_a_reader(deployment, tmp_path, newer)
            assert run_beside(said) == ["api", "api", "worker"], said
            assert schema_of(deployment) == SCHEMA
            slowest_s = max(reply.took_s for reply in deployment.clients.replies[began:])
            with deployment.db.read() as tx:
                assert missing_months(tx, clock.now_ms()) == []
            for api in apis.values():  # this version's, on the next one's schema
                assert plain_http.get(f"{api.address}/readyz", timeout=10).status_code == 200
            if LONG:
                deployment.run("worker", **newer)
                assert worker.end() == 0
            for port in ports[: 2 if LONG else 1]:  # meanwhile both versions are side by side
                assert apis[port].end() == 0
                deployment.run("api", port=port, **newer).wait_until_ready()
                # the balancer must have taken it back before the other goes
                time.sleep(2 if LONG else 0)
            submitted = len(carrier.submits())
            deployment.until(
                lambda: len(carrier.submits()) > submitted + 20, "what they accept is sent"
            )
        deployment.balancer = ""
        failed = [reply for reply in deployment.clients.replies if reply.status != 200]
    assert failed == []
    assert slowest_s < SLOWEST_S
    replaced = "a worker and two API processes" if LONG else "one of two API processes"
    deployment.holds(
        how=(
            "the next version's `migrate` (a column of messages, an index, a month's partition)"
            f" behind a transaction of {READER_S} s, then {replaced} behind HAProxy replaced one by"
            f" one: 0 of {len(deployment.clients.replies)} requests failed; the slowest beside the"
            f" migration took {slowest_s * 1_000:.0f} ms, for a lock is waited for {LOCK_MS} ms"
        )
    )
