"""Makes messages in doubt, decides about them, and reads what is recorded of it."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import sqlalchemy as sa
import uvloop

from heliograph.base import ids
from heliograph.carriers import SubmitOutcome
from heliograph.messages.carrier import CarrierFacts
from heliograph.messages.doubt.decide import Decision, DecisionResult, decide, read_decided_by
from heliograph.messages.tables import operator_decisions
from tests.support.capability.sending import House, ScriptedLink
from tests.support.factories import PHONE, phones

T = TypeVar("T")
TEXT = "nobody's business"
SETTLE = ("message", "settle", "--reason", "ticket 4711", "--by", "kofi", "--as")
RESEND = ("message", "resend", "--reason", "ticket 4711", "--by", "kofi")
TOLD = (Decision.SENT, Decision.DELIVERED, Decision.UNDELIVERABLE, Decision.CANCELED)
AFTER = {
    Decision.SENT: "sent",
    Decision.DELIVERED: "delivered",
    Decision.UNDELIVERABLE: "failed/undeliverable",
    Decision.CANCELED: "failed/canceled",
}


async def in_doubt(
    house: House, *to: str, text: str = "hello", kind: str = "sms", window: int = 2_000
) -> ScriptedLink:
    """Makes a send whose answers never came."""
    link = await house.submitted(
        list(to) or PHONE, text, kind=kind, validity_s=3_600, window=window
    )
    await unanswered(link)
    return link


async def unanswered(link: ScriptedLink) -> None:
    while link.open:
        link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
        await link.turn.run_once()


async def decided(
    house: House, decision: Decision, *places: int, receipts: str = "all"
) -> list[DecisionResult]:
    """Decides about these messages, in the order of acceptance, or about all if none is named."""
    rows = house.messages()
    doubts = {
        house.carrier_id: [
            (rows[place].id, rows[place].credits) for place in places or range(len(rows))
        ]
    }
    done: list[DecisionResult] = []
    facts = {house.carrier_id: CarrierFacts(house.carrier_id, "carrier", receipts)}
    await decide(
        house.db, doubts, facts, decision, read_decided_by("kofi", "ticket 4711"), done.extend
    )
    return done


def recorded(house: House) -> list[tuple[str, int, str, str]]:
    columns = operator_decisions.c
    with house.db.read() as tx:
        return [
            tuple(row)
            for row in tx.execute(
                sa.select(
                    columns.decision, columns.parts, columns.decided_by, columns.reason
                ).order_by(columns.id)
            )
        ]


class Beside:
    """Stands for a house whose own parts do what a server beside the commands would do; each time
    it is in an event loop of its own.
    """

    def __init__(self, house: House) -> None:
        self.house = house

    def do(self, doing: Callable[[House], Awaitable[T]]) -> T:
        async def whole() -> T:
            try:
                return await doing(self.house)
            finally:
                await self.house.db.close_hot()

        return uvloop.run(whole())


async def doubtful_messages(house: House) -> list[str]:
    """Makes three messages in doubt (bulk, of three segments, OTP) and one that is sent. Returns
    their ids, in the order of acceptance.
    """
    link = await in_doubt(house, phones(1)[0], text=TEXT)
    for text, kind in ((TEXT * 20, "sms"), (TEXT, "otp")):
        await house.send(phones(2)[1], text, kind=kind, validity_s=3_600)
        await link.turn.run_once()
        if kind == "sms":
            link.answer(link.submitted[-3], ref="aa1")
            link.receive("aa1", phones(2)[1])
        await unanswered(link)
    await house.send(phones(4)[3], TEXT)
    await link.turn.run_once()
    link.answer(*link.open.values())
    link.receive(None, phones(2)[1], sender="OTHER")
    link.receive("7f\u202e3a", phones(1)[0], None)
    link.receive("aa7", phones(1)[0])
    await link.turn.run_once()
    return [ids.text_of_raw("msg", row.id) for row in house.messages()]
