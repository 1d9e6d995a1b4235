"""Tells how many files and connections this process may open, and raises that limit."""

import errno
import resource
import socket
from typing import Final

# more serve nobody here, and there are systems that allow a thousand million
FILES_MAX: Final = 65_536
# what this machine lacks, when a socket cannot be made
EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def raise_limit() -> None:
    """Raises the limit to what the system allows this process at most. Shells and service
    managers begin with 1,024, for programs of other times.
    """
    soft, hard = (_open_count(limit) for limit in resource.getrlimit(resource.RLIMIT_NOFILE))
    if soft < min(hard, FILES_MAX):
        resource.setrlimit(
            resource.RLIMIT_NOFILE,
            (min(hard, FILES_MAX), resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        )


def limit() -> int:
    """Returns how many files may be open, FILES_MAX at most."""
    return min(FILES_MAX, _open_count(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def has_room() -> bool:
    """Returns whether one more can be opened now."""
    try:
        socket.socket().close()
    except OSError:
        return False
    return True


def _open_count(limit: int) -> int:
    return FILES_MAX if limit == resource.RLIM_INFINITY else limit
