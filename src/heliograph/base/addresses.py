"""Reads addresses as they are written in settings: those to listen on (`127.0.0.1:9100`,
`[::1]:9100`, `localhost:9100`), origins of web pages, and mail servers. It also tells whose a
client's address is.
"""

import ipaddress
import re
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

PORT_MAX: Final = 65_535
NETWORK_OCTETS: Final = 8  # a /64: whoever has one IPv6 address mostly has all of its network
_FORM: Final = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:\[\]]+)):([0-9]{1,5})", re.ASCII)

WEB_ORIGINS: Final = (
    "origins as browsers send them, such as https://app.example.org or http://localhost:5173 (http"
    " or https, a host in lower case, a port unless it is the usual one; no path, no *)"
)
MAIL_SERVERS: Final = "smtp://[USER:PASSWORD@]HOST[:PORT], smtps://…, or terminal:"
TERMINAL: Final = "terminal:"  # for development: mail is shown on the terminal
_MAIL_PORTS: Final = {"smtp": 587, "smtps": 465}  # RFC 6409, RFC 8314
_LABEL: Final = "[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
_ORIGIN: Final = re.compile(
    rf"(https?)://({_LABEL}(?:\.{_LABEL})*|\[[0-9a-f:.]+\])(?::([1-9][0-9]{{0,4}}))?", re.ASCII
)
_USUAL_PORTS: Final = {"http": 80, "https": 443}


class ListenAddress(NamedTuple):
    """Holds an address to listen on: `host` is an address or a name of this machine."""

    host: str
    port: int


def listen_address(text: str) -> ListenAddress:
    """Reads an address to listen on, such as 127.0.0.1:8080. Raises ValueError for other texts."""
    found = _FORM.fullmatch(text)
    if found is None or not 0 < int(found[3]) <= PORT_MAX:
        raise ValueError(text)
    return ListenAddress(found[1] or found[2], int(found[3]))


def web_origin(text: str) -> str:
    """Returns an origin in the one form in which browsers send it (RFC 6454, 6.2), so that octets
    can be compared. Raises ValueError when it has another.
    """
    found = _ORIGIN.fullmatch(text)
    if found is None:
        raise ValueError(text)
    scheme, host, port = found[1], found[2], int(found[3] or 0)
    if port > PORT_MAX or port == _USUAL_PORTS[scheme]:
        raise ValueError(text)
    if host.startswith("["):
        ipaddress.IPv6Address(host[1:-1])
    return text


def network_of(host: str) -> str:
    """Returns what counts as one client: the /64 of an IPv6 address, and the whole of an IPv4
    address, also where it is written in IPv6 (`::ffff:192.0.2.1`).
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return host
    return str(address.ipv4_mapped or address.packed[:NETWORK_OCTETS].hex())


class MailServer(NamedTuple):
    """Says which server takes mail. Over `smtp`, TLS begins if the server offers it (RFC 3207).
    Over `smtps` it comes first.
    """

    host: str
    port: int
    user: str | None
    password: str | None
    is_tls_first: bool


def mail_server(url: str) -> MailServer | None:
    """Returns the server, or None if mail is shown on the terminal. Raises ValueError."""
    if url == TERMINAL:
        return None
    parts = urlsplit(url)
    port = parts.port  # raises ValueError if it is not valid
    if parts.scheme not in _MAIL_PORTS or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError("not the URL of a mail server")
    if parts.query or parts.fragment or (parts.username and not parts.password):
        raise ValueError("not the URL of a mail server")
    return MailServer(
        parts.hostname,
        port or _MAIL_PORTS[parts.scheme],
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
        is_tls_first=parts.scheme == "smtps",
    )


def without_query(url: str) -> str:
    """Returns a URL with `?…` in place of its query, which may hold a secret of its owner."""
    before, mark, _ = url.partition("?")
    return f"{before}{mark}…" if mark else url
