"""Finds the name that was probably meant, when somebody typed one that does not exist."""

from collections.abc import Iterable
from typing import Final

# on a scale of likeness from 0 to 1: a name that is less like it than the nearest one by more than
# this is not meant
_AS_NEAR: Final = 0.1


def nearest_names(typed: str, known: Iterable[str]) -> list[str]:
    """Returns the nearest of the known names, and those that are about as near; none when
    all are far away.
    """
    from difflib import SequenceMatcher, get_close_matches  # only for a mistyped name

    found = get_close_matches(typed, known)
    # in this order, as difflib compares them
    likeness = [SequenceMatcher(None, name, typed).ratio() for name in found]
    return [
        name for name, like in zip(found, likeness, strict=True) if like > likeness[0] - _AS_NEAR
    ]
