"""Network namespaces for the tests: a network of a test's own, whose cable can be pulled. They need root, and `ip` of iproute2."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from tests.services import ServiceMissing

ADVICE: Final = ("network namespaces are needed, for cuts of the network: run as root, with iproute2 installed "
                 "(Debian, Ubuntu: sudo apt-get install iproute2)")
PREFIX: Final = "hgt"  # of all names that the tests make; the name of an interface has 15 characters at most


class Cable(NamedTuple):
    """A namespace and the one link that it has: the machine is `outside`, what runs in the namespace is `inside`."""

    namespace: str
    outside: str
    inside: str


def find_ip() -> str | None:
    """Where `ip` is, if namespaces can be made with it."""
    return shutil.which("ip") if os.geteuid() == 0 else None


@contextmanager
def cable(number: int) -> Iterator[Cable]:
    """A namespace of this process's own, joined to the machine by a pair of interfaces with addresses of 10.203.0.0/16 (`number`: which, 0 to 255);
    gone at the end, whatever happens. Raises ServiceMissing."""
    made = Cable(f"{PREFIX}{os.getpid()}n{number}", f"10.203.{number}.1", f"10.203.{number}.2")
    create(made.namespace)
    try:
        join(made)
        yield made
    finally:
        delete(made.namespace)  # its interface goes with it, and takes the other end along


def create(namespace: str) -> None:
    if find_ip() is None:
        raise ServiceMissing(ADVICE)
    _ip("netns", "add", namespace)
    _ip("-n", namespace, "link", "set", "lo", "up")


def delete(namespace: str) -> None:
    _ip("netns", "delete", namespace)


def join(made: Cable) -> None:
    """Lays the cable between the namespace and the machine, and switches both ends on."""
    end = _end_of(made)
    _ip("link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", made.namespace)
    _ip("addr", "add", f"{made.outside}/24", "dev", end)
    _ip("link", "set", end, "up")
    _ip("-n", made.namespace, "addr", "add", f"{made.inside}/24", "dev", "eth0")
    up(made)


def down(made: Cable) -> None:
    """The interface in the namespace goes down: packets get nowhere, and to whoever connects the network is unreachable at once."""
    _ip("-n", made.namespace, "link", "set", "eth0", "down")


def up(made: Cable) -> None:
    _ip("-n", made.namespace, "link", "set", "eth0", "up")


def within(made: Cable) -> tuple[str, ...]:
    """What stands before a command that is to run in the namespace."""
    return ("ip", "netns", "exec", made.namespace)


def _end_of(made: Cable) -> str:
    return made.namespace[-15:]


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServiceMissing(f"ip {' '.join(arguments)} failed: {done.stderr.strip()}. {ADVICE}")
