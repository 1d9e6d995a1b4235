"""Makes messages that operators look at: stored as they are, or given to a carrier that never
answers.
"""

import sqlalchemy as sa

from heliograph.base import clock, ids
from heliograph.carriers import SIMULATOR_ID
from heliograph.database.database import Database
from heliograph.messages.tables import inflight, messages, queue, sends

HOUR_MS = 3_600_000


def stored_message(db: Database, account_id: str, **of_send: object) -> str:
    """Stores a message that waits for the simulator, and nothing that goes with it. `of_send` says
    what its send has otherwise. Returns the message's id in text form.
    """
    number, now_ms = ids.new_number(), clock.now_ms()
    send_id, message_id = ids.raw_of_number(number), ids.raw_of_number(number + 1)
    shared = {"account_id": account_id, "sandbox": False, "segments": 1}
    with db.write() as tx:
        tx.execute(
            sa.insert(sends).values(
                {
                    **shared,
                    "id": send_id,
                    "type": "sms",
                    "sender": "AMINA",
                    "text": "amina's text",
                    "encoding": "GSM-7",
                    "message_count": 1,
                    "expires_at_ms": now_ms + HOUR_MS,
                    "credits_required": 1,
                    "credits_used": 1,
                    "credits_remaining": 0,
                    "created_at_ms": now_ms,
                    **of_send,
                }
            )
        )
        tx.execute(
            sa.insert(messages).values(
                **shared,
                id=message_id,
                send_id=send_id,
                recipient=233201234567,
                country_code="GH",
                carrier_id=SIMULATOR_ID,
                status="queued",
                credits=1,
            )
        )
    return ids.text_of_raw("msg", message_id)


def never_answered(db: Database, carrier_id: int) -> None:
    """Lets all that is queued for a carrier be given to it, and stay without an answer."""
    now_ms = clock.now_ms()
    with db.write() as tx:
        waits = sa.select(queue, queue.c["count"].label("messages"))
        for run in tx.execute(waits.where(queue.c.carrier_id == carrier_id)).all():
            tx.execute(
                sa.insert(inflight),
                [
                    {
                        "message_id": ids.raw_of_number(int(run.first_id, 16) + place),
                        "part": 1,
                        "parts": 1,
                        "carrier_id": carrier_id,
                        "worker": 1,
                        "attempt": 1,
                        "state": "in_doubt",
                        "prefix": run.prefix,
                        "expires_at_ms": run.expires_at_ms,
                        "since_ms": now_ms,
                    }
                    for place in range(run.messages)
                ],
            )
        tx.execute(sa.delete(queue).where(queue.c.carrier_id == carrier_id))
