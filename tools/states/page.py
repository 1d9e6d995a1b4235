"""Puts the page together: it says which sections the page has, in which order."""

from pathlib import Path
from typing import Final

from tools.states.errors import errors
from tools.states.outcomes import answers, receipts
from tools.states.sections import (
    accounts,
    campaigns,
    carriers,
    deliveries,
    endpoints,
    messages,
    one_time_passwords,
    rate_sheets,
    segments,
    senders,
)
from tools.states.statuses import statuses

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "states.md"


def document() -> str:
    """Returns the whole of docs/states.md."""
    return "\n".join(
        [
            "# States\n",
            "<!-- Made by tools/states from the tables in the code: change them there, and run"
            " `make docs`. -->\n",
            "This page lists the states of messages and of what else the API tells a status of,"
            " and what leads from one to the next.",
            "It is made from the code, and a test checks that it is up to date.",
            "A row changes its state only if a table in a `states.py` has that transition."
            " Otherwise the statement changes nothing. Carriers are the exception: their state is"
            " what their connection is.\n",
            *messages(),
            *segments(),
            *answers(),
            *statuses(),
            *receipts(),
            *errors(),
            *one_time_passwords(),
            *senders(),
            *rate_sheets(),
            *campaigns(),
            *deliveries(),
            *endpoints(),
            *accounts(),
            *carriers(),
        ]
    )
