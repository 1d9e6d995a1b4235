"""Takes a carrier's turns until nothing is left to do."""

from collections import Counter

from tests.support.capability.sending import ScriptedLink


def twice(link: ScriptedLink) -> list[tuple[str, int]]:
    """Returns the segments that went out more than once."""
    return [
        segment
        for segment, times in Counter((s.message_id, s.part) for s in link.submitted).items()
        if times > 1
    ]


async def until_nothing_waits(link: ScriptedLink) -> None:
    """Turns, with every answer an acceptance, until nothing is on the wire any more."""
    await link.turn.once()
    while link.open:
        link.answer(*link.open.values())
        await link.turn.once()
