"""This room knows messages in doubt: they were submitted and never answered, and a receipt or an
operator settles them.
"""

from heliograph.messages.doubt.receipts import match_doubts

__all__ = ["decide", "match_doubts", "match_receipt", "segments", "trace", "unmatched"]
