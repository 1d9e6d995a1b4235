"""Measures how slow this machine is at this moment. Others use its processors too, and the same
program then needs up to twice the processor time.
"""

import struct
import time
from typing import Final

# of `_work`, on the machine for which limits of processor time are written
REFERENCE_S: Final = 0.06
_ROUNDS: Final = 200_000
_HEAD: Final = struct.Struct(">IIII")


def slowness() -> float:
    """Returns how much more processor time than on the machine of reference is needed now; 1.0 is
    the least. It takes about a second, and is asked before and after what is measured.
    """
    return max(1.0, min(_work_s() for _ in range(8)) / REFERENCE_S)


def _work_s() -> float:
    before_s = time.process_time()
    _work()
    return time.process_time() - before_s


def _work() -> None:
    """Does what a program that talks SMPP does most: packs, unpacks, and looks up."""
    kept: dict[int, tuple[int, ...]] = {}
    for number in range(_ROUNDS):
        length, command, status, sequence = _HEAD.unpack(_HEAD.pack(number, 1, 2, 3))
        kept[length % 1_000] = command, status, sequence
