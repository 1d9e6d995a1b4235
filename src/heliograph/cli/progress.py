"""Shows the progress of a command at a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

Tell = Callable[[int], object]


@contextmanager
def progress(label: str, total: Callable[[], int]) -> Iterator[Tell]:
    """Gives what is to be told of each so many more that are done. `total` is asked only
    when somebody looks: off a terminal nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda more: None
        return
    with click.progressbar(
        length=max(total(), 1), label=label, file=sys.stderr, show_pos=True
    ) as bar:
        yield bar.update
