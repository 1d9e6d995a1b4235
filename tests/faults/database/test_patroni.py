"""What docs/failover.md builds keeps the page's promises when the leader is killed or cut off, when
the standby is lost, and when an old primary does not know of it.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import psycopg
import pytest

from heliograph.database import migrate
from heliograph.database.postgresql import engine
from tests.support.faults.deployment import Deployment
from tests.support.faults.patroni import ADDRESSES, APP, Cluster, commands

WINDOW = 10
RECOVERED_WITHIN_S = 60.0
NewDeployment = Callable[..., Deployment]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as started:
        yield started


@pytest.fixture
def here(cluster: Cluster) -> Iterator[Cluster]:
    """Yields the cluster, at the host of the service."""
    with cluster.network.entered(APP):
        yield cluster


def renamed(url: str, name: str) -> str:
    return url.replace("/heliograph?", f"/{name}?")


def deployment_of(cluster: Cluster, new_deployment: NewDeployment, name: str) -> Deployment:
    """Runs the API through HAProxy, and a worker with all hosts in its DATABASE_URL, on a database
    of their own.
    """
    cluster.until(cluster.is_whole_for_a_while, "a leader and two who follow it")
    cluster.database(name)
    through_haproxy, to_all = renamed(cluster.through_haproxy, name), renamed(cluster.to_all, name)
    migrate.upgrade(through_haproxy)
    deployment = new_deployment("postgresql", url=to_all, redis_url="")
    deployment.carrier(window=WINDOW)
    deployment.run("api", DATABASE_URL=through_haproxy)
    deployment.run("worker")
    deployment.api.wait_until_ready()
    return deployment


def pause_s(deployment: Deployment, since: int) -> float:
    """Returns the longest time without an acceptance, from there on."""
    ends = [
        reply.at_s + reply.took_s
        for reply in deployment.clients.replies[since:]
        if reply.status == 200
    ]
    return max(later - earlier for earlier, later in pairwise(ends))


@pytest.mark.long
def test_the_page_is_followed_step_by_step(here: Cluster) -> None:
    [list_members] = commands("on one database host")
    assert "Sync Standby" in here.run(f"cd {here.directory / 'db1'} && {list_members}")
    assert (here.printed.count("is written to"), here.printed.count("is a standby")) == (
        1,
        2,
    ), here.printed


def kill_leader(cluster: Cluster, leader: str) -> None:
    cluster.kill(leader, "postgres", "patroni")


def cut_off_leader(cluster: Cluster, leader: str) -> None:
    cluster.network.link_down(leader)


def kill_patroni_alone(cluster: Cluster, leader: str) -> None:
    cluster.kill(leader, "patroni")


@pytest.mark.long
@pytest.mark.fault(41)
@pytest.mark.parametrize("fault", [kill_leader, cut_off_leader, kill_patroni_alone])
def test_another_host_takes_the_leaders_place(
    new_deployment: NewDeployment, here: Cluster, fault: Callable[[Cluster, str], None]
) -> None:
    deployment = deployment_of(here, new_deployment, fault.__name__)
    clients, former = deployment.clients, here.leader
    with clients.sending(per_second=50):
        clients.wait_for(100)
        began = len(clients.replies)
        fault(here, former)
        here.until(lambda: here.leader not in ("", former), "another leader", RECOVERED_WITHIN_S)
        clients.wait_for(100)
        said = old_primary_says(here, former, deployment) if fault is kill_patroni_alone else ""
        here.network.link_up(former)
        here.begin(former)
        here.until(here.is_whole_for_a_while, "the former leader follows")
        clients.wait_for(100)
    ended(deployment, began, f"{fault.__name__.replace('_', ' ')}{said}")


def old_primary_says(cluster: Cluster, former: str, deployment: Deployment) -> str:
    """Asserts that the old primary takes statements as ever, that no commit of it is answered, and
    that nobody of the service asks it.
    """
    address = ADDRESSES[former]
    url = renamed(cluster.through_haproxy, "kill_patroni_alone").replace(
        "127.0.0.1:5000", f"{address}:5432"
    )
    connection = engine.LimitedConnection.connect(url, autocommit=True)
    row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
    assert row == (False,)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("CREATE TABLE written_to_the_old_one ()")
    found = {finding["check"]: finding["found"] for finding in deployment.command("doctor")}
    assert found[f"database host {address}:5432"].startswith("is a former primary")
    return "; the old primary went on, and answered no commit"


@pytest.mark.long
@pytest.mark.fault(41)
def test_a_synchronous_standby_that_is_lost_is_replaced(
    new_deployment: NewDeployment, here: Cluster
) -> None:
    deployment = deployment_of(here, new_deployment, "standby_lost")
    [standby] = here.members("sync_standby")
    with deployment.clients.sending(per_second=50):
        deployment.clients.wait_for(100)
        began = len(deployment.clients.replies)
        here.network.link_down(standby)
        here.until(
            lambda: here.members("sync_standby") not in ([], [standby]),
            "another synchronous standby",
            RECOVERED_WITHIN_S,
        )
        deployment.clients.wait_for(100)
        here.network.link_up(standby)
        here.until(here.is_whole_for_a_while, "it follows again")
    ended(deployment, began, "cut off synchronous standby")


def ended(deployment: Deployment, began: int, fault: str) -> None:
    clients = deployment.clients
    refused = sum(reply.status != 200 for reply in clients.replies[began:])
    recovered_s = pause_s(deployment, began - 20)
    slowest_s = max(reply.took_s for reply in clients.replies[began:])
    deployment.settle_doubts()
    deployment.holds(
        repeated_max=WINDOW,
        recovered_s=recovered_s,
        how=(
            f"{fault}: patroni, ttl 15 s; the API through HAProxy, the worker with all hosts in its"
            f" URL; the longest time in which nothing was accepted; {refused} of"
            f" {len(clients.replies[began:])} requests not answered 200, the slowest after"
            f" {slowest_s:.1f} s"
        ),
    )
