"""Runs campaigns of the deployment: they are launched, watched, and at their end held against all
that knows of them.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import campaigns, wallet
from heliograph.base import ids
from heliograph.campaigns import Campaign
from heliograph.messages.queue import HELD_FROM_US
from heliograph.messages.tables import groups, messages, queue, sends, tallies
from tests.support import plain_http
from tests.support.capability import campaigns as made
from tests.support.faults.carriers import CarrierUnderTest
from tests.support.faults.clients import Order
from tests.support.faults.deployment import CREDITS, Deployment
from tests.support.faults.receivers import Hearing

T = TypeVar("T")

FIRST: Final = 233_240_000_000  # where no recipients of the clients are
REFUSED: Final = "001"  # the SMSC refuses a recipient that ends so: it is paid back
_OTHER_ENDINGS: Final = ("000", "002", "003")  # … fails those, or takes half a minute
OPTED_OUT_EVERY: Final = 10
OWN_TEXTS: Final = "{name}, your code at {phone} is {code}"


class Under:
    """Holds a campaign under test, to `count` contacts of its own, of whom each tenth has opted
    out. `people` are those who get it, in order.
    """

    def __init__(
        self,
        deployment: Deployment,
        name: str,
        count: int,
        message: str,
        *,
        first: int = 0,
        rate: int | None = None,
    ) -> None:
        self.deployment = deployment
        numbers = [
            number
            for number in range(FIRST + first, FIRST + first + 2 * count)
            if not str(number).endswith(_OTHER_ENDINGS)
        ][:count]
        opted_out = set(numbers[::OPTED_OUT_EVERY])
        self.people = [str(number) for number in numbers if number not in opted_out]
        self.opted_out = len(opted_out)
        made.add_contacts(
            deployment.db,
            deployment.account_id,
            [
                {
                    "phone": str(number),
                    "name": f"N{number % 977}",
                    "tags": [name],
                    "custom": {"code": f"{number * 7 % 100_003}"},
                    "opted_out": number in opted_out,
                }
                for number in numbers
            ],
        )
        self.draft = made.write_down(
            deployment.db, deployment.account_id, name=name, message=message, tags=[name], rate=rate
        )

    def launch(self) -> None:
        campaigns.launch(self.deployment.db, self.draft.id)

    def do(self, what: Callable[[Connection], T]) -> T:
        """Does one transaction of whoever commands the campaign."""
        return self.deployment.db.transact(what)

    @property
    def now(self) -> Campaign:
        return made.now(self.deployment.db, self.draft)

    @property
    def is_over(self) -> bool:
        return self.now.status == "completed"

    @property
    def refused(self) -> int:
        return sum(number.endswith(REFUSED) for number in self.people)

    def held(self) -> tuple[bool, int, int]:
        """Returns whether all of it is held, how many runs are, and how many wait where a carrier
        takes them from.
        """
        of_it = sa.select(queue.c.rank_us >= HELD_FROM_US).join_from(
            queue, sends, sends.c.id == queue.c.send_id
        )
        with self.deployment.db.read() as tx:
            runs = Counter(
                map(
                    bool, tx.execute(of_it.where(sends.c.group_id == self.draft.group_id)).scalars()
                )
            )
            held = tx.execute(
                sa.select(groups.c.held).where(groups.c.id == self.draft.group_id)
            ).scalar_one()
        return bool(held), runs[True], runs[False]

    def rows(self) -> Sequence[Any]:
        """Returns its messages: id, recipient, status, error_code, segments, credits, refunded,
        text.
        """
        columns = messages.c
        with self.deployment.db.read() as tx:
            return tx.execute(
                sa.select(
                    columns.id,
                    columns.recipient,
                    columns.status,
                    columns.error_code,
                    columns.segments,
                    columns.credits,
                    columns.refunded,
                    sends.c.text,
                )
                .join_from(messages, sends, sends.c.id == columns.send_id)
                .where(columns.group_id == self.draft.group_id)
            ).all()

    def check(self) -> None:
        """Checks that everybody has become a message once, and that its tallies and what the API
        says are those of the messages. The clients know them from now on.
        """
        rows, campaign = self.rows(), self.now
        assert sorted(str(row.recipient) for row in rows) == self.people, "missing, or twice"
        assert (campaign.opted_out, campaign.expanded, campaign.recipients_total) == (
            self.opted_out,
            True,
            len(self.people),
        )
        statuses = Counter(row.status for row in rows)
        figures = {
            **{status: statuses[status] for status in ("queued", "sent", "delivered", "failed")},
            "segments": sum(row.segments for row in rows),
            "credits": sum(row.credits - row.refunded for row in rows),
        }
        with self.deployment.db.read() as tx:
            kept = tx.execute(
                sa.select(*[sa.func.sum(tallies.c[name]) for name in figures]).where(
                    tallies.c.group_id == self.draft.group_id
                )
            ).one()
        assert dict(zip(figures, map(int, kept), strict=True)) == figures
        shown = self.shown()
        figures["credits_used"] = figures.pop("credits")
        assert shown["statistics"] == figures | {
            "delivery_rate": statuses["delivered"] * 10_000 // len(rows) / 10_000
        }
        assert shown["status"] == campaign.status
        self.know(rows)

    def know(self, rows: Sequence[Any]) -> None:
        """Tells the deployment of these messages: to it they are like those that clients were
        answered 200 for.
        """
        for row in rows:
            self.deployment.clients.accepted[ids.text_of_raw("msg", row.id)] = Order(
                str(row.recipient), row.text
            )

    def shown(self) -> dict[str, Any]:
        """Returns it as the API shows it."""
        address = f"{self.deployment.api.address}/api/v1/campaigns/{campaigns.text_id(self.draft)}"
        answer = plain_http.get(address, headers=self.deployment.clients.headers, timeout=30)
        return dict(answer.raise_for_status().json()["data"])


def all_sent(deployment: Deployment, all_of: Sequence[Under]) -> None:
    """Settles what was in doubt, and waits until each of them is over."""

    def only_doubts() -> bool:
        with deployment.db.read() as tx:
            waiting = tx.execute(sa.select(sa.func.count()).select_from(queue)).scalar_one()
        return (
            not waiting
            and not deployment.in_flight()
            and not deployment.in_flight("claimed")
            and all(under.now.expanded or under.now.status == "canceled" for under in all_of)
        )

    deployment.until(only_doubts, f"all is sent: {deployment.sender.log[-2_000:]}", 240)
    deployment.settle_doubts()
    deployment.until(
        lambda: all(under.now.ended_at_ms for under in all_of),
        f"all are over: {deployment.sender.log[-2_000:]}",
        120,
    )
    deployment.settle()


def check_all(
    deployment: Deployment, carrier: CarrierUnderTest, all_of: Sequence[Under], receiver: Hearing
) -> None:
    """Checks each of them, that the carrier has seen everybody, that the wallet is short of what
    the messages cost, and that the end of each was told once.
    """
    for under in all_of:
        under.check()
    assert {submit["recipient"] for submit in carrier.submits(accepted=False)} == {
        order.recipient for order in deployment.clients.accepted.values()
    }
    with deployment.db.read() as tx:
        cost = tx.execute(
            sa.select(sa.func.sum(messages.c.credits - messages.c.refunded))
        ).scalar_one()
        assert wallet.wallet_of(tx, deployment.account_id).sms_credits == CREDITS - cost
    over = {campaigns.text_id(under.draft) for under in all_of}
    deployment.until(lambda: len(receiver.times) >= len(over), "their ends were told", 45)
    ended = Counter(
        event["data"]["id"] for event in {event["id"]: event for event in receiver.events}.values()
    )
    assert ended == dict.fromkeys(over, 1)
    assert all(event["data"]["statistics"]["queued"] == 0 for event in receiver.events)
