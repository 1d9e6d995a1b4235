"""Runs a name server of the tests' own, which may answer otherwise each time it is asked, and what
asks it in place of the system's resolver.
"""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from typing import Any

from heliograph.webhooks.http.address_guard import AddressInfo

ADDRESS, ADDRESS_6 = 1, 28  # types of records (RFC 1035, 3596)
ANSWER_S_MAX = 30.0
Answers = Callable[[str], list[str] | None]  # the addresses of a name; None: no answer ever


class NameServer(asyncio.DatagramProtocol):
    """Answers questions about names. `asked` holds the names, in order, once for each question
    about IPv4 addresses. Two questions make one look-up; the first one decides.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.asked: list[str] = []
        self._latest: dict[str, list[str] | None] = {}
        self.port = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, client: tuple[str, int]) -> None:
        name, end = _read_name(data)
        (kind,) = struct.unpack_from("!H", data, end)
        if kind == ADDRESS:
            self.asked.append(name)
            self._latest[name] = self._answers(name)
        found = self._latest[name]
        if found is None:
            return
        records = [
            ip_address(text).packed for text in found if (":" in text) == (kind == ADDRESS_6)
        ]
        self._transport.sendto(
            data[:2]
            + struct.pack("!HHHHH", 0x8180 if found else 0x8183, 1, len(records), 0, 0)
            + data[12 : end + 4]
            + b"".join(
                struct.pack("!HHHIH", 0xC00C, kind, 1, 0, len(packed)) + packed
                for packed in records
            ),
            client,
        )

    def look_up(self, host: str, port: int) -> list[AddressInfo]:
        """Looks a name up as getaddrinfo would. Raises OSError."""
        found = list[AddressInfo]()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(ANSWER_S_MAX)
            asking.connect(("127.0.0.1", self.port))
            for kind, family, size in (
                (ADDRESS, socket.AF_INET, 4),
                (ADDRESS_6, socket.AF_INET6, 16),
            ):
                labels = b"".join(bytes([len(label)]) + label.encode() for label in host.split("."))
                asking.send(
                    struct.pack("!HHHHHH", 1, 0x0100, 1, 0, 0, 0)
                    + labels
                    + struct.pack("!BHH", 0, kind, 1)
                )
                for packed in _records(asking.recv(4_096), size):
                    where = (str(ip_address(packed)), port, 0, 0)
                    found.append(
                        (
                            family,
                            socket.SOCK_STREAM,
                            socket.IPPROTO_TCP,
                            "",
                            where[:2] if size == 4 else where,
                        )
                    )
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return found


def _read_name(data: bytes) -> tuple[str, int]:
    """Reads the name of the question, and where it ends."""
    labels, at = list[str](), 12
    while length := data[at]:
        labels.append(data[at + 1 : at + 1 + length].decode())
        at += 1 + length
    return ".".join(labels), at + 1


def _records(answer: bytes, size: int) -> Iterator[bytes]:
    (count,) = struct.unpack_from("!H", answer, 6)
    at = _read_name(answer)[1] + 4
    for _ in range(count):
        yield answer[at + 12 : at + 12 + size]
        at += 12 + size


@asynccontextmanager
async def name_server(answers: Answers) -> AsyncIterator[NameServer]:
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: NameServer(answers), ("127.0.0.1", 0)
    )
    try:
        yield server
    finally:
        with suppress(OSError):
            transport.close()
