"""Runs an SMSC that behaves as carriers do around a crash: it keeps a log of every submit_sm, and
every receipt and every text from a handset until it is acknowledged.

Its PDUs are read and written with struct alone, so that it shares no code with the client that it
judges.
"""

import asyncio
import itertools
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from tests.support.loops import LoopThread

HEADER: Final = struct.Struct(">IIII")
SUBMIT_SM, DELIVER_SM, DELIVER_SM_RESP, ENQUIRE_LINK, UNBIND = 0x04, 0x05, 0x80000005, 0x15, 0x06
BINDS: Final = (0x01, 0x02, 0x09)
RESPONSE: Final = 0x80000000
HAS_UDH: Final = 0x40
GONE_WITHIN_S: Final = 10.0


class Submit(NamedTuple):
    """Describes one submit_sm as it arrived: a part of a text, by its user data header."""

    recipient: str
    reference: int | None
    part: int
    parts: int
    text: str
    kills: int  # of the client, before it arrived


class RememberingSmsc:
    """Remembers what it was sent. `submits` holds all that arrived, in order, over all connections.
    `keeps_back` holds the receipts of numbers that end in 3, 6 or 9, until `let_go`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, keeps_back: bool) -> None:
        self.port = 0
        self.submits: list[Submit] = []
        # receipts, by the number in their id, and texts from handsets
        self.unacknowledged: dict[int, bytes] = {}
        self.kept_back: dict[int, bytes] | None = {} if keeps_back else None
        self.ids = itertools.count(0x10_0000)
        self.sessions: set[_Session] = set()
        self.kills = 0
        self.loop = loop

    def count_kill(self) -> None:
        """Counts a kill, when all that the killed client had written has arrived."""
        until_s = time.monotonic() + GONE_WITHIN_S
        while self.sessions:
            assert time.monotonic() < until_s, "the killed client's connections are still there"
            time.sleep(0.001)
        self.kills += 1

    def bring(self, body: bytes) -> None:
        """Brings a text from a handset, a whole deliver_sm, until it is acknowledged."""
        self.loop.call_soon_threadsafe(self._bring, body)

    def _bring(self, body: bytes) -> None:
        number = next(self.ids)
        self.unacknowledged[number] = body
        for session in list(self.sessions)[:1]:
            session.deliver_all({number: body})

    def let_go(self) -> None:
        """Keeps no receipt back from now on."""
        self.loop.call_soon_threadsafe(self._let_go)

    def _let_go(self) -> None:
        kept, self.kept_back = self.kept_back or {}, None
        self.unacknowledged |= kept
        for session in self.sessions:
            session.deliver_all(kept)

    async def close(self, server: asyncio.Server) -> None:
        server.close()
        for session in list(self.sessions):
            session.abort()


class _Session(asyncio.Protocol):
    def __init__(self, smsc: RememberingSmsc) -> None:
        self._smsc = smsc
        self._buffer = b""
        self._sequences = itertools.count(1)
        self._sent: dict[int, int] = {}  # sequence_number → number of the receipt
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._smsc.sessions.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._smsc.sessions.discard(self)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            length, command, status, sequence = HEADER.unpack_from(self._buffer)
            if len(self._buffer) < length:
                return
            body, self._buffer = self._buffer[HEADER.size : length], self._buffer[length:]
            self._take(command, status, sequence, body)

    def _take(self, command: int, status: int, sequence: int, body: bytes) -> None:
        if command in BINDS:
            self._write(command | RESPONSE, sequence, b"smsc\0")
            self.deliver_all(self._smsc.unacknowledged)
        elif command == SUBMIT_SM:
            self._submitted(sequence, body)
        elif command == DELIVER_SM_RESP and status == 0:
            self._smsc.unacknowledged.pop(self._sent.pop(sequence, 0), None)
        elif command in (ENQUIRE_LINK, UNBIND):
            self._write(command | RESPONSE, sequence, b"")

    def _submitted(self, sequence: int, body: bytes) -> None:
        _, rest = body.split(b"\0", 1)
        sender, rest = rest[2:].split(b"\0", 1)
        recipient, rest = rest[2:].split(b"\0", 1)
        esm_class = rest[0]
        _schedule, rest = rest[3:].split(b"\0", 1)
        _validity, rest = rest.split(b"\0", 1)
        self._remember(recipient.decode(), esm_class, rest[5 : 5 + rest[4]])
        number = next(self._smsc.ids)
        self._write(SUBMIT_SM | RESPONSE, sequence, b"%x\0" % number)
        said = (
            b"id:%x sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD"
            b" err:000 text:" % number
        )
        receipt = (
            b"\0\1\1"
            + recipient
            + b"\0\5\0"
            + sender
            + b"\0\x04\0\0\0\0\0\0\0\0"
            + bytes((len(said),))
            + said
        )
        if self._smsc.kept_back is not None and recipient[-1] in b"369":
            self._smsc.kept_back[number] = receipt
            return
        self._smsc.unacknowledged[number] = receipt
        asyncio.get_running_loop().call_later(0.02, self._deliver, number, receipt)

    def _remember(self, recipient: str, esm_class: int, octets: bytes) -> None:
        reference, parts, part = None, 1, 1
        if esm_class & HAS_UDH:
            assert octets[:3] == b"\5\0\3"
            (reference, parts, part), octets = octets[3:6], octets[6:]
        self._smsc.submits.append(
            Submit(recipient, reference, part, parts, octets.decode("ascii"), self._smsc.kills)
        )

    def deliver_all(self, receipts: dict[int, bytes]) -> None:
        for number, receipt in list(receipts.items()):
            self._deliver(number, receipt)

    def _deliver(self, number: int, receipt: bytes) -> None:
        sequence = next(self._sequences)
        self._sent[sequence] = number
        self._write(DELIVER_SM, sequence, receipt)

    def _write(self, command: int, sequence: int, body: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(HEADER.pack(HEADER.size + len(body), command, 0, sequence) + body)


@contextmanager
def remembering_smsc(*, keeps_back: bool = False) -> Iterator[RememberingSmsc]:
    """Runs in a thread of its own, so that it outlives every crash of the server."""
    with LoopThread("smsc") as thread:
        smsc = RememberingSmsc(thread.loop, keeps_back=keeps_back)
        server = thread.run(thread.loop.create_server(lambda: _Session(smsc), "127.0.0.1", 0))
        smsc.port = server.sockets[0].getsockname()[1]
        try:
            yield smsc
        finally:
            thread.run(smsc.close(server))
