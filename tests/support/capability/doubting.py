"""Makes messages whose segments were submitted and not answered."""

from heliograph import senders
from heliograph.base import clock
from heliograph.carriers import SubmitOutcome
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.doubt.receipts import match_doubts
from tests.support.capability.sending import House, ScriptedLink
from tests.support.factories import PHONE, SENDER

THREE_SEGMENTS = "x" * 400


SHOP = "SHOP"


async def in_doubt(
    house: House,
    *texts: str,
    link: ScriptedLink | None = None,
    to: str = PHONE,
    sender: str = SENDER,
) -> ScriptedLink:
    """Sends to one handset whose answers never came."""
    link = link or house.turn()
    for text in texts or ("hello",):
        await house.send(to, text, sender=sender)
    await link.turn.run_once()
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    return link


async def match(house: House, *, receipts: str = "all", id_format: str = "as_is") -> int:
    return await match_doubts(
        house.db,
        CarrierFacts(house.carrier_id, "carrier", receipts, id_format),
        clock.now_ms() - 3_600_000,
        clock.now_ms(),
    )


def approve(house: House, sender: str) -> None:
    with house.db.write() as tx:
        record = senders.register(tx, house.amina_id, sender, sandbox=False, now_ms=clock.now_ms())
        senders.approve(tx, record.id, now_ms=clock.now_ms())
