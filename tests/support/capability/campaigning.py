"""Holds campaigns that are sent, and what moves them on, for tests."""

from typing import Any

from heliograph import accounts, campaigns, wallet
from heliograph.base import clock
from heliograph.campaigns import Campaign
from heliograph.campaigns.advance import Advancer
from heliograph.database import config
from heliograph.messages.accept import Chunker
from heliograph.messages.groups import GroupTally, tally_of
from heliograph.messages.queue import HELD_FROM_US
from heliograph.messages.tables import queue
from heliograph.wallet import ledger
from tests.support.capability.campaigns import add_contacts, now, write_down
from tests.support.capability.sending import House
from tests.support.factories import phones

LOOKS_MAX = 20


class Sent:
    """Holds a campaign that has become messages, and what moves it on."""

    def __init__(self, house: House, people: int, message: str) -> None:
        self.house = house
        add_contacts(house.db, house.amina_id, phones(people))
        self.campaign: Campaign = campaigns.launch(
            house.db, write_down(house.db, house.amina_id, message=message).id
        ).campaign
        self.advancer = Advancer(house.db, Chunker(house.cache, house.queue), house.woken.append)

    async def look(self) -> None:
        """Looks as the process does that looks after it, five times a second."""
        await self.house.cache.refresh()
        if (await self.advancer.quick_check()).at_work:
            await self.advancer.once()

    async def looks(self, waiting: int, held: int) -> None:
        """Looks until so many are waiting and so many held; one look ends after a second's work."""
        for _ in range(LOOKS_MAX):
            await self.look()
            if self.runs() == (waiting, held):
                break
        assert self.runs() == (waiting, held)

    def decide(self, what: str) -> None:
        with self.house.db.write() as tx:
            (campaigns.pause if what == "pause" else campaigns.resume)(tx, self.campaign.id)

    def runs(self) -> tuple[int, int]:
        """Returns how many wait where a carrier takes them from, and how many are held."""
        held = self.house.count(queue, queue.c.rank_us >= HELD_FROM_US)
        return self.house.count(queue) - held, held


class Running:
    """Holds a launched campaign to so many people, of whom the carrier takes what it is given. The
    wallet holds 1,000 credits.
    """

    def __init__(
        self, house: House, people: int, *, chunk: int = 10, ahead: int = 1_000, **fields: Any
    ) -> None:
        self.house = house
        self.advancer = Advancer(
            house.db,
            Chunker(house.cache, house.queue),
            house.woken.append,
            chunk=chunk,
            ahead=ahead,
        )
        self.link = house.turn()
        add_contacts(house.db, house.amina_id, phones(people))
        self.campaign = campaigns.launch(
            house.db, write_down(house.db, house.amina_id, **fields).id
        ).campaign

    async def look(self) -> None:
        await self.house.cache.refresh()
        if (await self.advancer.quick_check()).at_work:
            await self.advancer.once()

    async def send(self) -> None:
        """Lets the carrier take all that waits, and report each as delivered."""
        while True:
            await self.link.turn.run_once()
            if not self.link.open:
                return
            for submission in list(self.link.open.values()):
                [ref] = self.link.answer(submission)
                self.link.receive(ref, submission.recipient)
            await self.link.turn.run_once()

    def state(self) -> tuple[str, str | None]:
        row = now(self.house.db, self.campaign)
        return row.status, row.status_reason

    def tally(self) -> GroupTally:
        with self.house.db.read() as tx:
            return tally_of(tx, self.campaign.group_id)

    def holds(self, credits: int) -> None:
        with self.house.db.write() as tx:
            present = wallet.wallet_of(tx, self.house.amina_id).sms_credits
            if credits > present:
                ledger.grant(
                    tx, self.house.amina_id, credits - present, "more", now_ms=clock.now_ms()
                )
            elif credits < present:
                ledger.adjust_credits(
                    tx, self.house.amina_id, credits - present, "less", now_ms=clock.now_ms()
                )

    def change(self, **settings: Any) -> None:
        with self.house.db.write() as tx:
            accounts.change(tx, self.house.amina_id, **settings)
            config.bump(tx)


async def sent(house: House, people: int, message: str = "{phone}") -> Sent:
    """Queues the campaign's texts: each is a run of its own, unless all are the same."""
    with house.db.write() as tx:
        ledger.grant(tx, house.amina_id, people, "for all of them", now_ms=clock.now_ms())
    made = Sent(house, people, message)
    for _ in range(LOOKS_MAX):  # one look expands for a second
        await made.look()
        if now(house.db, made.campaign).expanded:
            return made
    raise AssertionError("not all of them have become messages")
