"""Processes that answer requests are killed, at random and at named points of a request
(docs/reliability.md, row 1).
"""

import random
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support import plain_http
from tests.support.factories import SENDER
from tests.support.faults.deployment import ALONE, Deployment
from tests.support.faults.matrix import quick_or_long
from tests.support.faults.proxy import COMMITTED

TWO = (("api", "--workers", "2"), ("worker",))


@pytest.mark.fault(1)
def test_a_server_killed_at_random_moments_has_stored_what_it_answered(
    new_deployment: Callable[[str], Deployment],
) -> None:
    """Nothing is on the wire meanwhile: that is another row."""
    deployment, chance = new_deployment("sqlite"), random.Random(1)
    carrier = deployment.carrier()
    carrier.proxy.refuse()
    kills = int(quick_or_long(3, 30))
    deployment.start()
    with deployment.clients.sending(per_second=200):
        for _ in range(kills):
            deployment.clients.wait_for(chance.randint(5, 40))
            deployment.api.process.kill()
            deployment.api.process.wait()
            deployment.start(ALONE)
        carrier.proxy.accept()
    deployment.holds(
        how=(
            f"SIGKILL at {kills} random moments under load; clients ask again with the same"
            " Idempotency-Key"
        )
    )


@pytest.mark.fault(1)
def test_api_processes_killed_at_random_moments_have_stored_what_they_answered(
    new_deployment: Callable[[str], Deployment],
) -> None:
    deployment, chance = new_deployment("postgresql"), random.Random(1)
    deployment.carrier()
    kills = int(quick_or_long(6, 60))
    deployment.start(TWO)
    with deployment.clients.sending(per_second=200):
        for _ in range(kills):
            deployment.clients.wait_for(chance.randint(5, 40))
            deployment.until(lambda: deployment.api.answering(), "one lives")
            chance.choice(deployment.api.answering()).send_signal(signal.SIGKILL)
    deployment.holds(
        how=(
            f"SIGKILL of one of two API processes at {kills} random moments under load; clients ask"
            " again"
        )
    )


@pytest.mark.fault(1)
@pytest.mark.parametrize("point", ["locked", "stored", "committed"])
def test_an_api_process_killed_at_this_point_has_stored_all_or_nothing(
    new_deployment: Callable[[str], Deployment], point: str
) -> None:
    """The last thing that PostgreSQL says at this point never arrives: to the lock, to the
    statement that stores all, to COMMIT.
    """
    deployment = new_deployment("postgresql")
    deployment.carrier()
    proxy = deployment.database_proxy()
    deployment.start(TWO)
    [order] = deployment.clients.orders(1, octets=40)
    key, text = order.idempotency_key.encode(), order.text.encode()
    loss = proxy.lose(
        lambda said, heard: (
            key in heard
            and (text in heard) == (point != "locked")
            and (COMMITTED in said) == (point == "committed")
        ),
        said_by="server",
        then="swallow",
    )
    body = {"sender": SENDER, "message": order.text, "recipients": [order.recipient]}
    headers = {**deployment.clients.headers, "Idempotency-Key": order.idempotency_key}
    with plain_http.new_client(headers=headers, timeout=30) as client, ThreadPoolExecutor(1) as one:
        address = f"{deployment.api.address}/api/v1/sms/send"
        asked = one.submit(client.post, address, json=body)
        loss.wait()
        for process in deployment.api.answering():
            process.kill()
        assert isinstance(asked.exception(30), httpx.HTTPError)
        deployment.api.wait_until_ready()
        again = client.post(address, json=body)
    assert (again.status_code, again.headers.get("idempotent-replayed")) == (
        200,
        "true" if point == "committed" else None,
    )
    deployment.clients.accepted[again.json()["data"]["message_id"]] = order
    deployment.holds(
        how=(
            f"SIGKILL of the API processes when an accept is {point}; asked again, it is"
            f" {'replayed' if point == 'committed' else 'new'}"
        )
    )
