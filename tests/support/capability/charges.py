"""Makes sends with what they cost, as the ledger and their messages say it."""

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from heliograph.base import ids
from heliograph.database.database import Database
from heliograph.messages.tables import messages, sends
from heliograph.wallet import ledger
from heliograph.wallet.ledger import post

Paid = tuple[int, int]  # credits and refunded of a message

DAY_MS = 86_400_000


def send(
    db: Database, account_id: str, paid: Sequence[Paid], *, at_ms: int, sandbox: bool = False
) -> str:
    """Makes a send whose messages cost and were paid back this much, charged in one entry and paid
    back in one entry a message, and returns its raw id.
    """
    number = ids.new_number(at_ms)
    with db.write() as tx:
        _store(tx, account_id, number, paid, at_ms=at_ms, sandbox=sandbox)
        _post(tx, account_id, ids.text_of_number("snd", number), paid, at_ms)
    return ids.raw_of_number(number)


def _store(
    tx: Connection,
    account_id: str,
    number: int,
    paid: Sequence[Paid],
    *,
    at_ms: int,
    sandbox: bool,
) -> None:
    send_id, cost = ids.raw_of_number(number), sum(credits for credits, _ in paid)
    tx.execute(
        sends.insert().values(
            id=send_id,
            account_id=account_id,
            sandbox=sandbox,
            type="sms",
            sender="AMINA",
            text="hello",
            encoding="GSM-7",
            segments=1,
            message_count=len(paid),
            expires_at_ms=at_ms,
            credits_required=cost,
            credits_used=cost,
            credits_remaining=0,
            created_at_ms=at_ms,
        )
    )
    tx.execute(
        messages.insert(),
        [
            {
                "id": ids.raw_of_number(number + 1 + k),
                "send_id": send_id,
                "account_id": account_id,
                "sandbox": sandbox,
                "carrier_id": 1,
                "segments": 1,
                "status": "failed" if refunded else "sent",
                "error_code": "unknown" if refunded else None,
                "credits": credits,
                "refunded": refunded,
            }
            for k, (credits, refunded) in enumerate(paid)
        ],
    )


def _post(
    tx: Connection, account_id: str, reference: str, paid: Sequence[Paid], at_ms: int
) -> None:
    """Posts the charge, and two days later the refunds."""
    posts = [("sms_charge", -sum(credits for credits, _ in paid), at_ms)]
    posts += [("sms_refund", refunded, at_ms + 2 * DAY_MS) for _, refunded in paid]
    for kind, credits, posted_ms in posts:
        if credits:
            post(
                tx,
                account_id,
                kind,
                ledger.SALES_ID,
                credits=credits,
                description="SMS",
                reference=reference,
                now_ms=posted_ms,
            )
