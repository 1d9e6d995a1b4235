"""Acts as a carrier that says exactly the octets a test wants said, true SMPP or not. It is only
for what a proper SMSC cannot be made to say.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from heliograph.carriers.smpp import SmppSettings, pdu
from heliograph.carriers.smpp.framing import Frame, Framer


class RawSession(asyncio.Protocol):
    """Holds one connection: it answers binds and submits properly, keeps what it heard, and leaves
    the rest to the test.
    """

    def __init__(self, carrier: "RawCarrier") -> None:
        self._carrier = carrier
        self._framer = Framer()
        self.heard: list[Frame] = []
        self.deaf = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._carrier.sessions.append(self)

    def connection_lost(self, fault: Exception | None) -> None:
        self._carrier.lost.append(self)
        self._carrier.news.set()

    def data_received(self, data: bytes) -> None:
        if self.deaf:
            return
        for frame in self._framer.feed(data):
            self.heard.append(frame)
            if frame.command in (pdu.BIND_TRANSCEIVER, pdu.SUBMIT_SM, pdu.UNBIND):
                self.say(
                    pdu.encode_pdu(
                        frame.command | pdu.RESPONSE,
                        pdu.ESME_ROK,
                        frame.sequence,
                        b"%d\0" % frame.sequence,
                    )
                )
        self._carrier.news.set()

    def say(self, octets: bytes) -> None:
        self.transport.write(octets)

    def answers(self, command: int) -> list[tuple[int, int]]:
        """Returns (sequence, status) of what it heard of one kind."""
        return [(frame.sequence, frame.status) for frame in self.heard if frame.command == command]


class RawCarrier:
    def __init__(self) -> None:
        self.port = 0
        self.sessions: list[RawSession] = []
        self.lost: list[RawSession] = []
        self.news = asyncio.Event()

    def settings(self, binds: int = 1) -> SmppSettings:
        return SmppSettings(
            "raw",
            "127.0.0.1",
            self.port,
            "amina",
            "secret",
            binds=binds,
            backoff_min_s=0.05,
            backoff_max_s=0.1,
        )

    async def until_heard(
        self, session: RawSession, command: int, count: int = 1
    ) -> list[tuple[int, int]]:
        async with asyncio.timeout(10):
            while len(session.answers(command)) < count:
                self.news.clear()
                await self.news.wait()
        return session.answers(command)

    async def until_lost(self, session: RawSession) -> None:
        async with asyncio.timeout(10):
            while session not in self.lost:
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def raw_carrier() -> AsyncIterator[RawCarrier]:
    carrier = RawCarrier()
    server = await asyncio.get_running_loop().create_server(
        lambda: RawSession(carrier), "127.0.0.1", 0
    )
    carrier.port = server.sockets[0].getsockname()[1]
    try:
        yield carrier
    finally:
        server.close()
        for session in carrier.sessions:
            session.transport.abort()
        await server.wait_closed()
