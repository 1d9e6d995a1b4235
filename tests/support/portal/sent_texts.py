"""Sends texts, so that pages have messages to show."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from heliograph.base import ids
from tests.support.api.service import Loop
from tests.support.capability.sending import House
from tests.support.factories import PHONE

SendText: TypeAlias = Callable[..., str]


def sender_of(house: House, run_loop: Loop) -> SendText:
    """Returns a function that sends a text, and returns the id of its first message."""

    def send(to: str | Sequence[str] = PHONE, text: str = "hello", **more: Any) -> str:
        accepted = run_loop(house.send(to, text, **more)).send
        return ids.text_of_number("msg", int(accepted.id, 16) + 1)

    return send
