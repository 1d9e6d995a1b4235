"""Makes docs/states.md out of the code that decides states: `make docs`.

The states, what they mean and what leads from one to the next are read from the tables that the
rooms declare in their `states.py`. What follows from code is asked of it: `settle_answer` is given
one answer of each kind, `outcome_of` every command_status.
"""

from tools.states.page import DOCUMENT, document

__all__ = ["DOCUMENT", "document"]
