"""Makes messages as the sweeps find them."""

from typing import Any

from heliograph.base import clock
from heliograph.carriers import SubmitOutcome, routing
from heliograph.database.database import Database
from heliograph.messages.sweeps import settle_doubts
from tests.support.capability.sending import House, ScriptedLink
from tests.support.factories import PHONE


async def in_doubt(
    house: House, *to: str, text: str = "hello", kind: str = "sms", **more: Any
) -> ScriptedLink:
    """Makes a send whose answers never came."""
    link = await house.submitted(list(to) or PHONE, text, kind=kind, **more)
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    return link


async def settle(house: House, *, resend: bool = True) -> int:
    return await settle_doubts(house.db, house.carrier_id, clock.now_ms(), resend=resend)


def routes(db: Database) -> routing.Routes:
    with db.read() as tx:
        return routing.Routes(routing.load_routes(tx))
