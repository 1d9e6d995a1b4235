"""Makes the parts of the page of states: diagrams and tables."""

from collections.abc import Iterable, Iterator

from heliograph.database.transitions import Transitions


def diagram(transitions: Transitions) -> Iterator[str]:
    """Yields the lines of a Mermaid diagram of all transitions."""
    yield "```mermaid\nstateDiagram-v2"
    for arrow in transitions.arrows():
        yield f"    {arrow.was} --> {arrow.to}" + (f": {arrow.by}" if arrow.by else "")
    yield "```\n"


def meanings(transitions: Transitions, head: str = "status") -> Iterator[str]:
    """Yields a table of the states, what they mean, and what may follow them."""
    yield from table(
        (head, "means", "next"),
        (
            (f"`{state}`", meaning, _next(transitions, state))
            for state, meaning in transitions.meanings.items()
        ),
    )


def _next(transitions: Transitions, state: str) -> str:
    following = [to for to in transitions.states if transitions.allows(state, to)]
    return ", ".join(f"`{to}`" for to in following) or "–"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yields the lines of a table in Markdown."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
