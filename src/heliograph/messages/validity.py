"""Defines for how long a message may be tried."""

from typing import Final

VALIDITY_DEFAULT_S: Final = 86_400
VALIDITY_S: Final = (60, 172_800)  # the shortest and the longest
