"""Says how handsets write while a server is killed: how often, and in which PDUs."""

import os

ROUNDS = int(os.environ.get("HELIOGRAPH_TEST_CRASH_ROUNDS", "3"))
SHORT_CODE = b"4567"
PAUSE_S = 0.002  # of the carrier after a text: the load is steady, and no wait for anything
TAKEN_WITHIN_S = 30.0


def deliver_sm(sender: str, octets: bytes, esm_class: int = 0) -> bytes:
    return (
        b"\0\1\1"
        + sender.encode()
        + b"\0\0\0"
        + SHORT_CODE
        + b"\0"
        + bytes((esm_class, 0, 0, 0, 0, 0, 0, 0, 0, len(octets)))
        + octets
    )
