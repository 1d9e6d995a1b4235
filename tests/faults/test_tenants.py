"""Some tenants take what others need: the disk, or money for one-time passwords that nobody wants
(faults 34 and 35).
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx
import pytest
import sqlalchemy as sa

from heliograph.accounts import quotas
from heliograph.base import clock
from heliograph.messages.tables import carrier_refs
from heliograph.otp.unverified_allowance import ACCOUNT_FLOOR
from heliograph.plugin.tables import site_logs
from tests.support import plain_http
from tests.support.capability.pumping import attack
from tests.support.factories import code_sent, issue_key, open_account
from tests.support.faults.clients import Order
from tests.support.faults.deployment import Deployment
from tests.support.faults.matrix import LONG, quick_or_long

SITE: Final = "https://shop.example"
# half a megabyte
LOGS: Final = {"logs": [{"site_url": SITE, "event": "sent", "body": "x" * 5_000}] * 100}
UNMATCHED_MAX: Final = 1_000


class Tenant:
    """A tenant has a key, and its programs keep their connections."""

    def __init__(self, deployment: Deployment, name: str, credits: int = 0) -> None:
        self.account_id = open_account(deployment.db, name, credits=credits)
        headers = {"Authorization": f"Bearer {issue_key(deployment.db, self.account_id)}"}
        self._client = plain_http.new_client(
            base_url=f"{deployment.api.address}/api/v1", headers=headers, timeout=30
        )

    def post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        return self._client.post(path, json=body)

    def close(self) -> None:
        self._client.close()


@pytest.fixture
def tenant(deployment: Deployment) -> Iterator[Callable[..., Tenant]]:
    """Yields what makes a tenant, once the deployment has started: `tenant("chidi",
    credits=10)`.
    """
    made: list[Tenant] = []

    def make(name: str, credits: int = 0) -> Tenant:
        made.append(Tenant(deployment, name, credits))
        return made[-1]

    yield make
    for one in made:
        one.close()


def flood(deployment: Deployment, carrier_id: int, count: int) -> None:
    """Stores so many receipts of a carrier that match nothing."""
    with deployment.db.write() as tx:
        tx.execute(
            carrier_refs.insert(),
            [
                {
                    "carrier_id": carrier_id,
                    "ref": f"f{number:07x}",
                    "receipt_state": "DELIVRD",
                    "created_at_ms": clock.now_ms() - count + number,
                }
                for number in range(count)
            ],
        )


def unmatched(deployment: Deployment) -> int:
    with deployment.db.read() as tx:
        return int(
            tx.execute(
                sa.select(sa.func.count()).where(carrier_refs.c.message_id.is_(None))
            ).scalar_one()
        )


@pytest.mark.fault(34)
def test_a_key_that_tells_without_end_and_a_carrier_that_does_fill_no_disk(
    deployment: Deployment, tenant: Callable[..., Tenant]
) -> None:
    carrier = deployment.carrier()
    deployment.start()
    chidi = tenant("chidi")
    if not LONG:
        deployment.command("quota", "set", "chidi", "logs=1MB")
    quota = 50_000_000 if LONG else 1_000_000
    deployment.command("carrier", "set", "carrier", "--unmatched-max", str(UNMATCHED_MAX))
    assert chidi.post("/sitebuilder/connect", {"site_url": SITE}).status_code == 200
    flooded = int(quick_or_long(3_000, 100_000))
    flood(deployment, carrier.id, flooded)
    told = int(quota / 500_000) + 6
    with ThreadPoolExecutor(4) as pool:
        replies = [pool.submit(chidi.post, "/sitebuilder/logs", LOGS) for _ in range(told)]
        deployment.clients.send(int(quick_or_long(40, 2_000)))
        answers = [reply.result() for reply in replies]
    stored = sum(answer.status_code == 200 for answer in answers)
    refused = [answer for answer in answers if answer.status_code != 200]
    assert {(answer.status_code, answer.json()["error"]["reason"]) for answer in refused} == {
        (429, "storage_quota_reached")
    }
    with deployment.db.read() as tx:
        [used] = quotas.used_today(tx, chidi.account_id, clock.now_ms()).values()
        assert (
            tx.execute(sa.select(sa.func.count()).select_from(site_logs)).scalar_one()
            == 100 * stored
        )
    assert quota - used < 100 * 5_304, "as much as fits, and no more"
    assert used <= quota

    deployment.until(
        lambda: unmatched(deployment) <= UNMATCHED_MAX, "the oldest receipts are dropped"
    )
    assert {reply.status for reply in deployment.clients.replies} == {200}
    deployment.holds(
        how=(
            f"{told} requests of 0.5 MB, {stored} stored ({used / 1e6:.1f} MB), then 429; of"
            f" {flooded:,} receipts that match nothing the newest {UNMATCHED_MAX:,} are left; all"
            " sends beside were 200"
        )
    )


@pytest.mark.fault(35)
def test_pumping_into_many_ranges_is_stopped_and_who_verifies_is_refused_nothing(
    deployment: Deployment, tenant: Callable[..., Tenant]
) -> None:
    deployment.carrier()
    deployment.start()
    pumped, honest = (tenant(name, credits=20_000) for name in ("chidi", "bilal"))
    numbers = list(attack(int(quick_or_long(1, 55)), first=5))  # none that the SMSC makes fail
    signing_in = [f"23324{number:07d}" for number in range(100, 100 + int(quick_or_long(20, 400)))]

    def sign_in(phone: str) -> bool:
        """Returns whether the code was sent. Two of three codes are given back."""
        sent = honest.post("/otp/send", {"phone": phone})
        if sent.status_code == 200 and int(phone) % 3:
            code = code_sent(deployment.db, sent.json()["data"]["id"])
            assert honest.post("/otp/verify", {"phone": phone, "code": code}).status_code == 200
        return remember(phone, sent)

    def remember(phone: str, sent: httpx.Response) -> bool:
        """Remembers what was promised, for it must arrive, as of every client."""
        if sent.status_code == 200:
            deployment.clients.accepted[sent.json()["data"]["message_id"]] = Order(phone, "a code")
        return sent.status_code == 200

    with ThreadPoolExecutor(4) as pool:
        replies = [pool.submit(pumped.post, "/otp/send", {"phone": phone}) for phone in numbers]
        signed_in = sum(pool.map(sign_in, signing_in))
        answers = [reply.result() for reply in replies]
    passed = sum(remember(phone, answer) for phone, answer in zip(numbers, answers, strict=True))
    assert {
        answer.json()["error"]["reason"] for answer in answers if answer.status_code != 200
    } == {"otp_too_many_unverified"}
    assert passed in (
        ACCOUNT_FLOOR,
        2 * ACCOUNT_FLOOR,
    ), "twice as many when the hour ends meanwhile"
    assert signed_in == len(signing_in)
    deployment.clients.send(10)
    deployment.holds(
        how=(
            f"{len(numbers):,} codes to 200 ranges of 8 countries: {passed} went out, the others"
            f" 429 and not charged; of {len(signing_in)} of an account whose users verify two of"
            " three, 0 refused"
        )
    )
