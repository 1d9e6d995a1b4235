"""Says whether a receipt may belong to a message in doubt."""

from heliograph.base import ids
from heliograph.messages.carrier.settle import agrees, is_from
from heliograph.messages.doubt.doubts_sql import OnTheWire, StoredReceipt


def may_belong(receipt: StoredReceipt, segment: OnTheWire) -> bool:
    """Says whether a receipt may be a message's: the handset and the sender agree, and it came
    after the message was made. A receipt from before that time is another message's.
    """
    return (
        agrees(segment.recipient, receipt.recipient)
        and is_from(segment.sender, receipt.sender)
        and receipt.at_ms >= ids.made_at_ms(int(segment.message_id, 16))
    )
