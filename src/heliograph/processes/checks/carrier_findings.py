"""Checks carriers and routes for `heliograph doctor`, and tries a carrier."""

import asyncio
from typing import Final

from heliograph.carriers import (
    Link,
    LinkState,
    SmppSettings,
)
from heliograph.carriers.smpp.link import SmppLink

BIND_TIMEOUT_S: Final = 15.0


class _Watch:
    """Is an Inbox that waits for one thing: whether the carrier lets us in."""

    def __init__(self) -> None:
        self.settled = asyncio.Event()
        self.state, self.detail = LinkState.CONNECTING, "no answer in time"

    def answered(self, answers: object) -> None:
        """Does nothing, because nothing is submitted here."""

    def received(self, receipts: object) -> None:
        """Leaves receipts unacknowledged: the carrier sends them again to whoever stores them."""

    def changed(self, state: LinkState, detail: str) -> None:
        self.state, self.detail = state, detail
        if state is not LinkState.CONNECTING:
            self.settled.set()


async def try_to_bind(connection: SmppSettings) -> tuple[LinkState, str]:
    """Binds to a carrier and unbinds again, and says what its state became, and why."""
    watch = _Watch()
    link: Link = SmppLink(connection, watch)
    await link.start()
    try:
        async with asyncio.timeout(BIND_TIMEOUT_S):
            await watch.settled.wait()
    except TimeoutError:
        pass  # the state says that it still tries
    finally:
        found = watch.state, watch.detail  # before closing changes it
        await link.close(0)
    return found
