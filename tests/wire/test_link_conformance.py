"""Every kind of Link passes the same checks (tests/support/wire/conformance.py)."""

import os
from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple

import pytest

from heliograph.carriers.link import Inbox, Link
from heliograph.carriers.simulator import SimulatorLink, SimulatorSettings
from heliograph.carriers.smpp.link import SmppLink
from tests.support.wire.conformance import CHECKS
from tests.support.wire.recorder import Recorder
from tests.support.wire.smsc_peer import STANDARD_RECEIPT, Smsc
from tests.support.wire.smsc_process import SmscProcess, running


class Peers(NamedTuple):
    """The peers are running SMSCs: one that others wrote, and our own."""

    theirs: Smsc
    own: SmscProcess


def a_name() -> str:
    """Returns a system_id of its own, because an SMSC brings the receipts that a link left behind
    to the next of its name.
    """
    return os.urandom(4).hex()


# A new kind of Link is one line here: how one is made, from running SMSCs (if it needs one) and the
# inbox.
KINDS: dict[str, Callable[[Peers, Inbox], Link]] = {
    "smpp": lambda peers, inbox: SmppLink(peers.theirs.settings(binds=2, window=20), inbox),
    "smpp, payload": lambda peers, inbox: SmppLink(
        peers.theirs.settings(bind="tx+rx", long="payload"), inbox
    ),
    "smpp, our own SMSC": lambda peers, inbox: SmppLink(
        peers.own.settings(system_id=a_name(), binds=2, window=20), inbox
    ),
    "smpp, our own SMSC, sar": lambda peers, inbox: SmppLink(
        peers.own.settings(system_id=a_name(), bind="tx+rx", long="sar"), inbox
    ),
    "simulator": lambda _, inbox: SimulatorLink(SimulatorSettings(), inbox),
}


@pytest.fixture(scope="module")
def own_smsc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmscProcess]:
    with running(tmp_path_factory.mktemp("smsc"), log="") as process:
        yield process


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
async def test_every_kind_of_link(
    smsc: Smsc,
    own_smsc: SmscProcess,
    make: Callable[[Peers, Inbox], Link],
    check: Callable[[Link, Recorder], Awaitable[None]],
) -> None:
    await smsc.behave(receipts=[STANDARD_RECEIPT])
    inbox = Recorder()
    link = inbox.link = make(Peers(smsc, own_smsc), inbox)
    try:
        await check(link, inbox)
    finally:
        await link.close(grace_s=0)
