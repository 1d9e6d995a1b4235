"""Acts as a client that says exactly the octets a test wants said, and runs our SMSC to say them
to.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.framing import Frame, Framer
from heliograph.carriers.smsc import Chaos, Journal, Smsc, SmscSettings, read_chances, read_script

WAIT_S = 10.0  # longer than anything here takes; a test that reaches it has failed
BINDS = {"trx": pdu.BIND_TRANSCEIVER, "tx": pdu.BIND_TRANSMITTER, "rx": pdu.BIND_RECEIVER}


class RawClient:
    """Holds one connection. `heard` holds all PDUs that came and were not asked for yet."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._framer = Framer()
        self.heard: list[Frame] = []
        self.sequence = 0

    def say(self, octets: bytes) -> None:
        self._writer.write(octets)

    def request(self, command: int, body: bytes = b"") -> int:
        """Sends a request, and returns its sequence_number."""
        self.sequence += 1
        self.say(pdu.encode_pdu(command, 0, self.sequence, body))
        return self.sequence

    async def ask(self, command: int, body: bytes = b"") -> Frame:
        """Returns the PDU that answers it; what comes before stays in `heard`."""
        sequence = self.request(command, body)
        return await self.until(
            lambda frame: (
                frame.sequence == sequence
                and frame.command in (command | pdu.RESPONSE, pdu.GENERIC_NACK)
            )
        )

    async def next(self, command: int) -> Frame:
        return await self.until(lambda frame: frame.command == command)

    async def until(self, wanted: Any) -> Frame:
        """Returns the first PDU that is wanted, taken out of `heard`. Raises EOFError when the
        connection ends before it comes.
        """
        async with asyncio.timeout(WAIT_S):
            while True:
                for frame in self.heard:
                    if wanted(frame):
                        self.heard.remove(frame)
                        return frame
                await self._read()

    async def _read(self) -> None:
        octets = await self._reader.read(65_536)
        if not octets:
            raise EOFError
        self.heard += self._framer.feed(octets)

    async def raw(self) -> bytes:
        """Returns the next octets, for what is not a PDU."""
        async with asyncio.timeout(WAIT_S):
            return await self._reader.read(65_536)

    async def until_closed(self) -> None:
        async with asyncio.timeout(WAIT_S):
            try:
                while True:
                    await self._read()
            except (EOFError, ConnectionError):
                return

    async def quiet(self, seconds: float = 0.2) -> bool:
        """Returns whether nothing comes for so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._read()
        except TimeoutError:
            return not self.heard
        return False

    async def bind(
        self, how: str = "trx", system_id: str = "amina", password: str = "secret"
    ) -> int:
        """Binds, and returns the command_status of the answer."""
        return (
            await self.ask(BINDS[how], pdu.encode_bind(pdu.BindRequest(system_id, password)))
        ).status

    async def submit(self, recipient: str = "233201234567", **fields: Any) -> tuple[int, str]:
        """Submits, and returns the status and the message_id of the answer."""
        answer = await self.ask(pdu.SUBMIT_SM, submission(recipient, **fields))
        return answer.status, pdu.decode_string(answer.body)

    async def receipt(self, *, status: int = 0) -> pdu.ShortMessage:
        """Returns the next receipt, which it has answered."""
        frame = await self.next(pdu.DELIVER_SM)
        self.say(pdu.encode_pdu(pdu.DELIVER_SM_RESP, status, frame.sequence, b"\0"))
        return pdu.decode_sm(frame.body)

    def close(self) -> None:
        self._writer.transport.abort()


def answer(client: RawClient, frame: Frame, status: int = 0) -> None:
    """Answers a text of a handset."""
    client.say(pdu.encode_pdu(frame.command | pdu.RESPONSE, status, frame.sequence, b"\0"))


async def texts(client: RawClient, count: int) -> list[tuple[Frame, pdu.ShortMessage]]:
    """Returns so many texts, or parts of texts, as they come in deliver_sm; none is answered."""
    frames = [await client.next(pdu.DELIVER_SM) for _ in range(count)]
    return [(frame, pdu.decode_sm(frame.body)) for frame in frames]


def submission(recipient: str = "233201234567", **fields: Any) -> bytes:
    """Returns the body of a submit_sm that asks for a receipt."""
    given = {
        "source_addr": "AMINA",
        "short_message": b"hello",
        "registered_delivery": 1,
        "source_ton": 5,
        "dest_ton": 1,
        "dest_npi": 1,
        **fields,
    }
    return pdu.encode_sm(pdu.ShortMessage(destination_addr=recipient, **given))


class Served:
    """Holds our SMSC on a port of its own."""

    def __init__(self, smsc: Smsc, port: int, log: Path | None) -> None:
        self.smsc, self.port, self._log = smsc, port, log
        self._clients: list[RawClient] = []

    async def client(self) -> RawClient:
        client = RawClient(*await asyncio.open_connection("127.0.0.1", self.port))
        self._clients.append(client)
        return client

    async def bound(self, how: str = "trx", system_id: str = "amina") -> RawClient:
        client = await self.client()
        assert await client.bind(how, system_id) == 0
        return client

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Returns the journal's lines so far, of these kinds."""
        assert self._log is not None
        return [
            event
            for event in map(json.loads, self._log.read_text().splitlines())
            if not kinds or event["event"] in kinds
        ]

    def close(self) -> None:
        for client in self._clients:
            client.close()


@asynccontextmanager
async def serving(
    chaos: str = "", script: str = "", *, seed: int = 7, log: Path | None = None, **settings: Any
) -> AsyncIterator[Served]:
    """Runs an SMSC in this event loop, spoken to over TCP; receipts come at once unless told
    otherwise.
    """
    journal = Journal(log)
    smsc = Smsc(
        SmscSettings(**{"receipt_delay_s": 0.0, **settings}),
        Chaos(read_chances(chaos), read_script(script), seed),
        journal,
    )
    served = Served(smsc, await smsc.start("127.0.0.1", 0), log)
    try:
        yield served
    finally:
        served.close()
        await smsc.stop()
        journal.close()


def read(message: pdu.ShortMessage) -> dict[str, str]:
    """Reads the fields of a receipt's text that stand between spaces: id, stat, err."""
    words = message.short_message.decode("ascii").split()
    return dict(word.split(":", 1) for word in words if ":" in word)


def sequences(frames: Sequence[Frame], command: int) -> list[int]:
    return [frame.sequence for frame in frames if frame.command == command]
