"""An audit finds what must not be."""

from typing import Final, NamedTuple

LOST: Final = "lost"  # something that we or the SMSC answered for, and that is nowhere
UNEXPLAINED: Final = "unexplained"  # something that is there, or happened, without a cause


class Finding(NamedTuple):
    """Describes something that must not be. `where` is a message's id, or a line of a log."""

    kind: str
    where: str
    what: str
