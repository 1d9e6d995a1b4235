"""Makes networks of the tests' own: namespaces of Linux, joined by a bridge that stands in one of
them, with interfaces to take down.

Nothing of the machine's own network is touched; what was made goes with the namespaces. It needs
root.
"""

import ctypes
import os
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.services import ServiceMissing

ADVICE = (
    "network namespaces are needed, for faults of networks: run the tests as root, where they may"
    " be made, with iproute2 installed"
)
PREFIX = "heliograph-test-"
_BRIDGE = "switch"
_PREFIX_LENGTH = 24
_libc = ctypes.CDLL(None, use_errno=True)


def create(name: str) -> None:
    """Makes a namespace whose loopback is up. Raises ServiceMissing."""
    made = _ip("netns", "add", name)
    if made.returncode:
        raise ServiceMissing(f"{ADVICE} ({made.stderr.strip()})")
    do("-n", name, "link", "set", "lo", "up")


def delete(name: str) -> None:
    """Removes a namespace. Its interfaces go with it once no process is left in it."""
    _ip("netns", "delete", name)


def inside(name: str, *command: str) -> list[str]:
    """Returns the command that runs that one in the namespace."""
    return ["ip", "netns", "exec", name, *command]


@contextmanager
def entered(name: str) -> Iterator[None]:
    """Enters the namespace: what this thread opens in the block, and the threads and processes that
    it starts, are in it.
    """
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _enter(Path("/run/netns") / name)
        yield
    finally:
        _set(before)
        os.close(before)


class Network:
    """Holds nodes on one bridge. `addresses` gives the nodes' names and addresses, all of one
    /24.
    """

    def __init__(self, addresses: dict[str, str]) -> None:
        self.addresses = addresses
        self._unique = f"{PREFIX}{os.getpid()}-{secrets.token_hex(2)}"
        self._made: list[str] = []

    def __enter__(self) -> "Network":
        _clear_left_behind()
        try:
            self._make(_BRIDGE)
            do("-n", self.namespace(_BRIDGE), "link", "add", _BRIDGE, "type", "bridge")
            do("-n", self.namespace(_BRIDGE), "link", "set", _BRIDGE, "up")
            for node, address in self.addresses.items():
                self._plug_in(node, address)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for namespace in self._made:
            delete(namespace)

    def namespace(self, node: str) -> str:
        return f"{self._unique}-{node}"

    def inside(self, node: str, *command: str) -> list[str]:
        """Returns the command that runs that one at the node."""
        return inside(self.namespace(node), *command)

    @contextmanager
    def entered(self, node: str) -> Iterator[None]:
        """Does what `entered` does, at a node."""
        with entered(self.namespace(node)):
            yield

    def link_down(self, node: str) -> None:
        """Pulls the node's plug: what is sent to it or by it is lost without a word."""
        do("-n", self.namespace(_BRIDGE), "link", "set", f"port-{node}", "down")

    def link_up(self, node: str) -> None:
        do("-n", self.namespace(_BRIDGE), "link", "set", f"port-{node}", "up")

    def _make(self, node: str) -> None:
        create(self.namespace(node))
        self._made.append(self.namespace(node))

    def _plug_in(self, node: str, address: str) -> None:
        self._make(node)
        here, switch = self.namespace(node), self.namespace(_BRIDGE)
        do(
            "-n",
            here,
            "link",
            "add",
            "eth0",
            "type",
            "veth",
            "peer",
            "name",
            f"port-{node}",
            "netns",
            switch,
        )
        do("-n", here, "address", "add", f"{address}/{_PREFIX_LENGTH}", "dev", "eth0")
        do("-n", here, "link", "set", "eth0", "up")
        do("-n", switch, "link", "set", f"port-{node}", "master", _BRIDGE)
        do("-n", switch, "link", "set", f"port-{node}", "up")


def pids_in(name: str) -> list[int]:
    """Returns the processes in a namespace."""
    return [int(pid) for pid in _ip("netns", "pids", name).stdout.split()]


def _clear_left_behind() -> None:
    """Ends what a run of the tests that was killed has left: its namespaces carry its
    process id, and so do the processes in them.
    """
    for name in re.findall(rf"^{PREFIX}\d+\S*", _ip("netns", "list").stdout, re.MULTILINE):
        if not Path(f"/proc/{name.removeprefix(PREFIX).partition('-')[0]}").exists():
            for pid in pids_in(name):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            delete(name)


def _enter(namespace: Path) -> None:
    wanted = os.open(namespace, os.O_RDONLY)
    try:
        _set(wanted)
    finally:
        os.close(wanted)


def _set(namespace: int) -> None:
    if _libc.setns(namespace, 0x40000000):  # CLONE_NEWNET: this thread alone
        raise OSError(ctypes.get_errno(), "setns")


def _ip(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["ip", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def do(*words: str) -> None:
    """Runs `ip` with these words. It must succeed."""
    done = _ip(*words)
    assert not done.returncode, f"ip {' '.join(words)}: {done.stderr}"
