"""Parses HELIOGRAPH_SMTP_URL, which says how mail is sent."""

from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

FORM: Final = "smtp://[USER:PASSWORD@]HOST[:PORT], smtps://…, or terminal:"
TERMINAL: Final = "terminal:"  # for development: mail is shown on the terminal
DEFAULT_PORTS: Final = {"smtp": 587, "smtps": 465}  # RFC 6409, RFC 8314


class MailServer(NamedTuple):
    """Says which server takes mail. Over `smtp`, TLS begins if the server offers it (RFC 3207).
    Over `smtps` it comes first.
    """

    host: str
    port: int
    user: str | None
    password: str | None
    is_tls_first: bool


def parse(url: str) -> MailServer | None:
    """Returns the server; None: mail is shown on the terminal. Raises ValueError."""
    if url == TERMINAL:
        return None
    parts = urlsplit(url)
    port = parts.port  # raises ValueError for what is none
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError("no URL of a mail server")
    if parts.query or parts.fragment or (parts.username and not parts.password):
        raise ValueError("no URL of a mail server")
    return MailServer(
        parts.hostname,
        port or DEFAULT_PORTS[parts.scheme],
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
        is_tls_first=parts.scheme == "smtps",
    )
