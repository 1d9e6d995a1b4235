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
from tests.support.faults.house import ALONE, House
from tests.support.faults.matrix import quick_or_long
from tests.support.faults.proxy import COMMITTED

TWO = (("api", "--workers", "2"), ("worker",))


@pytest.mark.fault(1)
def test_a_server_killed_at_random_moments_has_stored_what_it_answered(
    new_house: Callable[[str], House],
) -> None:
    """Nothing is on the wire meanwhile: that is another row."""
    house, chance = new_house("sqlite"), random.Random(1)
    carrier = house.carrier()
    carrier.proxy.refuse()
    kills = int(quick_or_long(3, 30))
    house.start()
    with house.clients.sending(per_second=200):
        for _ in range(kills):
            house.clients.wait_for(chance.randint(5, 40))
            house.api.process.kill()
            house.api.process.wait()
            house.start(ALONE)
        carrier.proxy.accept()
    house.holds(
        how=(
            f"SIGKILL at {kills} random moments under load; clients ask again with the same"
            " Idempotency-Key"
        )
    )


@pytest.mark.fault(1)
def test_api_processes_killed_at_random_moments_have_stored_what_they_answered(
    new_house: Callable[[str], House],
) -> None:
    house, chance = new_house("postgresql"), random.Random(1)
    house.carrier()
    kills = int(quick_or_long(6, 60))
    house.start(TWO)
    with house.clients.sending(per_second=200):
        for _ in range(kills):
            house.clients.wait_for(chance.randint(5, 40))
            house.until(lambda: house.api.answering(), "one lives")
            chance.choice(house.api.answering()).send_signal(signal.SIGKILL)
    house.holds(
        how=(
            f"SIGKILL of one of two API processes at {kills} random moments under load; clients ask"
            " again"
        )
    )


@pytest.mark.fault(1)
@pytest.mark.parametrize("point", ["locked", "stored", "committed"])
def test_an_api_process_killed_at_this_point_has_stored_all_or_nothing(
    new_house: Callable[[str], House], point: str
) -> None:
    """The last thing that PostgreSQL says before never arrives: to the lock, to the statement that
    stores all, to COMMIT.
    """
    house = new_house("postgresql")
    house.carrier()
    proxy = house.database_proxy()
    house.start(TWO)
    [order] = house.clients.orders(1, octets=40)
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
    headers = {**house.clients.headers, "Idempotency-Key": order.idempotency_key}
    with plain_http.new_client(headers=headers, timeout=30) as client, ThreadPoolExecutor(1) as one:
        address = f"{house.api.address}/api/v1/sms/send"
        asked = one.submit(client.post, address, json=body)
        loss.wait()
        for process in house.api.answering():
            process.kill()
        assert isinstance(asked.exception(30), httpx.HTTPError)
        house.api.wait_until_ready()
        again = client.post(address, json=body)
    assert (again.status_code, again.headers.get("idempotent-replayed")) == (
        200,
        "true" if point == "committed" else None,
    )
    house.clients.accepted[again.json()["data"]["message_id"]] = order
    house.holds(
        how=(
            f"SIGKILL of the API processes when an accept is {point}; asked again, it is"
            f" {'replayed' if point == 'committed' else 'new'}"
        )
    )
