"""Whether, and in which colours, states are shown."""

import os
from typing import Final, TextIO

_COLOURS: Final = {
    colour: frozenset(words.split())
    for colour, words in {
        "green": "ok active delivered approved bound completed",
        "yellow": (
            "warning queued submitted suspended paused scheduled connecting backing_off draining"
        ),
        "red": "failure failed rejected refused closed disabled revoked",
    }.items()
}


def wanted(stream: TextIO | None) -> bool:
    """On a terminal that knows colours, unless NO_COLOR (no-color.org) says otherwise;
    never in a pipe or a file. None: it was closed before.
    """
    return (
        stream is not None
        and stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def colour_of(word: str) -> str | None:
    """The colour of a state or verdict; None: it has none."""
    return next((colour for colour, words in _COLOURS.items() if word in words), None)
