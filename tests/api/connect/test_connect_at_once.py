"""Connect's requests race over HTTP, all at once: against `heliograph serve` on SQLite, and against
two API processes on PostgreSQL.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from heliograph import wallet
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.connect.customer import page as connect_page
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.wallet import ledger
from tests.support import plain_http
from tests.support.api.last_bytes import RawResponse, posted_at_once
from tests.support.books import assert_books_agree
from tests.support.crash.processes import ServerProcess
from tests.support.factories import PHONE, issue_key, open_account

CUSTOMERS = "/connect/customers"
DEDE = {"full_name": "Dede Stores", "phone": PHONE, "country_code": "GH"}


class Partner:
    """A partner is an account of its own with a key, at a server that all tests share."""

    def __init__(self, db: Database, address: str, name: str, credits: int) -> None:
        self.db = db
        self._address = address
        self.account_id = open_account(db, name, credits=credits, sender=None)
        self._key = issue_key(db, self.account_id)

    def at_once(self, path: str, *requests: tuple[dict[str, Any], str | None]) -> list[RawResponse]:
        return posted_at_once(self._address, f"/api/v1{path}", self._key, list(requests))

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = plain_http.post(
            f"{self._address}/api/v1{path}",
            json=body,
            headers={"Authorization": f"Bearer {self._key}"},
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def customer(self, **more: Any) -> str:
        return str(self.post(CUSTOMERS, {**DEDE, **more})["data"]["id"])

    def holds(self, credits: int, *customers: int) -> None:
        """Asserts what it has, and each of its customers, the newest first; and that the books
        agree.
        """
        with self.db.read() as tx:
            found = connect_page(tx, self.account_id, PageWanted(100, None), sandbox=False)
            assert (
                wallet.wallet_of(tx, self.account_id).sms_credits,
                *(one.sms_credits for one in found),
            ) == (credits, *customers)
        with self.db.read() as tx:
            read_one_snapshot(tx)
            assert wallet.verify(tx) == []
        assert_books_agree(self.db)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def partner(
    request: pytest.FixtureRequest,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str, int], Partner]]:
    url, directory = new_database(request.param), tmp_path_factory.mktemp("server")
    if request.param == "sqlite":
        server = ServerProcess(url, directory)
    else:
        server = ServerProcess(
            url,
            directory,
            ["api", "--workers", "2"],
            REDIS_URL=request.getfixturevalue("_redis_database"),
        )
    db = Database(url)
    try:
        server.wait_until_ready()
        if request.param == "postgresql":
            server.wait_for_event("serving", 30, times=2)
        yield lambda name, credits: Partner(db, server.address, name, credits)
    finally:
        db.close()
        server.end()


def test_of_50_equal_provisions_at_once_one_makes_the_customer_and_49_find_it(
    partner: Callable[[str, int], Partner],
) -> None:
    owner = partner("racer", 1_000)
    for round_ in range(3):
        wish = {**DEDE, "external_ref": f"shop-{round_}", "initial_sms_credits": 10}
        answers = owner.at_once(CUSTOMERS, *[(wish, None)] * 50)
        assert Counter((answer.status, answer.body["created"]) for answer in answers) == {
            (200, True): 1,
            (200, False): 49,
        }
        assert len({str(answer.body["data"]) for answer in answers}) == 1
    owner.holds(970, 10, 10, 10)


def test_equal_provisions_that_nobody_can_pay_make_none_and_then_one(
    partner: Callable[[str, int], Partner],
) -> None:
    poor = partner("poor", 9)
    wish = {**DEDE, "external_ref": "shop", "initial_sms_credits": 10}
    assert {answer.status for answer in poor.at_once(CUSTOMERS, *[(wish, None)] * 20)} == {402}
    poor.holds(9)
    with poor.db.write() as tx:
        ledger.grant(tx, poor.account_id, 1, "one more", now_ms=clock.now_ms())
    answers = poor.at_once(CUSTOMERS, *[(wish, None)] * 20)
    assert Counter((answer.status, answer.body["created"]) for answer in answers) == {
        (200, True): 1,
        (200, False): 19,
    }
    poor.holds(0, 10)


def test_of_50_customers_at_once_as_many_are_made_as_can_be_given_to(
    partner: Callable[[str, int], Partner],
) -> None:
    owner = partner("giver", 205)
    answers = owner.at_once(
        CUSTOMERS,
        *[
            ({**DEDE, "external_ref": f"shop-{k}", "initial_sms_credits": 10}, f"key-{k}")
            for k in range(50)
        ],
    )
    assert Counter(answer.status for answer in answers) == {200: 20, 402: 30}
    owner.holds(5, *[10] * 20)


def test_moves_to_and_back_at_once_lose_nothing_and_wait_for_each_other(
    partner: Callable[[str, int], Partner],
) -> None:
    owner = partner("mover", 100)
    bilal = owner.customer()
    answers = owner.at_once(
        f"{CUSTOMERS}/{bilal}/credits",
        *[({"credits": credits}, None) for credits in (10, -10, 7, -3) * 16],
    )
    assert {answer.status for answer in answers} <= {200, 402}
    gained = sum(answer.body["data"]["credits"] for answer in answers if answer.status == 200)
    owner.holds(100 - gained, gained)


def test_of_50_equal_moves_at_once_with_one_key_one_moves(
    partner: Callable[[str, int], Partner],
) -> None:
    owner = partner("repeater", 100)
    bilal, dede = owner.customer(), owner.customer()
    for customer in (bilal, dede):
        answers = owner.at_once(
            f"{CUSTOMERS}/{customer}/credits", *[({"credits": 10}, "invoice-17")] * 50
        )
        assert Counter((answer.status, answer.replayed) for answer in answers) == {
            (200, False): 1,
            (200, True): 49,
        }
        assert len({answer.content for answer in answers}) == 1
    owner.holds(80, 10, 10)


def test_more_than_there_is_is_never_moved(partner: Callable[[str, int], Partner]) -> None:
    owner = partner("spender", 95)
    bilal = owner.customer()
    answers = owner.at_once(f"{CUSTOMERS}/{bilal}/credits", *[({"credits": 10}, None)] * 64)
    assert Counter(answer.status for answer in answers) == {200: 9, 402: 55}
    owner.holds(5, 90)
