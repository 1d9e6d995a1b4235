"""Does the work that goes on by itself or takes long: campaigns, retention, pruning, closing,
erasing.
"""

__all__ = [
    "campaigns",
    "close_account",
    "contact_imports",
    "erase_blockers",
    "erase_number",
    "ledger_hours",
    "proofs",
    "pruning",
    "retention",
    "roll_up",
    "samples",
]
