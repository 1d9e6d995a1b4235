"""Acts as a carrier whose PDUs PyPI's `smpplib` writes and reads. It has no server of its own, so
the socket is ours, and nothing else is.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import smpplib.client  # type: ignore[import-untyped]  # it has no types
import smpplib.smpp  # type: ignore[import-untyped]  # it has no types

from heliograph.base.periodic import until
from heliograph.carriers.smpp import SmppSettings

_LENGTH_OCTETS = 4  # command_length, which counts itself (SMPP 3.4, 3.2)


class SmpplibCarrier(asyncio.Protocol):
    """Takes one bind, and keeps the answers to what it sends: command, sequence and status."""

    def __init__(self) -> None:
        self.port = 0
        self.is_bound = False
        self.answers: list[tuple[str, int, int]] = []
        self._transport: Any = None
        self._octets = b""
        self._numbers = smpplib.client.SimpleSequenceGenerator()

    def settings(self) -> SmppSettings:
        return SmppSettings("smpplib", "127.0.0.1", self.port, "amina", "secret")

    def send(self, command: str, **fields: Any) -> int:
        """Sends a PDU with these fields, and returns its sequence_number."""
        pdu = smpplib.smpp.make_pdu(command, client=self._numbers, **fields)
        self._transport.write(pdu.generate())
        return int(pdu.sequence)

    async def until_bound(self) -> None:
        async with asyncio.timeout(10):
            await until(lambda: self.is_bound, look_s=0.01)

    async def until_answered(self, count: int) -> list[tuple[str, int, int]]:
        async with asyncio.timeout(10):
            await until(lambda: len(self.answers) >= count, look_s=0.01)
        return self.answers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._octets += data
        while len(self._octets) >= _LENGTH_OCTETS:
            length = int.from_bytes(self._octets[:_LENGTH_OCTETS], "big")
            if len(self._octets) < length:
                return
            octets, self._octets = self._octets[:length], self._octets[length:]
            self._heard(smpplib.smpp.parse_pdu(octets, client=self._numbers))

    def _heard(self, pdu: Any) -> None:
        if pdu.is_response():
            self.answers.append((pdu.command, pdu.sequence, pdu.status))
            return
        answer = smpplib.smpp.make_pdu(
            f"{pdu.command}_resp", client=self._numbers, sequence=pdu.sequence
        )
        answer.sequence = pdu.sequence
        self._transport.write(answer.generate())
        self.is_bound = self.is_bound or pdu.command == "bind_transceiver"


@asynccontextmanager
async def smpplib_carrier() -> AsyncIterator[SmpplibCarrier]:
    carrier = SmpplibCarrier()
    server = await asyncio.get_running_loop().create_server(lambda: carrier, "127.0.0.1", 0)
    carrier.port = server.sockets[0].getsockname()[1]
    try:
        yield carrier
    finally:
        server.close()
        if carrier._transport is not None:
            carrier._transport.abort()
        await server.wait_closed()
