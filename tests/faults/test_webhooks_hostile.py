"""Some receivers mean harm, beside a tenant who has nothing to do with them (row 33)."""

import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.webhooks import endpoints
from heliograph.webhooks.tables import (
    webhook_attempts,
    webhook_deliveries,
    webhook_holders,
    webhook_queue,
)
from tests.support.capability.webhooks import endpoint
from tests.support.factories import issue_key, open_account
from tests.support.faults.clients import Clients
from tests.support.faults.deployment import CREDITS, Deployment
from tests.support.faults.hostile import OVER_TLS, authority_file, hostile_receivers
from tests.support.faults.matrix import LONG, quick_or_long
from tests.support.faults.receivers import (
    KNOWN_FOR_MS,
    OF_MESSAGES,
    OPEN,
    Hearing,
    all_told,
    delays_s,
    hearing,
)
from tests.support.memory import peak_mb

ROUNDS: Final = int(quick_or_long(1, 5))
# each round has two: without hostile receivers, and beside them
PHASE_S: Final = quick_or_long(3.0, 15.0)
TENANT_PER_S, NEIGHBOUR_PER_S = 40.0, 4.0
RATIO_MAX: Final = 2.0
# the quick form has too few requests for a 99th percentile that other work on the machine does not
# move
NOISE_S: Final = quick_or_long(0.5, 0.0)
# no endpoint delays another's deliveries by more (docs/reliability.md, row 25)
DELAY_MAX_S: Final = 1.0
GROWTH_MAX_MB: Final = 48
# and where their recipients are; the first has the hostile receivers
NEIGHBOURS: Final = {"chidi": "23324", "bilal": "23326"}
SLOW: Final = ("hang", "drip", OVER_TLS)  # whose attempts may take their 15 s


class Phases(NamedTuple):
    """Keeps what one neighbour's turns did to the tenant, in seconds: how long requests took, and
    how late the good receiver heard.
    """

    requests_s: list[float]
    deliveries_s: list[float]


@pytest.mark.fault(33)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"] if LONG else ["sqlite"])
def test_receivers_that_mean_harm_delay_nobody_else(
    kind: str, new_deployment: Callable[[str], Deployment], tmp_path: Path
) -> None:
    """Everything runs in one process with the API. Two neighbours send in turns, at the same rate:
    one whose events nobody hears, while the endpoints of the other are disabled and nothing of
    theirs is under way, and then the one whose events go to all kinds of hostile receivers.
    """
    deployment = new_deployment(kind)
    deployment.env |= OPEN | {"HELIOGRAPH_WEBHOOKS_CA_FILE": str(authority_file(tmp_path))}
    deployment.carrier()
    accounts = {name: open_account(deployment.db, name, credits=CREDITS) for name in NEIGHBOURS}
    neighbours = {
        name: Clients(lambda: deployment.api.address, issue_key(deployment.db, account_id))
        for name, account_id in accounts.items()
    }
    seen = {name: Phases([], []) for name in NEIGHBOURS}
    with hearing(deployment) as good:
        with hostile_receivers(tmp_path) as urls:
            hostile = endpoints_of(deployment, accounts["chidi"], urls)
            disable(deployment, hostile.values())
            deployment.start([("serve",)])
            for clients, prefix in (
                (deployment.clients, "23320"),
                *((neighbours[name], prefix) for name, prefix in NEIGHBOURS.items()),
            ):
                clients.send(2, prefix)
            before_mb = peak_mb(deployment.sender.process.pid)
            take_turns(deployment, good, neighbours, hostile.values(), seen)
            grown_mb = peak_mb(deployment.sender.process.pid) - before_mb
            deployment.until(
                lambda: all(
                    attempts(deployment, hostile[name]) for name in hostile if name not in SLOW
                ),
                "each has been posted to",
            )
            tried = sum(len(attempts(deployment, endpoint_id)) for endpoint_id in hostile.values())
        # The hostile receivers are gone, so the process's end need not wait for them.
        disable(deployment, hostile.values())
        for clients in neighbours.values():
            deployment.clients.replies += clients.replies
            deployment.clients.accepted |= clients.accepted
        assert {reply.status for reply in deployment.clients.replies} == {200}
        assert grown_mb < GROWTH_MAX_MB
        with_s, without_s = (p99(seen[name].requests_s) for name in NEIGHBOURS)
        heard_with_s, heard_without_s = (p99(seen[name].deliveries_s) for name in NEIGHBOURS)
        assert with_s < RATIO_MAX * without_s + NOISE_S, (with_s, without_s)
        assert heard_with_s < heard_without_s + DELAY_MAX_S, (heard_with_s, heard_without_s)
        deployment.holds(
            how=(
                f"{len(urls)} kinds of hostile receivers, {tried} attempts, in turns with none and"
                f" in one process with the API: another tenant's p99 is {with_s * 1e3:.0f} ms"
                f" beside them and {without_s * 1e3:.0f} ms without, that of its own deliveries"
                f" {heard_with_s * 1e3:.0f} and {heard_without_s * 1e3:.0f} ms; no request failed;"
                f" the process grew by {grown_mb:.0f} MB"
            )
        )


def endpoints_of(
    deployment: Deployment, account_id: str, urls: Mapping[str, str]
) -> dict[str, str]:
    """Makes an endpoint of the account for each URL. Returns its id by the URL's name."""
    made = {
        name: endpoint(deployment.db, account_id, url, OF_MESSAGES, age_ms=KNOWN_FOR_MS)
        for name, url in urls.items()
    }
    return {name: added.id for name, (added, _) in made.items()}


def take_turns(
    deployment: Deployment,
    good: Hearing,
    neighbours: Mapping[str, Clients],
    hostile: Collection[str],
    seen: dict[str, Phases],
) -> None:
    """Lets one neighbour send while the hostile endpoints are at rest, then the other to them."""
    for _ in range(ROUNDS):
        disable(deployment, hostile)
        deployment.until(
            lambda: not at_work(deployment, hostile),
            "the hostile endpoints are at rest",
        )
        beside(deployment, good, neighbours["bilal"], "bilal", seen)
        with deployment.db.write() as tx:
            for endpoint_id in hostile:
                endpoints.enable(tx, endpoints.text_id(endpoint_id))
        beside(deployment, good, neighbours["chidi"], "chidi", seen)


def disable(deployment: Deployment, endpoint_ids: Collection[str]) -> None:
    with deployment.db.write() as tx:
        for endpoint_id in endpoint_ids:
            endpoints.disable(tx, endpoints.text_id(endpoint_id), now_ms=clock.now_ms())


def at_work(deployment: Deployment, endpoint_ids: Collection[str]) -> bool:
    """Returns whether anything of these endpoints is under way, or will be tried again."""
    with deployment.db.read() as tx:
        return any(
            tx.execute(
                sa.select(sa.func.count())
                .select_from(table)
                .where(table.c.endpoint_id.in_(endpoint_ids))
            ).scalar_one()
            for table in (webhook_holders, webhook_queue)
        )


def beside(
    deployment: Deployment, good: Hearing, neighbour: Clients, name: str, seen: dict[str, Phases]
) -> None:
    """Lets a neighbour have one turn, and keeps what the tenant met meanwhile."""
    with (
        phase(deployment, good, seen[name]),
        neighbour.sending(NEIGHBOUR_PER_S, NEIGHBOURS[name], clients=1),
    ):
        time.sleep(PHASE_S)


@contextmanager
def phase(deployment: Deployment, good: Hearing, phases: Phases) -> Iterator[None]:
    """Lets the tenant send all the while. What it met is added to `phases`."""
    replies, heard = len(deployment.clients.replies), len(good.at_ms)
    with deployment.clients.sending(TENANT_PER_S, clients=2):
        yield
    deployment.until(
        lambda: all_told(deployment, good),
        f"the good receiver has heard all: {deployment.sender.log[-2_000:]}",
    )
    phases.requests_s.extend(reply.took_s for reply in deployment.clients.replies[replies:])
    phases.deliveries_s.extend(delays_s(good, heard))


def p99(took_s: list[float]) -> float:
    return statistics.quantiles(took_s, n=100)[98]


def attempts(deployment: Deployment, endpoint_id: str) -> list[Any]:
    """Returns how each attempt of an endpoint ended that has: status and reason."""
    with deployment.db.read() as tx:
        return [
            tuple(row)
            for table in (webhook_attempts.c, webhook_deliveries.c)
            for row in tx.execute(
                sa.select(table.status, table.took_ms).where(table.endpoint_id == endpoint_id)
            )
        ]
