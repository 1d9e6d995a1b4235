"""Hands a mail to the server that HELIOGRAPH_SMTP_URL names, or shows it on the terminal."""

import secrets
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from heliograph.base import clock
from heliograph.base.addresses import MailServer, mail_server
from heliograph.base.settings import Settings

MAIL_TIMEOUT_S: Final = 20.0
DEVELOPMENT_URL: Final = "http://127.0.0.1:8080"
Deliver: TypeAlias = Callable[[EmailMessage], Awaitable[None]]


def deliver_by(settings: Settings) -> Deliver | None:
    """Returns what delivers mail, or None where the settings name no mail server."""
    if settings.smtp_url is None:
        return None
    server = mail_server(settings.smtp_url)
    return show_on_terminal if server is None else to_server(server)


def base_url_of(settings: Settings) -> str:
    """Returns the address of this service, as links in mail have it."""
    return settings.base_url or DEVELOPMENT_URL


def sender_of(settings: Settings) -> str:
    """Returns the address that mail comes from."""
    return settings.mail_from or f"heliograph@{urlsplit(base_url_of(settings)).hostname}"


async def show_on_terminal(message: EmailMessage) -> None:
    """Writes a mail to the standard output, for development."""
    sys.stdout.write(
        f"\nMail to {message['To']}: {message['Subject']}\n\n{message.get_content()}\n"
    )
    sys.stdout.flush()


def to_server(server: MailServer) -> Deliver:
    """Returns what hands a mail to a server, and raises what the server or the network refuses."""

    async def deliver(message: EmailMessage) -> None:
        import aiosmtplib  # it is not needed where no mail is sent

        _add_what_servers_ask_for(message)
        await aiosmtplib.send(
            message,
            hostname=server.host,
            port=server.port,
            username=server.user,
            password=server.password,
            use_tls=server.is_tls_first,
            timeout=MAIL_TIMEOUT_S,
        )

    return deliver


def _add_what_servers_ask_for(message: EmailMessage) -> None:
    """Adds the date, without which no mail is one (RFC 5322, 3.6), and an id, without which large
    providers refuse it. What a mail has already stays: an id that is the same at each try tells
    that it came twice.
    """
    if "Date" not in message:
        message["Date"] = format_datetime(datetime.fromtimestamp(clock.now_ms() // 1_000, UTC))
    if "Message-ID" not in message:
        host = str(message["From"]).partition("@")[2].rstrip(">")
        message["Message-ID"] = f"<{secrets.token_hex(16)}@{host}>"
