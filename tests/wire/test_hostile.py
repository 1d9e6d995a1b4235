"""Whatever a peer sends, memory stays flat and others are served, at our client and at our SMSC
(docs/reliability.md, row 23).

`make hostile` sends a million PDUs to each.
"""

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import psutil
import pytest

from heliograph.carriers.smpp import SmppSettings, pdu
from heliograph.carriers.smpp.framing import Framer
from tests.support.wire.hostile import ends_the_stream, hostile_pdus
from tests.support.wire.raw_client import RawClient
from tests.support.wire.recorder import opened
from tests.support.wire.smsc_process import running

PDUS = int(os.environ.get("HELIOGRAPH_TEST_HOSTILE_PDUS", "50000"))
WARM_UP = PDUS // 4  # allocators and caches have their size by then
# 56 octets a PDU in the short run, 3 in the long one; seen: 0.1 to 0.8 MB in both
GROWTH_OCTETS_MAX = 2 << 20
AT_ONCE = 100
SEEN_SHARE_MIN = 0.8  # what stands behind an impossible length is said, and read by nobody
WITHIN_S = 60 + PDUS / 500


def resident(process: psutil.Process) -> int:
    return int(process.memory_info().rss)


class HostileCarrier(asyncio.Protocol):
    """Answers the bind, and then says what it likes, at the pace at which it is read, until it has
    said something that cannot be read.
    """

    def __init__(self, pdus: Iterator[bytes], said: list[int]) -> None:
        self._pdus, self._said = pdus, said
        self._framer = Framer()
        self._may_write = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._may_write.set()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def connection_lost(self, fault: Exception | None) -> None:
        self._talk.cancel()

    def data_received(self, data: bytes) -> None:
        for frame in self._framer.feed(data):
            if frame.command == pdu.BIND_TRANSCEIVER:
                self._transport.write(
                    pdu.encode_pdu(frame.command | pdu.RESPONSE, 0, frame.sequence, b"hostile\0")
                )
                self._talk = asyncio.create_task(self._say())

    async def _say(self) -> None:
        while not self._transport.is_closing():
            octets = next(self._pdus)
            self._transport.write(octets)
            self._said[0] += 1
            if ends_the_stream(octets):
                return
            if self._said[0] % AT_ONCE == 0:
                await asyncio.sleep(0)
                await self._may_write.wait()


async def test_our_client_stays_flat_under_a_hostile_carrier(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL)  # pytest keeps every line of a log
    said, pdus = [0], hostile_pdus(1)
    server = await asyncio.get_running_loop().create_server(
        lambda: HostileCarrier(pdus, said), "127.0.0.1", 0
    )
    settings = SmppSettings(
        "hostile",
        "127.0.0.1",
        server.sockets[0].getsockname()[1],
        "amina",
        "secret",
        backoff_min_s=0.01,
        backoff_max_s=0.02,
    )
    process = psutil.Process()
    before = 0
    received = 0
    async with opened(settings) as (link, inbox):
        async with asyncio.timeout(WITHIN_S):
            while said[0] < PDUS:
                await asyncio.sleep(0.05)
                received += len(inbox.receipts)
                inbox.receipts.clear()
                inbox.states.clear()
                if not before and said[0] >= WARM_UP:
                    before = resident(process)
        grown = resident(process) - before
        read = (
            received + link.tally.malformed + link.tally.unexpected + link.tally.mobile_originated
        )
    server.close()
    assert read > PDUS * SEEN_SHARE_MIN
    assert grown < GROWTH_OCTETS_MAX


async def test_our_smsc_stays_flat_under_a_hostile_client(tmp_path: Path) -> None:
    with running(tmp_path, log="") as smsc:
        process = psutil.Process(smsc.process.pid)
        pdus, said, before = hostile_pdus(2), 0, 0
        async with asyncio.timeout(WITHIN_S):
            while said < PDUS:
                said += await _one_connection(smsc.port, pdus, PDUS - said)
                if not before and said >= WARM_UP:
                    before = resident(process)
        grown = resident(process) - before
        client = RawClient(*await asyncio.open_connection("127.0.0.1", smsc.port))
        assert await client.bind(system_id="other") == 0
        assert (await client.submit(registered_delivery=0))[0] == 0
        client.close()
        await client.until_closed()
        assert smsc.stop() == 0
        counts = smsc.said[-1]["counts"]
        read = sum(
            counts[kind]
            for kind in (
                "submit_sm",
                "generic_nack",
                "bind_refused",
                "enquire_link",
                "nacked",
                "unexpected",
            )
        )
    assert read > PDUS * SEEN_SHARE_MIN
    assert grown < GROWTH_OCTETS_MAX


async def _one_connection(port: int, pdus: Iterator[bytes], most: int) -> int:
    """Says PDUs and reads away what is answered, until the SMSC has had enough. Returns how many
    were said.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    reading = asyncio.create_task(_read_away(reader))
    said = 0
    try:
        writer.write(
            pdu.encode_pdu(
                pdu.BIND_TRANSCEIVER, 0, 1, pdu.encode_bind(pdu.BindRequest("amina", "secret"))
            )
        )
        while said < most and not reading.done():
            octets = next(pdus)
            writer.write(octets)
            said += 1
            if ends_the_stream(octets):
                break
            if said % AT_ONCE == 0:
                await writer.drain()
        writer.write_eof()
        await reading
    except ConnectionError:
        pass
    finally:
        writer.transport.abort()
        await reading
    return said


async def _read_away(reader: asyncio.StreamReader) -> None:
    try:
        while await reader.read(1 << 20):
            pass
    except ConnectionError:
        pass
