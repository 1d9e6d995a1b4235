"""Lays one cable between the machine and a namespace of a test's own, which can be pulled. It needs
root, and `ip` of iproute2.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.support.services import ServiceMissing, network

ADVICE = network.ADVICE
# of all names that are made here: the name of an interface has 15 characters at most
PREFIX = "hgt"


class Cable(NamedTuple):
    """Holds a namespace and the one link that it has: the machine is `outside`, what runs in the
    namespace is `inside`.
    """

    namespace: str
    outside: str
    inside: str


def find_ip() -> str | None:
    """Returns where `ip` is, if namespaces can be made with it."""
    return shutil.which("ip") if os.geteuid() == 0 else None


@contextmanager
def cable(number: int) -> Iterator[Cable]:
    """Makes a namespace that is joined to the machine by a pair of interfaces with addresses of
    10.203.0.0/16, of which `number` chooses one pair (0 to 255). It is gone at the end, whatever
    happens. Raises ServiceMissing.
    """
    if find_ip() is None:
        raise ServiceMissing(ADVICE)
    made = Cable(f"{PREFIX}{os.getpid()}n{number}", f"10.203.{number}.1", f"10.203.{number}.2")
    network.create(made.namespace)
    try:
        _join(made)
        yield made
    finally:
        network.delete(made.namespace)  # its interface goes with it, and takes the other end along


def down(made: Cable) -> None:
    """Takes the interface in the namespace down: packets get nowhere, and to whoever connects the
    network is unreachable at once.
    """
    network.do("-n", made.namespace, "link", "set", "eth0", "down")


def up(made: Cable) -> None:
    """Takes the interface up again."""
    network.do("-n", made.namespace, "link", "set", "eth0", "up")


def within(made: Cable) -> tuple[str, ...]:
    """Returns what stands before a command that is to run in the namespace."""
    return tuple(network.inside(made.namespace))


def _join(made: Cable) -> None:
    end = made.namespace[-15:]
    network.do("link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", made.namespace)
    network.do("addr", "add", f"{made.outside}/24", "dev", end)
    network.do("link", "set", end, "up")
    network.do("-n", made.namespace, "addr", "add", f"{made.inside}/24", "dev", "eth0")
    up(made)
