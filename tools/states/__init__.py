"""Makes docs/states.md and docs/answers.md: `make docs`.

The page of states is made from the tables that the rooms declare in their `states.py`. The page of
answers tells what follows from code: `settle_answer` is given one answer of each kind, `outcome_of`
every command_status.
"""

from tools.states.pages import pages

__all__ = ["pages"]
