"""A campaign that has become messages, and the jobs that look after it, as tests hold them."""

from heliograph import campaigns, wallet
from heliograph.base import clock
from heliograph.campaigns import Campaign
from heliograph.campaigns.jobs import Jobs
from heliograph.messages import HELD_FROM_US, Chunker
from heliograph.messages.tables import queue
from tests.capability.campaigns import add_contacts, write_down
from tests.capability.sending import House
from tests.factories import phones

LOOKS_MAX = 20


class Sent:
    """A campaign that has become messages, and the jobs that look after it."""

    def __init__(self, house: House, people: int, message: str) -> None:
        self.house = house
        add_contacts(house.db, house.amina, phones(people))
        self.campaign: Campaign = campaigns.launch(house.db, write_down(house.db, house.amina, message=message).id).campaign
        self.jobs = Jobs(house.db, Chunker(house.cache, house.queue), house.woken.append)

    async def look(self) -> None:
        """As the process does that looks after it, five times a second."""
        await self.house.cache.refresh()
        await self.jobs.once()

    async def looks(self, waiting: int, held: int) -> None:
        """So often that these are as they shall be; one look ends after a second's work."""
        for _ in range(LOOKS_MAX):
            await self.look()
            if self.runs() == (waiting, held):
                break
        assert self.runs() == (waiting, held)

    def decide(self, what: str) -> None:
        with self.house.db.write() as tx:
            (campaigns.pause if what == "pause" else campaigns.resume)(tx, self.campaign.id)

    def runs(self) -> tuple[int, int]:
        """How many wait where a carrier takes them from, and how many are held."""
        held = self.house.count(queue, queue.c.rank_us >= HELD_FROM_US)
        return self.house.count(queue) - held, held


async def sent(house: House, people: int, message: str = "{phone}") -> Sent:
    """Its texts are queued: each a run of its own, unless all are the same."""
    with house.db.write() as tx:
        wallet.grant(tx, house.amina, people, "for all of them", now_ms=clock.now_ms())
    made = Sent(house, people, message)
    await made.look()
    return made
