"""Finds the address of a request's client, also behind proxies (HELIOGRAPH_TRUSTED_PROXIES)."""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from heliograph.api.bodies import Scope

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

FORWARDED: Final = (b"x-forwarded-for", b"forwarded")
# some proxies add it
_WITH_PORT: Final = re.compile(r"\[([0-9a-fA-F:.]+)\](?::[0-9]+)?|([0-9.]+):[0-9]+")
_HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::[0-9]*)?")


class Proxies:
    """Holds the operator's own proxies, as addresses and networks. What they say of a client is
    believed, and what others say is not.
    """

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(network) for network in networks]

    def client_of(self, scope: Scope) -> Address | None:
        """Returns the peer. If that is a proxy of ours, it returns the last address of
        X-Forwarded-For that is not a proxy of ours: anybody may have written those before it.

        It returns None when a proxy does not say, or says what is not an address.
        """
        peer = _address(scope["client"][0]) if scope.get("client") else None
        if peer is None or not self._ours(peer):
            return peer
        forwarded_for = b",".join(
            value for name, value in scope["headers"] if name == b"x-forwarded-for"
        ).decode("latin-1")
        for entry in reversed(forwarded_for.split(",")):
            address = _address(entry.strip())
            if address is None or not self._ours(address):
                return address
        return None

    def is_local(self, scope: Scope) -> bool:
        """Returns whether a client on this machine asks. A request that an unknown proxy has passed
        on does not count as such.
        """
        client, peer = (
            self.client_of(scope),
            _address(scope["client"][0]) if scope.get("client") else None,
        )
        passed_on = any(name in FORWARDED for name, _ in scope["headers"])
        return client is not None and client.is_loopback and (client != peer or not passed_on)

    def is_ours(self, host: str) -> bool:
        """Returns whether this is the address of one of the operator's proxies."""
        address = _address(host)
        return address is not None and self._ours(address)

    def _ours(self, address: Address) -> bool:
        return any(address in network for network in self._networks)


def host_of(scope: Scope) -> str:
    """Returns the request's Host; it is empty if the request has several of them, or none."""
    found = [value for name, value in scope["headers"] if name == b"host"]
    return found[0].decode("latin-1") if len(found) == 1 else ""


def names_this_machine(host: str) -> bool:
    """Returns whether this Host (RFC 9110, 7.2) is a loopback address or `localhost`. Any page
    can make a browser here ask a loopback address under the page's own name (DNS rebinding), and
    a proxy mostly passes on the name that it was asked for.
    """
    name = (_HOST.fullmatch(host) or ("", ""))[1]
    if name.lower() in ("localhost", "localhost."):
        return True
    address = _address(name.strip("[]"))
    return address is not None and address.is_loopback


def _address(text: str) -> Address | None:
    found = _WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address((found[1] or found[2]) if found else text)
    except ValueError:
        return None
    # as a socket of both families names IPv4 peers
    return getattr(address, "ipv4_mapped", None) or address
