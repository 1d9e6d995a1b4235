"""Brings texts from handsets, and reads what was told of them."""

from typing import Any

from heliograph.base import clock
from heliograph.carriers import HandsetText
from heliograph.database.database import Database
from heliograph.inbound import add_number, as_inbound_record
from heliograph.inbound.read import inbound_text
from heliograph.inbound.receive.record import record
from heliograph.text import GSM_7
from tests.support.api.service import contract
from tests.support.capability.webhooks import endpoint, events
from tests.support.factories import open_account, open_carrier
from tests.support.wire.handset_texts import PHONE, SHORT_CODE


class Inbox:
    """Stands for a carrier whose texts to 4567 are Amina's. She listens to `message.received`."""

    def __init__(self, url: str) -> None:
        self.db = Database(url)
        self.amina_id = open_account(self.db)
        self.carrier_id = open_carrier(self.db)
        with self.db.write() as tx:
            add_number(tx, SHORT_CODE, "carrier", self.amina_id, now_ms=clock.now_ms())
        endpoint(self.db, self.amina_id, kinds=["message.received"])

    async def close(self) -> None:
        await self.db.close_hot()
        self.db.close()

    async def came(self, *arrived: HandsetText, at_ms: int | None = None) -> None:
        async with self.db.hot() as tx:
            await record(tx, self.carrier_id, arrived, at_ms or clock.now_ms())

    def told(self) -> list[dict[str, Any]]:
        """Returns the records of all events, oldest first."""
        found = events(self.db)
        for event in found:
            contract().check_webhook(event)
        return [event["data"] for event in found]

    def shown(self, text_id: str) -> dict[str, Any]:
        """Returns a text of Amina's as GET /inbound/{id} shows it."""
        with self.db.read() as tx:
            return as_inbound_record(inbound_text(tx, self.amina_id, text_id, sandbox=False))


def written(
    words: str,
    number: int,
    to: str = SHORT_CODE,
    sender: str = PHONE,
    *,
    is_national: bool = False,
) -> HandsetText:
    """Returns a text in one piece. Those with the same `number` are one PDU that comes again."""
    digest = f"{number:032x}"
    return HandsetText(
        sender, to, GSM_7, words.encode(), None, digest, token=None, is_national=is_national
    )
