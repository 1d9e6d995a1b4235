"""Parses a PostgreSQL `DATABASE_URL`: its hosts, and which of them is wanted.

The form is libpq's,
`postgresql://USER:PASSWORD@HOST1:PORT1,HOST2:PORT2/NAME?target_session_attrs=read-write`
(PostgreSQL manual, section 34.1.1.2).
"""

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

# each is asked by a thread of its own when the one that was written to is gone
HOSTS_MAX: Final = 8
FORM: Final = "postgresql://USER:PASSWORD@HOST:PORT/NAME"
PORTS: Final = (1, 65_535)
# the others of libpq would lead to a host that cannot be written to
WANTED: Final = ("any", "primary", "read-write")
# Both drivers know these; and `target_session_attrs`, which is judged here.
DRIVER_OPTIONS: Final = frozenset(
    {"host", "port", "user", "password", "sslmode", "sslrootcert", "sslcert", "sslkey"}
)
OPTIONS: Final = DRIVER_OPTIONS | {"target_session_attrs"}
DEFAULT_PORT: Final = "5432"

_URL: Final = re.compile(
    r"(?:postgresql|postgres)://(?:(?P<who>[^/?#]*)@)?(?P<hosts>[^/?#@]*)"
    r"(?:/(?P<name>[^?#]*))?(?:\?(?P<options>[^#]*))?"
)
_HOST: Final = re.compile(
    r"(?P<name>\[[0-9A-Fa-f:.]+(?:%25\w+)?\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?", re.ASCII
)


class WrongUrl(ValueError):
    """`DATABASE_URL` is wrong. Neither text holds a password."""

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(f"found {found}; allowed: {allowed}")
        self.found = found
        self.allowed = allowed


class Host(NamedTuple):
    """Holds one host as it is shown, and the URL that leads to it alone. Both drivers can read the
    URL.
    """

    label: str
    url: str


class DatabaseUrl(NamedTuple):
    hosts: tuple[Host, ...]
    wanted: str  # one of WANTED


class _Address(NamedTuple):
    name: str
    port: str


def parse(url: str) -> DatabaseUrl:
    """Returns the hosts in their order. Raises WrongUrl."""
    parts = _URL.fullmatch(url)
    if parts is None:
        raise WrongUrl("a value that is not a PostgreSQL URL", FORM)
    options = _options(parts["options"] or "")
    if not parts["name"]:
        raise WrongUrl("no database name", FORM)
    who = f"{parts['who']}@" if parts["who"] is not None else ""
    addresses = _addresses(parts["hosts"], options.pop("host", ""), options.pop("port", ""))
    wanted = options.pop("target_session_attrs", "any" if len(addresses) == 1 else "read-write")
    if wanted not in WANTED:
        raise WrongUrl(f"target_session_attrs={wanted}", ", ".join(WANTED))
    if len(addresses) > HOSTS_MAX:
        raise WrongUrl(f"{len(addresses)} hosts", f"at most {HOSTS_MAX}")
    return DatabaseUrl(
        tuple(_host(who, address, parts["name"], options) for address in addresses), wanted
    )


def _options(text: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))
    except ValueError as error:  # its text may hold a password
        raise WrongUrl("options that are not NAME=VALUE", FORM) from error
    if unknown := sorted({name for name, _ in pairs} - OPTIONS):
        raise WrongUrl(f"the option {unknown[0]}", f"the options {', '.join(sorted(OPTIONS))}")
    several = [name for name, _ in pairs if name in ("host", "port")]
    # `host=h1&host=h2` is `host=h1,h2`
    together = {name: ",".join(value for each, value in pairs if each == name) for name in several}
    return dict(pairs) | together


def _addresses(in_authority: str, in_options: str, ports: str) -> list[_Address]:
    """Returns the hosts and ports. The options fill in what does not stand in the authority, as in
    libpq.
    """
    hosts = (in_authority or in_options).split(",")
    more = ports.split(",") if ports else [""]
    if len(more) not in (1, len(hosts)):
        raise WrongUrl(
            f"{len(more)} ports for {len(hosts)} hosts", "one port, or one for each host"
        )
    addresses = [
        _address(host, port)
        for host, port in zip(hosts, more * len(hosts) if len(more) == 1 else more, strict=True)
    ]
    if len(addresses) > 1 and not all(address.name for address in addresses):
        raise WrongUrl(
            "several hosts, one of them without a name",
            FORM.replace("HOST:PORT", "HOST1:PORT1,HOST2:PORT2"),
        )
    return addresses


def _address(text: str, port: str) -> _Address:
    if text.startswith(("/", "%2F", "%2f")):  # the directory of a Unix socket
        found_name, found_port = text, port
    else:
        found = _HOST.fullmatch(text)
        if found is None:
            raise WrongUrl("a value that is not a PostgreSQL URL", FORM)
        found_name, found_port = found["name"], found["port"] or port
    if found_port and not (
        found_port.isascii() and found_port.isdigit() and PORTS[0] <= int(found_port) <= PORTS[1]
    ):
        raise WrongUrl(f"the port {found_port[:12]}", f"{PORTS[0]} to {PORTS[1]}")
    return _Address(found_name, found_port)


def _host(who: str, address: _Address, name: str, options: dict[str, str]) -> Host:
    if address.name.startswith("/"):
        options = (
            options | {"host": address.name} | ({"port": address.port} if address.port else {})
        )
        authority = ""
    else:
        authority = address.name + (f":{address.port}" if address.port else "")
    query = f"?{urlencode(options, quote_via=quote)}" if options else ""
    label = f"{address.name}:{address.port or DEFAULT_PORT}" if address.name else "the default host"
    return Host(label, f"postgresql://{who}{authority}/{name}{query}")


def without_password(url: str) -> str:
    """Returns what may be shown of `DATABASE_URL`: user, hosts and name, or the file of SQLite."""
    parts = _URL.fullmatch(url)
    if parts is None:
        return url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else "DATABASE_URL"
    user = f"{parts['who'].split(':')[0]}@" if parts["who"] else ""
    return f"postgresql://{user}{parts['hosts']}/{parts['name'] or ''}"
