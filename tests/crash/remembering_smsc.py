"""An SMSC that behaves as carriers do around a crash: it keeps a log of every submit_sm, and every receipt until it is acknowledged.

Its PDUs are read and written with struct alone, so that it shares no code with the client that it judges.
"""

import asyncio
import itertools
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

HEADER: Final = struct.Struct(">IIII")
SUBMIT_SM, DELIVER_SM, DELIVER_SM_RESP, ENQUIRE_LINK, UNBIND = 0x04, 0x05, 0x80000005, 0x15, 0x06
BINDS: Final = (0x01, 0x02, 0x09)
RESPONSE: Final = 0x80000000


class Submit(NamedTuple):
    """One submit_sm as it arrived."""

    recipient: str
    text: str


class RememberingSmsc:
    """`submits`: all that arrived, in order, over all connections."""

    def __init__(self) -> None:
        self.port = 0
        self.submits: list[Submit] = []
        self.unacknowledged: dict[int, bytes] = {}  # receipts, by the number in their id
        self.ids = itertools.count(0x10_0000)


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
            for number, receipt in list(self._smsc.unacknowledged.items()):
                self._deliver(number, receipt)
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
        _schedule, rest = rest[3:].split(b"\0", 1)
        _validity, rest = rest.split(b"\0", 1)
        text = rest[5 : 5 + rest[4]]
        self._smsc.submits.append(Submit(recipient.decode(), text.decode("ascii")))
        number = next(self._smsc.ids)
        self._write(SUBMIT_SM | RESPONSE, sequence, b"%x\0" % number)
        said = b"id:%x sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD err:000 text:" % number
        receipt = b"\0\1\1" + recipient + b"\0\5\0" + sender + b"\0\x04\0\0\0\0\0\0\0\0" + bytes((len(said),)) + said
        self._smsc.unacknowledged[number] = receipt
        asyncio.get_running_loop().call_later(0.02, self._deliver, number, receipt)

    def _deliver(self, number: int, receipt: bytes) -> None:
        sequence = next(self._sequences)
        self._sent[sequence] = number
        self._write(DELIVER_SM, sequence, receipt)

    def _write(self, command: int, sequence: int, body: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(HEADER.pack(HEADER.size + len(body), command, 0, sequence) + body)


@contextmanager
def remembering_smsc() -> Iterator[RememberingSmsc]:
    """Runs in a thread of its own, so that it outlives every crash of the server."""
    smsc = RememberingSmsc()
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(lambda: _Session(smsc), "127.0.0.1", 0))
    smsc.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield smsc
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
