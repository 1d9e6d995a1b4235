"""Does the work that goes on by itself or takes long: campaigns, retention, pruning, closing,
erasing.
"""

__all__ = [
    "campaigns",
    "close_account",
    "contact_imports",
    "erase_blockers",
    "erase_number",
    "portal_views",
    "pruning",
    "retention",
    "roll_up",
    "samples",
]
