"""Takes a carrier's turns until nothing is left to do, and learns how it prints its ids."""

from collections import Counter

from heliograph.messages.carrier.match import learn_id_format
from tests.support.capability.sending import House, ScriptedLink


def twice(link: ScriptedLink) -> list[tuple[str, int]]:
    """Returns the segments that went out more than once."""
    return [
        segment
        for segment, times in Counter((s.message_id, s.part) for s in link.submitted).items()
        if times > 1
    ]


async def learnt(house: House, link: ScriptedLink) -> str | None:
    """Returns what the carrier's receipts have taught of its ids, if they have."""
    return await learn_id_format(house.db, link.turn.carrier, 0, link.turn.matched)


async def until_nothing_waits(link: ScriptedLink) -> None:
    """Turns, with every answer an acceptance, until nothing is on the wire any more."""
    await link.turn.run_once()
    while link.open:
        link.answer(*link.open.values())
        await link.turn.run_once()
