"""Lets handsets write to an account's number, and tells what came of it."""

from itertools import count
from typing import Any

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.carriers import HandsetText
from heliograph.inbound import add_number
from heliograph.inbound.receive.receiver import receive_texts
from heliograph.inbound.tables import inbound, numbers
from heliograph.messages.accept import Replier
from heliograph.opt_outs import OptOutOwner
from heliograph.opt_outs.read import opt_outs_of
from tests.support.api.service import contract
from tests.support.capability.inbox import written
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint, events
from tests.support.factories import PHONE
from tests.support.wire.handset_texts import SHORT_CODE

NUMBERS = count(1)


class Line:
    """Stands for amina's house, to whose number 4567 handsets write. She hears who opts out."""

    def __init__(self, house: House, *, answers: bool = True) -> None:
        self.house = house
        self.replier = Replier(house.cache, house.woken.append) if answers else None
        self.owner = OptOutOwner(house.amina_id, False)
        with house.db.write() as tx:
            add_number(tx, SHORT_CODE, "carrier", house.amina_id, now_ms=clock.now_ms())
        endpoint(house.db, house.amina_id, kinds=["contact.opted_out", "contact.opted_in"])

    async def close(self) -> None:
        await self.house.close()

    async def says(self, *words: str, sender: str = PHONE, to: str = SHORT_CODE) -> None:
        await self.carries(*(written(each, next(NUMBERS), to=to, sender=sender) for each in words))

    async def carries(self, *arrived: HandsetText) -> None:
        """Lets the carrier bring texts in one batch."""
        await self.house.cache.refresh()
        recorded = await receive_texts(
            self.house.db, self.house.carrier_id, "carrier", arrived, self.replier
        )
        if self.replier is not None:
            self.replier.wake(set(recorded.replied))

    def out(self, phone: str = PHONE) -> list[tuple[str, str]]:
        """Returns the scope and the source of each opt-out of a phone."""
        with self.house.db.read() as tx:
            found = opt_outs_of(tx, self.owner, phone)
        return [(each.scope.sender, each.source.value) for each in found]

    def told(self) -> list[tuple[str, str, str | None]]:
        found = events(self.house.db)
        for event in found:
            contract().check_webhook(event)
        return [(each["event"], each["data"]["phone"], each["data"]["keyword"]) for each in found]

    def heard(self) -> list[tuple[str | None, bool]]:
        """Returns the keyword of each text, and whether it seems to opt out."""
        columns = inbound.c
        query = sa.select(columns.keyword, columns.opt_out_suspected).order_by(columns.id)
        with self.house.db.read() as tx:
            return [(row.keyword, bool(row.opt_out_suspected)) for row in tx.execute(query)]

    def number_has(self, **settings: Any) -> None:
        with self.house.db.write() as tx:
            tx.execute(numbers.update().values(settings))
