"""Runs clients that send while servers come and go, and take every failure for one: none of them
asks twice.
"""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.factories import SENDER

CLIENTS = 4  # of each kind
PAUSE_S = 0.03  # between two orders of a client
FIRST_RECIPIENT = 233_200_000_000
PATH = "/api/v1/sms/send"


class Clients:
    """Sends one order after the other from each client, to a recipient that nobody else has, and
    never asks twice.
    """

    def __init__(self, address: str, key: str, *, keep_alive: bool) -> None:
        self._host = address.removeprefix("http://")
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._keep_alive = keep_alive
        self._ended = threading.Event()
        self._recipients = iter(
            range(FIRST_RECIPIENT + keep_alive * 1_000_000, FIRST_RECIPIENT + 2_000_000)
        )
        self._threads = [threading.Thread(target=self._send_until_ended) for _ in range(CLIENTS)]
        self.answered: list[int] = []  # recipients
        self.failed: list[str] = []  # why

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _send_until_ended(self) -> None:
        connection = http.client.HTTPConnection(self._host, timeout=30)
        while not self._ended.wait(PAUSE_S):
            recipient = next(self._recipients)
            try:
                status, said = self._send(connection, recipient)
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(type(error).__name__)
                connection.close()
                continue
            if status == 200:
                self.answered.append(recipient)
            else:
                self.failed.append(f"{status} {said[:200]!r}")
            if not self._keep_alive:
                connection.close()
        connection.close()

    def _send(self, connection: http.client.HTTPConnection, recipient: int) -> tuple[int, bytes]:
        connection.request("POST", PATH, body=order_to(recipient), headers=self._headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def order_to(recipient: int) -> bytes:
    return json.dumps(
        {"sender": SENDER, "message": f"order {recipient}", "recipients": [str(recipient)]}
    ).encode()


@contextmanager
def load(address: str, key: str) -> Iterator[list[Clients]]:
    """Runs clients of both kinds, until the end of the block."""
    kinds = [Clients(address, key, keep_alive=True), Clients(address, key, keep_alive=False)]
    for clients in kinds:
        clients.start()
    try:
        yield kinds
    finally:
        for clients in kinds:
            clients.end()
