"""Settles messages in doubt: they were submitted and never answered, and a receipt or an operator
decides what became of them.
"""

from heliograph.messages.doubt.receipts import match_doubts

__all__ = ["decide", "match_doubts", "match_receipt", "segments", "trace", "unmatched"]
