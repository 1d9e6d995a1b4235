"""Decides whether states are shown in colours, and in which."""

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


def are_wanted(stream: TextIO | None) -> bool:
    """Returns whether colours are wanted: on a terminal that knows them, unless NO_COLOR
    (no-color.org) says otherwise, and never in a pipe or a file. A stream that is None was
    closed before.
    """
    return (
        stream is not None
        and stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def colour_of(word: str) -> str | None:
    """Returns the colour of a state or verdict, or None when it has none."""
    return next((colour for colour, words in _COLOURS.items() if word in words), None)
