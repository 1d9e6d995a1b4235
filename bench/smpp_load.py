"""Makes raw SMPP load: each of its transceiver binds keeps a window of submit_sm outstanding
(`python -m bench.smpp_load --help`).

What it reaches against `bench.smsc` is the limit that the wire, the kernel and asyncio set. It
prints one line of JSON.
"""

import argparse
import asyncio
import json
import time
from typing import cast

import uvloop

from bench import pdu

TEXT = b"Your order is on its way and will arrive today."
SYSTEM_ID = b"bench"


def submission(receipts: bool) -> bytes:
    """Returns the body of every submit_sm that is sent (SMPP 3.4, 4.4.1)."""
    return b"\0\5\0BENCH\0\1\1233201234567\0\0\0\0\0\0%c\0\0\0%c%b" % (
        1 if receipts else 0,
        len(TEXT),
        TEXT,
    )


class Client(asyncio.Protocol):
    """A client is one bind."""

    def __init__(self, window: int, body: bytes) -> None:
        self.window, self.body = window, body
        self.bound: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.buffer = b""
        self.running = False
        self.outstanding = self.sequence = self.answered = self.refused = self.receipts = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's does not derive from it
        self.transport.write(
            pdu.pdu(pdu.BIND_TRANSCEIVER, 0, SYSTEM_ID + b"\0secret\0\0\x34\0\0\0")
        )

    def data_received(self, data: bytes) -> None:
        data = self.buffer + data
        at, end = 0, len(data)
        replies: list[bytes] = []
        while end - at >= pdu.HEADER_OCTETS:
            length, command, status, sequence = pdu.HEADER.unpack_from(data, at)
            if end - at < length:
                break
            if command == pdu.SUBMIT_SM | pdu.RESPONSE:
                self.outstanding -= 1
                self.answered += 1
                self.refused += status != 0
            elif command == pdu.DELIVER_SM:
                self.receipts += 1
                replies.append(pdu.pdu(pdu.DELIVER_SM | pdu.RESPONSE, sequence, b"\0"))
            elif command == pdu.BIND_TRANSCEIVER | pdu.RESPONSE:
                self.bound.set_result(status)
            at += length
        self.buffer = data[at:]
        if replies:
            self.transport.write(b"".join(replies))
        self.fill()

    def fill(self) -> None:
        """Writes submissions until the window is full."""
        room = self.window - self.outstanding
        if not self.running or room <= 0:
            return
        pack, length, body, first = (
            pdu.HEADER.pack,
            pdu.HEADER_OCTETS + len(self.body),
            self.body,
            self.sequence + 1,
        )
        self.transport.write(
            b"".join(
                [
                    pack(length, pdu.SUBMIT_SM, 0, number) + body
                    for number in range(first, first + room)
                ]
            )
        )
        self.sequence += room
        self.outstanding += room


async def run(
    port: int, binds: int, window: int, seconds: float, receipts: bool
) -> dict[str, float]:
    """Loads for `seconds`. The rate counts answers, or receipts when they are asked for."""
    loop, body = asyncio.get_running_loop(), submission(receipts)
    clients = [
        (await loop.create_connection(lambda: Client(window, body), "127.0.0.1", port))[1]
        for _ in range(binds)
    ]
    for client in clients:
        if await client.bound != 0:
            raise SystemExit("the SMSC refused the bind")
    began = time.perf_counter()
    for client in clients:
        client.running = True
        client.fill()
    await asyncio.sleep(seconds)
    took = time.perf_counter() - began
    done = sum(client.receipts if receipts else client.answered for client in clients)
    return {
        "per_s": done / took,
        "seconds": took,
        "refused": sum(client.refused for client in clients),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.smpp_load", description="Raw SMPP load on an SMSC on loopback."
    )
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--binds", type=int, default=1)
    parser.add_argument("--window", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument(
        "--receipts", action="store_true", help="ask for receipts and count them instead of answers"
    )
    options = parser.parse_args()
    print(
        json.dumps(
            uvloop.run(
                run(options.port, options.binds, options.window, options.seconds, options.receipts)
            )
        )
    )


if __name__ == "__main__":
    main()
