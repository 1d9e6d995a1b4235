"""Sends messages: each is accepted, paid once, handed to a carrier, and followed until its delivery
is known.

Each room of it hands out its own names.
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
