"""Runs a mail server that others wrote, and reads what the portal has sent to it."""

import email
import email.message
import re
from collections.abc import Iterator
from contextlib import contextmanager
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller

from tests.support.services import free_port

LINK = re.compile(r"https?://[^/\s]+(/portal/(?:sign-in|sign-up|invitation)/[\w-]+)")


class Mailbox:
    """Keeps what it took, as a mail server does. With `is_out` it takes nothing."""

    def __init__(self) -> None:
        self.got: list[email.message.EmailMessage] = []
        self.is_out = False
        self.port = free_port()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        if self.is_out:
            return "451 Try again later"
        message = email.message_from_bytes(envelope.original_content, policy=default)
        assert isinstance(message, email.message.EmailMessage)
        assert envelope.rcpt_tos == [message["To"]]
        self.got.append(message)
        return "250 OK"

    def link(self) -> str:
        """Returns the path of the link in the newest mail."""
        found = LINK.search(self.got[-1].get_content())
        assert found is not None
        return found[1]


@contextmanager
def taking_mail() -> Iterator[Mailbox]:
    """Runs a mail server on this machine, in a thread of its own."""
    box = Mailbox()
    controller = Controller(box, hostname="127.0.0.1", port=box.port)
    controller.start()
    try:
        yield box
    finally:
        controller.stop()
