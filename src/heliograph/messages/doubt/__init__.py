"""Settles messages in doubt: they were submitted and never answered, and a receipt or an operator
decides what became of them.
"""

__all__ = ["decide", "match_receipt", "receipts", "segments", "trace", "unmatched"]
