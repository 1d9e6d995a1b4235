"""Holds one account, its carrier and its campaign, as a machine moves them and looks at them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import sqlalchemy as sa
import uvloop
from hypothesis.stateful import (
    RuleBasedStateMachine,
)

from heliograph.base import clock
from heliograph.campaigns.advance import Advancer
from heliograph.campaigns.campaign import by_id as campaign_by_id
from heliograph.messages.accept import Chunker
from heliograph.messages.queue.rank import HELD_FROM_US
from heliograph.messages.tables import queue
from tests.support.capability.campaigns import written
from tests.support.capability.sending import WORKER, House
from tests.support.capability.webhooks import endpoint
from tests.support.property.opting_out import OptingOut

T = TypeVar("T")
CHUNK, AHEAD = 4, 9


class OneCampaign(RuleBasedStateMachine):
    """Holds what the machine of campaigns acts on, in an event loop of its own."""

    campaign_id: str

    def __init__(self, url: str) -> None:
        super().__init__()
        self.loop = uvloop.new_event_loop()
        self.house = House(url)
        self.worker = WORKER
        self.link = self.house.turn(window=5)
        self.advancer = self.new_advancer()
        self.moved_ms = 0
        self.steps = 0
        self.seen: set[str] = set()
        self.opting_out = OptingOut(self.house)
        self.unreceipted: list[tuple[str, str]] = []
        endpoint(self.house.db, self.house.amina_id, kinds=("campaign.completed",))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, 30))

    async def refreshed(self, work: Coroutine[Any, Any, T]) -> T:
        await self.house.cache.refresh()
        return await work

    def new_advancer(self) -> Advancer:
        return Advancer(
            self.house.db,
            Chunker(self.house.cache, self.house.queue),
            lambda carrier_ids: None,
            chunk=CHUNK,
            ahead=AHEAD,
        )

    def row(self) -> Any:
        with self.house.db.read() as tx:
            return campaign_by_id(tx, self.campaign_id)

    def status(self) -> str:
        return str(self.row().status)

    def frozen(self) -> set[int]:
        return set(written(self.house.db, self.row()))

    def recipients(self) -> list[int]:
        return [row.recipient for row in self.house.messages()]

    def held(self) -> set[int]:
        with self.house.db.read() as tx:
            rows = tx.execute(
                sa.select(queue.c.first_id, queue.c["count"]).where(queue.c.rank_us >= HELD_FROM_US)
            )
            return {int(first, 16) + place for first, count in rows for place in range(count)}

    def move(self, by_ms: int) -> None:
        clock.move(by_ms=by_ms)
        self.moved_ms += by_ms
