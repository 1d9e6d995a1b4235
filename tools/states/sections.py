"""Makes the section about a kind of thing that has states."""

from collections.abc import Iterator

from heliograph.database.transitions import Transitions
from tools.states.markdown import diagram, meanings


def section(
    title: str, transitions: Transitions, declared: str, head: str = "status"
) -> Iterator[str]:
    """Yields a section: what the table of transitions says, and where it is `declared`, such as
    "`OTP` in `otp/states.py`". `head` is what the documentation calls the state.
    """
    yield f"## {title}\n"
    yield from diagram(transitions)
    yield from meanings(transitions, head)
    yield from transitions.notes
    yield f"The transitions are in the table {declared}.\n"
