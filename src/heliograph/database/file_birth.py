"""Reads when a file was made. This is the only time of a file that neither its owner nor a program
that restores it can set.
"""

import ctypes
import os
import struct
from pathlib import Path
from typing import Final

_HERE: Final = -100  # AT_FDCWD
_BIRTH: Final = 0x800  # STATX_BTIME
# of struct statx (Linux, statx(2)): what was found first, the birth's seconds and nanoseconds at 80
_OCTETS: Final = 256
_FOUND_AT: Final = 0
_BIRTH_AT: Final = 80


def birth_ns(path: Path) -> int | None:
    """Returns when the file was made, in nanoseconds of Unix time. It stays when the file is
    written, renamed, or given to another owner; a copy has another one, however it was made. It
    returns None if the system or the file system does not know it, or if there is no such file.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    if (born_s := getattr(found, "st_birthtime", None)) is not None:  # macOS
        return int(born_s * 1_000_000_000)
    return _statx_birth_ns(path)


def _statx_birth_ns(path: Path) -> int | None:
    """Asks Linux for the birth of a file, because Python has no call for it there."""
    try:
        statx = ctypes.CDLL(None).statx
    except (AttributeError, OSError, TypeError):
        return None
    answer = ctypes.create_string_buffer(_OCTETS)
    if statx(_HERE, ctypes.c_char_p(os.fsencode(path)), 0, ctypes.c_uint(_BIRTH), answer):
        return None
    if not struct.unpack_from("I", answer, _FOUND_AT)[0] & _BIRTH:
        return None
    seconds, nanoseconds = struct.unpack_from("qI", answer, _BIRTH_AT)
    return int(seconds) * 1_000_000_000 + int(nanoseconds) or None
