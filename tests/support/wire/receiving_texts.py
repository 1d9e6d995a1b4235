"""Runs a link and a receiver: what a carrier brings of handsets' texts is stored and answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import sqlalchemy as sa

from heliograph.base import clock
from heliograph.carriers.smpp import SmppSettings
from heliograph.carriers.smpp.link import SmppLink
from heliograph.database.database import Database
from heliograph.inbound import OwnNumber, add_number
from heliograph.inbound.receive.receiver import InboundReceiver
from heliograph.inbound.tables import inbound
from tests.support.factories import open_account, open_carrier
from tests.support.wire.handset_texts import SHORT_CODE
from tests.support.wire.recorder import Recorder


class StoredText(NamedTuple):
    sender: str
    text: str
    encoding: str
    parts: int
    parts_received: int
    repeats: int
    keyword: str | None


class Taking(NamedTuple):
    """Holds a carrier's running link and receiver, and an account whose number its texts come
    to.
    """

    db: Database
    number: OwnNumber
    account_id: str
    receiver: InboundReceiver

    def texts(self) -> list[StoredText]:
        """Returns what is stored, in its order."""
        with self.db.read() as tx:
            return [
                StoredText(*(getattr(row, name) for name in StoredText._fields))
                for row in tx.execute(sa.select(inbound).order_by(inbound.c.id))
            ]

    async def until_stored(self, count: int) -> list[StoredText]:
        """Waits until so many texts are stored."""
        async with asyncio.timeout(10):
            while len(self.texts()) < count:
                await asyncio.sleep(0.02)
        return self.texts()


@asynccontextmanager
async def taking(database_url: str, settings: SmppSettings) -> AsyncIterator[Taking]:
    """Connects to the carrier that the settings name. It may not be bound yet."""
    db = Database(database_url)
    account_id = open_account(db)
    carrier_id = open_carrier(db, settings.name, port=settings.port)
    with db.write() as tx:
        number = add_number(tx, SHORT_CODE, settings.name, account_id, now_ms=clock.now_ms())
    receiver = InboundReceiver(db, carrier_id, settings.name)
    link = receiver.link = SmppLink(settings, Recorder(), texts=receiver)
    running = asyncio.create_task(receiver.run())
    await link.start()
    try:
        yield Taking(db, number, account_id, receiver)
    finally:
        await link.close(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await db.close_hot()
        db.close()
