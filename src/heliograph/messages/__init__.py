"""Sends messages: each is accepted, paid once, handed to a carrier, and followed until its delivery
is known.

The `__all__` of each folder lists what the rest of the program uses of it. Between the folders,
files import each other's names straight from the file, and imports run downward.
"""

__all__ = [
    "accept",
    "api",
    "carrier",
    "changes",
    "doubt",
    "groups",
    "queue",
    "read",
    "reports",
    "retention",
    "states",
    "sweeps",
]
