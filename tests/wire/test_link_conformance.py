"""Every kind of Link passes the same checks (tests/wire/conformance.py)."""

from collections.abc import Awaitable, Callable

import pytest

from heliograph.carriers.link import Inbox, Link
from heliograph.carriers.simulator import SimulatorLink, SimulatorSettings
from heliograph.carriers.smpp import SmppLink
from tests.wire.conformance import CHECKS
from tests.wire.recorder import Recorder
from tests.wire.smsc_peer import STANDARD_RECEIPT, Smsc

# A new kind of Link is one line here: how one is made, from a running SMSC (if it needs that) and the inbox.
KINDS: dict[str, Callable[[Smsc, Inbox], Link]] = {
    "smpp": lambda smsc, inbox: SmppLink(smsc.settings(binds=2, window=20), inbox),
    "smpp, payload": lambda smsc, inbox: SmppLink(smsc.settings(bind="tx+rx", long="payload"), inbox),
    "simulator": lambda _, inbox: SimulatorLink(SimulatorSettings(), inbox),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
async def test_every_kind_of_link(smsc: Smsc, make: Callable[[Smsc, Inbox], Link], check: Callable[[Link, Recorder], Awaitable[None]]) -> None:
    await smsc.behave(receipts=[STANDARD_RECEIPT])
    inbox = Recorder()
    link = inbox.link = make(smsc, inbox)
    try:
        await check(link, inbox)
    finally:
        await link.close(drain_s=0)
