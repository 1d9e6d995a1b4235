"""Runs clients of the deployment: they send with Idempotency-Keys, ask again until they are
answered, and remember what was answered 200.
"""

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import httpx

from tests.support import plain_http
from tests.support.factories import SENDER

CLIENTS: Final = 4
ANSWERED_WITHIN_S: Final = 35.0  # a request that waits longer counts as not answered
ASK_AGAIN_S: Final = 0.1
TRIES_MAX: Final = 600
# where the first carrier's recipients are; another carrier gets another prefix
GHANA: Final = "23320"


class Order(NamedTuple):
    """Describes one request: nobody else has its recipient, and its text is its own, so that the
    carrier's log tells them apart.
    """

    recipient: str
    text: str

    @property
    def idempotency_key(self) -> str:
        return f"order-{self.recipient}"


class Reply(NamedTuple):
    """Holds a reply; its `status` is 0 if none came."""

    at_s: float
    took_s: float
    status: int


class Clients:
    """Sends orders. `accepted` holds orders by the message id that a 200 named, and `replies` those
    of every try. `wrong` holds answers that are neither 200, 429 nor 503.
    """

    def __init__(self, address: Callable[[], str], key: str) -> None:
        self._address = address
        self._key = key
        self._numbers = itertools.count(1)
        self._unanswered: deque[Order] = deque()
        self.accepted: dict[str, Order] = {}
        self.replies: list[Reply] = []
        self.wrong: list[str] = []

    @property
    def headers(self) -> dict[str, str]:
        """Returns the headers of a request in their account's name."""
        return {"Authorization": f"Bearer {self._key}"}

    def orders(
        self, count: int, prefix: str = GHANA, octets: int = 0, ending: str = "5"
    ) -> list[Order]:
        """Returns new orders. `octets` says how long each text is, at least; `ending` is that of
        the recipient, which the SMSC looks at (000 is not delivered …).
        """
        numbers = itertools.islice(self._numbers, count)
        return [
            Order(
                f"{prefix}{number:0{7 - len(ending)}d}{ending}",
                f"order {number} ".ljust(octets, "x").strip(),
            )
            for number in numbers
        ]

    def send(
        self, count: int, prefix: str = GHANA, octets: int = 0, ending: str = "5"
    ) -> list[str]:
        """Sends so many orders, each until it is answered, and returns their message ids."""
        orders = self.orders(count, prefix, octets, ending)
        with self._session() as session, ThreadPoolExecutor(CLIENTS) as threads:
            ids = list(threads.map(lambda order: self._until_answered(session, order), orders))
        assert None not in ids, self.wrong[:3]
        return [message_id for message_id in ids if message_id is not None]

    @contextmanager
    def sending(
        self, per_second: float = 50.0, prefix: str = GHANA, octets: int = 0, clients: int = CLIENTS
    ) -> Iterator[None]:
        """Sends all the while, and at the end asks again for what nobody has answered."""
        over = threading.Event()
        threads = [
            threading.Thread(
                target=self._keep_sending, args=(over, clients / per_second, prefix, octets)
            )
            for _ in range(clients)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()
        self.ask_again()

    def ask_again(self) -> None:
        """Asks again for all that is still unanswered."""
        with self._session() as session:
            while self._unanswered:
                assert self._until_answered(session, self._unanswered.popleft()), self.wrong[:3]

    def wait_for(self, count: int, within_s: float = 40.0) -> None:
        """Waits until so many more were answered 200."""
        count += len(self.accepted)
        until_s = time.monotonic() + within_s
        while len(self.accepted) < count:
            assert time.monotonic() < until_s, (
                f"{len(self.accepted)} of {count} accepted; {self.wrong[:3]}"
            )
            time.sleep(0.01)

    def write_accepted(self, file: Path) -> None:
        """Writes the accepted orders for the checker, `ledger verify --accepted`."""
        file.write_text("".join(f"{message_id}\n" for message_id in self.accepted))

    def _keep_sending(
        self, over: threading.Event, pause_s: float, prefix: str, octets: int
    ) -> None:
        with self._session() as session:
            while not over.wait(pause_s):
                try:
                    order = self._unanswered.popleft()
                except IndexError:
                    [order] = self.orders(1, prefix, octets)
                self._ask(session, order)

    def _until_answered(self, session: httpx.Client, order: Order) -> str | None:
        for _ in range(TRIES_MAX):
            if (message_id := self._ask(session, order)) is not None:
                return message_id
            if order not in self._unanswered:
                return None  # the answer was a wrong one
            self._unanswered.remove(order)
            time.sleep(ASK_AGAIN_S)
        raise AssertionError(
            f"{order} was not answered {TRIES_MAX} times; lately {self.replies[-1]}"
        )

    def _ask(self, session: httpx.Client, order: Order) -> str | None:
        """Returns the message id of a 200. Without one the order waits to be asked again, or its
        answer is a wrong one.
        """
        at_s = time.monotonic()
        try:
            answer = session.post(
                f"{self._address()}/api/v1/sms/send",
                headers={"Idempotency-Key": order.idempotency_key},
                json={"sender": SENDER, "message": order.text, "recipients": [order.recipient]},
            )
        except httpx.HTTPError:
            self.replies.append(Reply(at_s, time.monotonic() - at_s, 0))
            self._unanswered.append(order)
            return None
        self.replies.append(Reply(at_s, time.monotonic() - at_s, answer.status_code))
        if answer.status_code == 200:
            message_id = str(answer.json()["data"]["message_id"])
            self.accepted[message_id] = order
            return message_id
        if answer.status_code in (429, 503):
            self._unanswered.append(order)
        else:
            self.wrong.append(f"{answer.status_code} {answer.text}")
        return None

    def _session(self) -> httpx.Client:
        return plain_http.new_client(headers=self.headers, timeout=ANSWERED_WITHIN_S)
