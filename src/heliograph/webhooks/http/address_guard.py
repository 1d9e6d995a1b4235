"""Decides where webhooks may go: it judges URLs as customers give them, and the address of every
connection at the moment it is made (docs/webhooks.md, "Which addresses").

The list is our own. `ipaddress.is_global` is True for some addresses that lead inside: of NAT64,
6to4, and mapped ones. It says nothing of the services of clouds that tell secrets to whoever asks
from within. The sources are IANA's special-purpose registries (RFC 6890), and the clouds' manuals.
"""

import re
import socket
from dataclasses import dataclass
from ipaddress import (
    AddressValueError,
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Any, Final, NamedTuple

from heliograph.base.settings import SettingError, Settings
from heliograph.base.short_texts import invalid_field

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]  # as socket.getaddrinfo returns it

URL_MAX: Final = 2_048  # characters; what servers commonly take
HOST_MAX: Final = 253  # characters of a name (RFC 1035)
HTTPS_PORT: Final = 443
UNPRIVILEGED_PORTS: Final = range(1_024, 65_536)  # those below belong to other protocols: SSH, SMTP
FIELD: Final = "url"

_URL: Final = re.compile(
    r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?"
    r"(?:[/?][!$&'()*+,;=:@/?%A-Za-z0-9._~-]*)?",
    re.ASCII,
)
_LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)
# a last label like this is part of an address to any resolver
_NUMERIC: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*", re.ASCII)
_LOOPBACK: Final = "loopback"


class _ClosedNetwork(NamedTuple):
    network: Network
    kind: str
    openable: bool  # the operator may let webhooks into it


def _closed(kind: str, *networks: str, openable: bool = False) -> list[_ClosedNetwork]:
    return [_ClosedNetwork(ip_network(network), kind, openable) for network in networks]


_CLOSED: Final = (
    *_closed(
        "a cloud's metadata service",
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "169.254.42.42",
        "100.100.100.200",
        "168.63.129.16",
        "100.96.0.96",
        "192.0.0.192",
        "fd00:ec2::/32",
        "fd20:ce::/32",
        "fd00:42::42",
        "fd00:c1::a9fe:a9fe",
        "fd00:a9fe:a9fe::1",
        "fd00:100::100:200",
    ),
    *_closed("unspecified", "0.0.0.0/8", "::"),
    *_closed(_LOOPBACK, "127.0.0.0/8", "::1"),  # opened by a setting of its own
    *_closed("link-local", "169.254.0.0/16", "fe80::/10"),  # metadata services live there
    *_closed("multicast", "224.0.0.0/4", "ff00::/8"),
    *_closed("broadcast", "255.255.255.255"),
    # Each of these stands for an IPv4 address that whoever translates it will connect to.
    *_closed("IPv4-mapped", "::ffff:0:0/96", "::ffff:0:0:0/96"),
    *_closed("IPv4-compatible", "::/96"),
    *_closed("NAT64", "64:ff9b::/96", "64:ff9b:1::/48"),
    *_closed("6to4", "2002::/16", "192.88.99.0/24"),
    *_closed("Teredo", "2001::/32"),
    # unique local, site-local
    *_closed(
        "private",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "fc00::/7",
        "fec0::/10",
        openable=True,
    ),
    *_closed("shared by a provider's customers (CGNAT)", "100.64.0.0/10", openable=True),
    *_closed(
        "documentation",
        "192.0.2.0/24",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "2001:db8::/32",
        "3fff::/20",
        openable=True,
    ),
    *_closed("benchmarking", "198.18.0.0/15", "2001:2::/48", openable=True),
    *_closed("reserved", "192.0.0.0/24", "240.0.0.0/4", openable=True),
    *_closed("discard-only", "100::/64", "100:0:0:1::/64"),
    *_closed("ORCHID", "2001:10::/28", "2001:20::/28"),
    *_closed("reserved", "2001::/23", "3ffe::/16"),
    # What is left of IPv6 outside of 2000::/3 is given to nobody yet.
    *_closed("reserved", "::/3", "4000::/2", "8000::/1"),
)
_CLOSED_OF: Final = {
    version: tuple(closed for closed in _CLOSED if closed.network.version == version)
    for version in (4, 6)
}


@dataclass(frozen=True, slots=True)
class AllowedNetworks:
    """Says what webhooks may reach beside the public internet, as the operator set it."""

    networks: tuple[Network, ...] = ()
    loopback: bool = False  # for development: any port, http:// too
    ca_file: str | None = None  # PEM; authorities beside the system's


CLOSED: Final = AllowedNetworks()


def _is_within(inner: Network, outer: Network) -> bool:
    """Returns whether all of a network is in another one, which may be of the other version."""
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)


def allowed_networks(settings: Settings) -> AllowedNetworks:
    """Returns which closed networks the settings open for webhooks. Raises SettingError for a
    network that is never opened.
    """
    networks = tuple(ip_network(text) for text in settings.webhooks_allow_networks)
    for network in networks:
        kinds = _CLOSED_OF[network.version]
        closed = next((kind for kind in kinds if _is_within(network, kind.network)), None)
        if closed is not None and not closed.openable:
            raise SettingError(
                "HELIOGRAPH_WEBHOOKS_ALLOW_NETWORKS",
                f"{network} ({closed.kind})",
                "private networks; loopback is opened by HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK, and"
                " nothing opens the rest",
            )
    return AllowedNetworks(networks, settings.webhooks_allow_loopback, settings.webhooks_ca_file)


def judge(address: Address, allow: AllowedNetworks = CLOSED) -> str | None:
    """Returns why nothing may be sent to an address, as a kind of address, or None when
    something may.
    """
    closed = next(
        (closed for closed in _CLOSED_OF[address.version] if address in closed.network), None
    )
    if closed is None:
        return None
    if (allow.loopback and closed.kind == _LOOPBACK) or (
        closed.openable and any(address in network for network in allow.networks)
    ):
        return None
    return closed.kind


def check_url(url: str, allow: AllowedNetworks = CLOSED) -> None:
    """Checks whether a webhook may be sent to this URL, as far as it can be told without asking a
    name server. Raises InvalidRequest.

    It must be written in the one form that every reader of URLs reads alike. What a name leads to
    is judged when connecting.
    """
    if len(url) > URL_MAX:
        raise invalid_field(FIELD, f"must have at most {URL_MAX} characters, not {len(url)}")
    if not (url.isascii() and url.isprintable()) or " " in url:
        raise invalid_field(
            FIELD,
            "must be printable ASCII without spaces: write international names as xn--…, other"
            " characters as %XX",
        )
    scheme, _, rest = url.partition("://")
    if "#" in url:
        raise invalid_field(FIELD, "must have no fragment (#…), which is never sent")
    if "@" in re.split("[/?]", rest, maxsplit=1)[0]:
        raise invalid_field(
            FIELD, "must have no credentials: the signature is what proves who calls"
        )
    match = _URL.fullmatch(url)
    if match is None:
        raise invalid_field(
            FIELD,
            "must be written https://HOST[:PORT]/PATH[?QUERY], with any other character as %XX",
        )
    host = match[2]
    local = _run_probe(host, allow)
    if scheme != "https" and not (local and allow.loopback):
        raise invalid_field(FIELD, "must begin with https://")
    port = int(match[3] or (HTTPS_PORT if scheme == "https" else 80))
    if (
        port not in UNPRIVILEGED_PORTS
        and port != HTTPS_PORT
        and not (local and 0 < port < UNPRIVILEGED_PORTS.stop)
    ):
        raise invalid_field(
            FIELD,
            f"must have port {HTTPS_PORT} or {UNPRIVILEGED_PORTS.start}..{UNPRIVILEGED_PORTS[-1]},"
            f" not {port}",
        )


def _run_probe(host: str, allow: AllowedNetworks) -> bool:
    """Returns whether a host is this machine's own loopback. Raises InvalidRequest."""
    address = _literal(host)
    if address is not None:
        kind = judge(address, allow)
        if kind is not None:
            raise invalid_field(FIELD, f"must lead to a public address; {host} is {kind}")
        return address.is_loopback
    labels = host.split(".")
    if len(host) > HOST_MAX or not all(_LABEL.fullmatch(label) for label in labels):
        raise invalid_field(
            FIELD,
            "must name a host: labels of letters, digits and inner hyphens, with single dots"
            " between them",
        )
    if labels[-1].lower() == "localhost" and not allow.loopback:
        raise invalid_field(FIELD, f"must lead to a public address; {host} is {_LOOPBACK}")
    return host.lower() == "localhost"


def _literal(host: str) -> Address | None:
    """Returns the address that a host is written as, or None if it is a name. Raises
    InvalidRequest.
    """
    if not host.startswith("[") and not _NUMERIC.fullmatch(host.rsplit(".", 1)[-1]):
        return None
    try:
        return IPv6Address(host[1:-1]) if host.startswith("[") else IPv4Address(host)
    except AddressValueError:
        raise invalid_field(
            FIELD,
            "must have an address as four decimal numbers (192.0.2.1) or in brackets"
            " ([2001:db8::1])",
        ) from None


class AddressRefused(OSError):
    """The address that was about to be connected to is not outside."""

    def __init__(self) -> None:
        # the same for all of a name's addresses, and it tells nothing of our networks
        super().__init__("the address is not public")


def guarded_socket(info: AddressInfo, allow: AllowedNetworks) -> socket.socket:
    """Returns the socket that will be connected to `info`'s address. Raises AddressRefused."""
    family, kind, protocol, _, where = info
    if (
        family not in (socket.AF_INET, socket.AF_INET6)
        or judge(ip_address(where[0]), allow) is not None
    ):
        raise AddressRefused
    return socket.socket(family, kind, protocol)
