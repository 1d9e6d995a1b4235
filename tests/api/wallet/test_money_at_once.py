"""Clients want to spend twice and to repeat requests over HTTP, all at once, against `heliograph
serve` on each database.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from heliograph import wallet
from heliograph.audit.charges import verify_charges
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.wallet import ledger
from tests.support import plain_http
from tests.support.api.last_bytes import RawResponse, posted_at_once
from tests.support.api.server import Server, serving
from tests.support.books import assert_books_agree
from tests.support.factories import PHONE, SENDER, issue_key, open_account
from tests.support.factories import phones as all_phones

HELLO = {"sender": SENDER, "message": "hello", "recipients": [PHONE]}


def phones(count: int) -> list[str]:
    """Returns numbers to which the simulator delivers: its other outcomes end in 000 to 004."""
    return all_phones(count, first=5)


class Client:
    """A client is an account of its own with a key, at a server that many tests share."""

    def __init__(self, server: Server, name: str, credits: int) -> None:
        self._url = server.url
        self.db: Database = server.cast.amina.db
        self.account_id = open_account(self.db, name, credits=credits)
        self.key = issue_key(self.db, self.account_id)

    def at_once(self, *requests: tuple[dict[str, Any], str | None]) -> list[RawResponse]:
        return posted_at_once(self._url, "/api/v1/sms/send", self.key, list(requests))

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        answer = plain_http.get(
            f"{self._url}/api/v1{path}",
            params=query,
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def reports(self) -> Iterator[dict[str, Any]]:
        page: dict[str, Any] = {"next_cursor": ""}
        while (cursor := page["next_cursor"]) is not None:
            page = self.get("/reports", limit=1_000, **({"cursor": cursor} if cursor else {}))
            yield from page["data"]

    def grant(self, credits: int) -> None:
        with self.db.write() as tx:
            ledger.grant(tx, self.account_id, credits, "more", now_ms=clock.now_ms())

    def holds(self, *, credits: int, sends: int, charged: int) -> None:
        """Asserts that the API and the books say that this became of it all."""
        assert self.get("/balance")["sms_credits"] == credits
        charges = self.get("/wallet/transactions", type="sms_charge")["data"]
        assert (len(charges), -sum(charge["credits"] for charge in charges)) == (sends, charged)
        assert len({record["send_id"] for record in self.reports()}) == sends
        with self.db.read() as tx:
            read_one_snapshot(tx)
            assert [*wallet.verify(tx), *verify_charges(tx)] == []
        assert_books_agree(self.db)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(
    request: pytest.FixtureRequest,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    with serving(new_database(request.param), tmp_path_factory.mktemp("serve")) as server:
        yield server


def kinds(responses: list[RawResponse]) -> Counter[tuple[int, bool]]:
    return Counter((response.status, response.replayed) for response in responses)


def test_of_64_sends_at_once_with_credits_for_10_ten_succeed_and_54_are_refused(
    server: Server,
) -> None:
    client = Client(server, "spender", 10)
    answers = client.at_once(*[(HELLO, None)] * 64)
    assert kinds(answers) == {(200, False): 10, (402, False): 54}
    assert sorted(
        answer.body["data"]["credits_remaining"] for answer in answers if answer.status == 200
    ) == list(range(10))
    errors = [answer.body["error"] for answer in answers if answer.status == 402]
    assert {(error["code"], error["required"]) for error in errors} == {("INSUFFICIENT_CREDITS", 1)}
    client.holds(credits=0, sends=10, charged=10)


def test_nobody_overdraws_with_sends_of_every_size_at_once(server: Server) -> None:
    """Small and large sends have lanes of their own, so their transactions meet only at
    the wallet.
    """
    client = Client(server, "sizes", 1_300)
    sizes = [1, 700, 3, 600, 40, 550, 7, 501] * 4
    answers = client.at_once(*[({**HELLO, "recipients": phones(size)}, None) for size in sizes])
    assert {answer.status for answer in answers} == {200, 402}
    charged = sum(size for size, answer in zip(sizes, answers, strict=True) if answer.status == 200)
    smallest = min(
        size for size, answer in zip(sizes, answers, strict=True) if answer.status == 402
    )
    assert 0 <= 1_300 - charged < smallest  # nobody was refused who could have been paid for
    client.holds(credits=1_300 - charged, sends=kinds(answers)[200, False], charged=charged)


def test_of_100_equal_requests_at_once_with_one_key_one_sends_and_99_replay(server: Server) -> None:
    client = Client(server, "repeater", 1_000)
    answers = client.at_once(*[(HELLO, "order-17")] * 100)
    assert kinds(answers) == {(200, False): 1, (200, True): 99}
    assert len({answer.content for answer in answers}) == 1
    again = client.at_once(*[(HELLO, "order-17")] * 20)
    assert kinds(again) == {(200, True): 20}
    assert {answer.content for answer in again} == {answers[0].content}
    client.holds(credits=999, sends=1, charged=1)


def test_of_different_requests_at_once_with_one_key_one_wins(server: Server) -> None:
    """So it is in both lanes: the large ones are other transactions."""
    client = Client(server, "changing", 2_000)
    bodies = [{**HELLO, "message": f"hello {k}"} for k in range(8)] + [
        {**HELLO, "recipients": phones(501)},
        {**HELLO, "recipients": phones(502)},
    ]
    requests = [(body, "order-18") for body in bodies] * 6
    answers = client.at_once(*requests)
    assert {answer.reason for answer in answers if answer.status != 200} == {
        "idempotency_key_reused"
    }
    won = {
        str(body)
        for (body, _), answer in zip(requests, answers, strict=True)
        if answer.status == 200
    }
    assert len(won) == 1
    assert kinds(answers) == {(200, False): 1, (200, True): 5, (409, False): 54}
    charged = 2_000 - client.get("/balance")["sms_credits"]
    assert charged in (1, 501, 502)
    client.holds(credits=2_000 - charged, sends=1, charged=charged)


def test_many_keys_many_times_at_once_send_once_each(server: Server) -> None:
    client = Client(server, "many keys", 1_000)
    requests = [(HELLO, f"order-{k}") for k in range(20)] * 5
    answers = client.at_once(*requests)
    assert kinds(answers) == {(200, False): 20, (200, True): 80}
    of_keys = {(key, answer.content) for (_, key), answer in zip(requests, answers, strict=True)}
    assert len(of_keys) == len({content for _, content in of_keys}) == 20
    client.holds(credits=980, sends=20, charged=20)


def test_what_could_not_be_paid_leaves_its_key_free(server: Server) -> None:
    client = Client(server, "late payer", 10)
    requests = [(HELLO, f"order-{k}") for k in range(30)]
    first = client.at_once(*requests)
    assert kinds(first) == {(200, False): 10, (402, False): 20}
    client.grant(100)
    second = client.at_once(*requests)
    assert kinds(second) == {(200, True): 10, (200, False): 20}
    assert all(
        after.replayed == (before.status == 200)
        for before, after in zip(first, second, strict=True)
    )
    assert kinds(client.at_once(*requests)) == {(200, True): 30}
    client.holds(credits=80, sends=30, charged=30)


def test_equal_requests_that_nobody_can_pay_are_all_refused_and_then_one_sends(
    server: Server,
) -> None:
    client = Client(server, "poor", 0)
    refused = client.at_once(*[(HELLO, "order-19")] * 50)
    assert kinds(refused) == {(402, False): 50}
    client.holds(credits=0, sends=0, charged=0)
    client.grant(50)
    assert kinds(client.at_once(*[(HELLO, "order-19")] * 50)) == {(200, False): 1, (200, True): 49}
    client.holds(credits=49, sends=1, charged=1)
