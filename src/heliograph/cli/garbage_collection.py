"""A command that ends soon leaves its garbage to the end of its process.

Python looks for garbage after every 700 new objects, and once more at the end. Most objects of a
command are modules, which are never garbage, and looking through them took a quarter of its time
(docs/decisions/cli.md, O30). A process that goes on collects garbage as usual.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

COLLECT_AFTER: Final = 200_000  # new objects, some tens of MB; loading SQLAlchemy makes as many
_USUAL: Final = gc.get_threshold()


@contextmanager
def rare_collection() -> Iterator[None]:
    """Collects garbage rarely inside of the block, and not at all after it, unless the block has
    called `resume_collection`. It is only for a block that is the last thing that this process
    does: what lives at its end is never looked through again.
    """
    gc.set_threshold(COLLECT_AFTER, *_USUAL[1:])
    try:
        yield
    finally:
        if gc.get_threshold()[0] == COLLECT_AFTER:
            gc.freeze()


def resume_collection() -> None:
    """Collects garbage from now on as Python does by itself."""
    gc.set_threshold(*_USUAL)
