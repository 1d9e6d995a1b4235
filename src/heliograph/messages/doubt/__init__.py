"""Settles messages in doubt: they were submitted and never answered, and a receipt or an operator
decides what became of them.
"""

__all__ = [
    "audited_decisions",
    "decide",
    "find",
    "match_receipt",
    "receipts",
    "segments",
    "trace",
    "unmatched",
    "work_lists",
]
