"""Tries to bind to a carrier: it connects, binds, unbinds again, and tells what was answered."""

import asyncio
from dataclasses import replace
from typing import Final

from heliograph.carriers.link import Link, LinkState
from heliograph.carriers.smpp.link import SmppLink
from heliograph.carriers.smpp.settings import SmppSettings

TRIAL_BIND_S: Final = 15.0  # after so long, nobody answers


class _BindObserver:
    """Is an Inbox that waits for one thing: whether the carrier lets us in."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()
        self.state, self.detail = LinkState.CONNECTING, "no answer in time"

    def on_answers(self, answers: object) -> None:
        """Does nothing, because nothing is submitted here."""

    def on_receipts(self, receipts: object) -> None:
        """Leaves receipts unacknowledged: the carrier sends them again to whoever stores them."""

    def on_state(self, state: LinkState, detail: str) -> None:
        self.state, self.detail = state, detail or self.detail
        if state is not LinkState.CONNECTING:
            self.answered.set()


def run_trial_bind(
    connection: SmppSettings, within_s: float = TRIAL_BIND_S
) -> tuple[LinkState, str]:
    """Does what `try_to_bind` does, outside of an event loop, and returns in time even if no name
    server answers. `asyncio.run` waits for the thread that asks it, which nobody can stop; here it
    goes on by itself, until the resolver gives up.
    """
    loop = asyncio.SelectorEventLoop()
    try:
        return loop.run_until_complete(try_to_bind(connection, within_s))
    finally:
        loop.close()


async def try_to_bind(
    connection: SmppSettings, within_s: float = TRIAL_BIND_S
) -> tuple[LinkState, str]:
    """Binds to a carrier and unbinds again, and says what its state became, and why. One bind is
    tried, however many the carrier shall have.
    """
    watch = _BindObserver()
    link: Link = SmppLink(replace(connection, binds=1), watch)
    await link.start()
    try:
        async with asyncio.timeout(within_s):
            await watch.answered.wait()
    except TimeoutError:
        pass  # the state says that it still tries
    finally:
        found = watch.state, watch.detail  # before closing changes it
        await link.close(0)
    return found
