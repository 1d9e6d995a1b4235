"""Does the work that goes on by itself or takes long: campaigns, retention, pruning, closing,
erasing.
"""

__all__ = [
    "campaigns",
    "carrier_figures",
    "close_account",
    "contact_imports",
    "erase_blockers",
    "erase_number",
    "pruning",
    "retention",
    "roll_up",
    "samples",
]
