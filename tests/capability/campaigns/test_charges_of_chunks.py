"""A message of a campaign shows the charge of its own chunk, among those of many others."""

from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.messages import read
from heliograph.messages.read.charges import charges_of
from tests.support.capability.campaigning import Running
from tests.support.capability.sending import House
from tests.support.factories import awaited

PEOPLE = 20
CHUNKS_APART_MS = 400  # so all are charged within the ten seconds that are looked through


@awaited
async def test_each_message_of_many_small_chunks_shows_what_was_charged_for_it(
    house: House,
) -> None:
    running = Running(house, PEOPLE, chunk=1)
    for _ in range(PEOPLE):
        clock.move(CHUNKS_APART_MS)
        await running.look()
    with house.db.read() as tx:
        found = read.report(
            tx, house.amina_id, PageWanted(PEOPLE, None), read.Filters(), sandbox=False
        ).messages
        charged = [charges_of(tx, message, house.amina_id).entries for message in found]
    assert len(found) == PEOPLE
    for message, entries in zip(found, charged, strict=True):
        shown = {(entry.credits, entry.created_at_ms) for entry in entries}
        assert shown == {(-1, message.created_at_ms)}  # twice, if two were charged at one moment
