"""Runs clients that send while the server is killed under them, and do what good clients do: ask
again, with the same Idempotency-Key.
"""

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import httpx

from tests.support import plain_http
from tests.support.factories import SENDER

CLIENTS = 4
ANSWERED_WITHIN_S = 10


class Order(NamedTuple):
    """Describes one request: each has a number of its own to send to, and a text of its own, of
    one, two or three segments.
    """

    number: int

    @property
    def recipient(self) -> str:
        return str(233_200_000_000 + self.number)

    @property
    def text(self) -> str:
        return f"order {self.number} ".ljust((10, 200, 400)[self.number % 3], "x").strip()

    @property
    def body(self) -> dict[str, object]:
        return {"sender": SENDER, "message": self.text, "recipients": [self.recipient]}

    @property
    def idempotency_key(self) -> str:
        return f"order-{self.number}"


class Load:
    """Sends orders. `accepted` holds the message ids of orders that were answered 200.
    `asked_again` says of those whose answer nobody had seen how they were answered then (True:
    replayed).
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._numbers: Iterator[int] = iter(range(1, 1_000_000))
        self._unanswered: deque[Order] = deque()
        self._threads: list[threading.Thread] = []
        self._has_answer = threading.Event()
        self.accepted: dict[Order, str] = {}
        self.asked_again: list[bool] = []
        self.wrong: list[str] = []

    def start(self, url: str) -> None:
        """Sends until the server is gone: first what it was asked before and nobody saw the answer,
        then one order after the other.
        """
        self._has_answer.clear()
        self._threads = [
            threading.Thread(target=self._order_until_gone, args=(url,)) for _ in range(CLIENTS)
        ]
        for thread in self._threads:
            thread.start()

    def wait_for_an_answer(self) -> None:
        """Waits for the first answer since it started: from then on the server is at work, however
        slow the machine is.
        """
        assert self._has_answer.wait(ANSWERED_WITHIN_S), "no request was answered"

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def ask_again(self, url: str) -> None:
        """Asks again for all that is still unanswered; the server lives."""
        with self._client(url) as client:
            while self._unanswered:
                assert self._ask(client, self._unanswered.popleft(), again=True)

    def read_all(self, url: str) -> dict[Order, dict[str, object]]:
        """Returns what GET /messages/{id} says of each accepted order."""
        with self._client(url) as client, ThreadPoolExecutor(CLIENTS) as threads:
            answers = threads.map(
                lambda message_id: client.get(f"/messages/{message_id}"), self.accepted.values()
            )
            return {
                order: answer.raise_for_status().json()["data"]
                for order, answer in zip(self.accepted, answers, strict=True)
            }

    def repeat(self, url: str, orders: list[Order]) -> None:
        """Asks anew what was answered long ago, and expects the same answer as before the
        crashes.
        """
        with self._client(url) as client:
            for order in orders:
                answer = self._post(client, order)
                assert (answer.status_code, answer.headers.get("idempotent-replayed")) == (
                    200,
                    "true",
                )
                assert answer.json()["data"]["message_id"] == self.accepted[order]

    def _client(self, url: str) -> httpx.Client:
        return plain_http.new_client(
            base_url=f"{url}/api/v1",
            headers={"Authorization": f"Bearer {self._key}"},
            timeout=ANSWERED_WITHIN_S,
        )

    def _order_until_gone(self, url: str) -> None:
        with self._client(url) as client:
            while True:
                try:
                    order, again = self._unanswered.popleft(), True
                except IndexError:
                    order, again = Order(next(self._numbers)), False
                if not self._ask(client, order, again=again):
                    return

    def _ask(self, client: httpx.Client, order: Order, *, again: bool) -> bool:
        """Returns whether an answer came."""
        try:
            answer = self._post(client, order)
        except httpx.HTTPError:
            self._unanswered.append(order)
            return False
        self._has_answer.set()
        if answer.status_code != 200:
            self.wrong.append(f"{answer.status_code} {answer.text}")
            return True
        replayed = answer.headers.get("idempotent-replayed") == "true"
        if again:
            self.asked_again.append(replayed)
        elif replayed:
            self.wrong.append(f"a new order was a replay: {order}")
        self.accepted[order] = answer.json()["data"]["message_id"]
        return True

    def _post(self, client: httpx.Client, order: Order) -> httpx.Response:
        return client.post(
            "/sms/send", headers={"Idempotency-Key": order.idempotency_key}, json=order.body
        )
