"""Texts of handsets come beside sends with receipts, both at a rate: none is lost, none is there
twice.

In its long form (`HELIOGRAPH_TEST_FAULTS=long`) 1,200 texts beside 3,000 sends a second are asked
for: the SMSC waits for answers, so fewer come.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.support import plain_http
from tests.support.factories import SENDER
from tests.support.faults.deployment import Deployment
from tests.support.faults.handsets import compared, own_number, taken
from tests.support.faults.matrix import quick_or_long

TEXTS_A_SECOND = int(quick_or_long(200, 1_200))
SENDS_A_SECOND = int(quick_or_long(600, 3_000))
SECONDS = quick_or_long(4, 20)
RECIPIENTS = 300  # of one request


class Bulk:
    """Sends requests of many recipients at a steady rate, from threads, until all are accepted."""

    def __init__(self, deployment: Deployment) -> None:
        self._url = f"{deployment.api.address}/api/v1/sms/send"
        self._headers = deployment.clients.headers
        self._next = 0
        self._lock = threading.Lock()
        self._began_s = time.monotonic()
        self.accepted: list[str] = []
        self.wrong: list[str] = []

    def run(self) -> float:
        """Returns how many seconds it took until all were accepted."""
        threads = [threading.Thread(target=self._send) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.monotonic() - self._began_s

    def _send(self) -> None:
        every_s = RECIPIENTS / SENDS_A_SECOND
        with plain_http.new_client(headers=self._headers, timeout=60) as session:
            while True:
                with self._lock:
                    number, self._next = self._next, self._next + 1
                if number * every_s >= SECONDS:
                    return
                time.sleep(max(0.0, self._began_s + number * every_s - time.monotonic()))
                self._post(session, number)

    def _post(self, session: httpx.Client, number: int) -> None:
        recipients = [f"23324{number * RECIPIENTS + place:06}5" for place in range(RECIPIENTS)]
        body = {"sender": SENDER, "message": "Hello", "recipients": recipients}
        answer = session.post(self._url, json=body)
        if answer.status_code == 200:
            self.accepted += answer.json()["data"]["message_ids"]
        else:
            self.wrong.append(answer.text)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_texts_of_handsets_beside_sends_are_all_stored_once(
    kind: str, new_database: Callable[[str], str], redis_url: str, tmp_path: Path
) -> None:
    deployment = Deployment(kind, new_database(kind), redis_url, tmp_path)
    try:
        carrier = deployment.carrier("--mo-rate", str(TEXTS_A_SECOND), window=1_000)
        own_number(deployment, carrier)
        deployment.start()
        carrier.wait_for("text_answered", 1)
        before = len(taken(carrier))
        bulk = Bulk(deployment)
        began_s = time.monotonic()
        sending_s = bulk.run()
        texts = len(taken(carrier)) - before
        texts_s = time.monotonic() - began_s
        settled_s = deployment.settle()
        deployment.stop()
        assert not bulk.wrong, bulk.wrong[:3]
        assert deployment.count("delivered") == len(bulk.accepted)
        seen = compared(deployment, carrier)
        accepted = tmp_path / "accepted.txt"
        accepted.write_text("".join(f"{each}\n" for each in bulk.accepted))
        told = deployment.command(
            "ledger", "verify", "--smsc-log", str(carrier.log), "--accepted", str(accepted)
        )
        print(
            f"\n{kind}: {len(bulk.accepted)} sends accepted in {sending_s:.1f} s, delivered"
            f" {settled_s:.1f} s later; {texts / texts_s:.0f} texts/s meanwhile; {seen}"
        )
        assert (told["lost"], told["messages"]) == (0, len(bulk.accepted))
        assert (seen.lost, seen.twice) == (0, 0)
        assert texts, "no text came while the sends did"
    finally:
        deployment.close()
