"""Marks each statement that asks about opt-outs before its transaction holds the wallets. By this
mark, `messages/sweeps/accepted_during_opt_out.py` knows for whom an opt-out has to wait.
"""

from typing import Final

LOOKUPS_BEFORE_LOCK: Final = "/* looks for opt-outs */"


def mark_opt_out_lookup(sql: str) -> str:
    """Returns the statement with the mark as its beginning."""
    return LOOKUPS_BEFORE_LOCK + sql
