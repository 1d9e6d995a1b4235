"""Redis is flushed, killed, and comes back: nobody's message or money hangs on it, and no limit is
ever open (docs/reliability.md, row 11).
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import pytest
import redis
import sqlalchemy as sa

from heliograph import keys
from heliograph.accounts.tables import accounts
from heliograph.base import clock
from heliograph.database.leases import ANSWERING, workers
from tests.support import plain_http
from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import quick_or_long
from tests.support.services.redis import PrivateRedis

LIMIT: Final = 40  # requests a minute, of a key in a tier of its own
PROCESSES: Final = 2
CLIENTS: Final = 8
MINUTE_S: Final = 60
T = TypeVar("T")


def limited_key(deployment: Deployment) -> str:
    with deployment.db.write() as tx:
        keys.add_tier(tx, "small", LIMIT)
        account_id = tx.execute(accounts.select()).one().id
        return keys.issue(
            tx,
            account_id,
            name="limited",
            sandbox=False,
            tier="small",
            permissions=["all"],
            now_ms=clock.now_ms(),
        ).key


def allowed(deployment: Deployment, key: str, requests: int, address: str | None = None) -> int:
    """Returns how many of so many requests at once are not over the limit. Each has a connection of
    its own, because the processes share those.
    """

    def status(_: int) -> int:
        return plain_http.get(
            f"{address or deployment.api.address}/api/v1/balance",
            headers={"Authorization": f"Bearer {key}"},
            timeout=10,
        ).status_code

    with ThreadPoolExecutor(CLIENTS) as threads:
        statuses = list(threads.map(status, range(requests)))
    assert set(statuses) <= {200, 429}, statuses
    return statuses.count(200)


def in_one_minute(measure: Callable[[], T]) -> T:
    """Returns what `measure` finds when it begins and ends in the same minute: limits are counted
    by the minute.
    """
    while True:
        minute = int(time.time()) // MINUTE_S
        found = measure()
        if int(time.time()) // MINUTE_S == minute:
            return found


@pytest.fixture
def deployment(
    new_deployment: Callable[..., Deployment], private_redis: PrivateRedis
) -> Deployment:
    return new_deployment("postgresql", redis_url=private_redis.url)


def flush(server: PrivateRedis) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.flushall()


@pytest.mark.fault(11)
def test_messages_and_money_do_not_hang_on_redis(
    deployment: Deployment, private_redis: PrivateRedis
) -> None:
    deployment.carrier()
    deployment.start()
    some = int(quick_or_long(20, 500))
    with deployment.clients.sending(per_second=50):
        deployment.clients.wait_for(some)
        flush(private_redis)
        deployment.clients.wait_for(some)
        private_redis.kill()
        deployment.clients.wait_for(some)
        private_redis.start()
        deployment.clients.wait_for(some)
    assert {reply.status for reply in deployment.clients.replies} == {200}
    deployment.holds(how="flushed, killed and started under load; no request failed")


def test_a_server_beside_an_api_counts_its_part_while_redis_is_away(
    new_deployment: Callable[..., Deployment], private_redis: PrivateRedis
) -> None:
    deployment = new_deployment("postgresql", redis_url=private_redis.url)
    deployment.start([("serve",), ("api",)])
    deployment.servers[0].wait_until_ready()
    deployment.until(
        lambda: shown(deployment) == PROCESSES,
        "both have shown that they live, and looked who else does",
    )
    private_redis.kill()

    def through_each() -> list[int]:
        key = limited_key(deployment)
        return [allowed(deployment, key, LIMIT, server.address) for server in deployment.servers]

    assert in_one_minute(through_each) == [LIMIT // 2] * 2


@pytest.mark.fault(11)
def test_without_redis_the_limit_is_counted_in_the_processes(
    deployment: Deployment, private_redis: PrivateRedis
) -> None:
    deployment.carrier()
    deployment.start([("api", "--workers", str(PROCESSES)), ("worker",)])
    deployment.until(
        lambda: shown(deployment) == PROCESSES,
        "both have shown that they live, and looked who else does",
    )

    def flushed_and_killed() -> list[int]:
        key = limited_key(deployment)
        counted = [allowed(deployment, key, LIMIT // 2)]
        flush(private_redis)
        counted.append(allowed(deployment, key, 3 * LIMIT))
        private_redis.kill()
        counted.append(allowed(deployment, key, LIMIT))
        private_redis.start()
        return counted

    counted = in_one_minute(flushed_and_killed)
    assert counted[0] == LIMIT // 2
    # each process goes on with its own count: an emptied Redis gives the whole limit once to each
    # at the very most
    assert sum(counted) <= PROCESSES * LIMIT, counted
    private_redis.kill()
    alone = in_one_minute(lambda: allowed(deployment, limited_key(deployment), 4 * LIMIT))
    # each lets its part through; one of them may have had few of the requests
    assert LIMIT // PROCESSES <= alone <= LIMIT, alone
    deployment.clients.send(1)
    deployment.holds(
        how=(
            f"{alone} of {4 * LIMIT} requests with a limit of {LIMIT} while Redis is away, by"
            f" {PROCESSES} processes"
        )
    )


def shown(deployment: Deployment) -> int:
    """Returns how many processes that answer the API have beaten once."""
    with deployment.db.read() as tx:
        return len(
            tx.execute(
                sa.select(workers.c.epoch).where(workers.c.kind.in_(ANSWERING), workers.c.beat > 0)
            ).all()
        )
