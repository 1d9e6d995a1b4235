"""Does the work that goes on by itself or takes long: campaigns, retention, pruning, alerts,
closing, erasing.
"""

__all__ = [
    "alerts",
    "campaigns",
    "carrier_figures",
    "close_account",
    "contact_imports",
    "erase_number",
    "erasure",
    "find_accounts",
    "inbound_parts",
    "ledger_hours",
    "open_account",
    "portal_views",
    "proofs",
    "pruning",
    "rate_sheets",
    "retention",
    "roll_up",
    "samples",
]
