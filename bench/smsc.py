"""A fast SMSC takes every submit_sm, answers at once, sends receipts if asked to, and counts
(`python -m bench.smsc --help`).

It prints one line of JSON with its two ports when it is ready. `GET /` on the control port answers
the counters as JSON, `GET /reset` clears them. It must never be what is measured: alone it answers
several hundred thousand submit_sm a second.
"""

import argparse
import asyncio
import json
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import NamedTuple, cast

import uvloop

from bench import pdu
from bench.control import serve_control

RECEIPTS_UNANSWERED_MAX = 1_000  # a real SMSC holds a window on deliver_sm too
RECEIPTS_AT_ONCE = 500  # a flush takes no more, so that submissions are answered in between
FLUSH_PAUSE_S = 0.002


@dataclass(slots=True)
class Counters:
    """Counts what came in and went out since the last reset. Times are wall-clock seconds, and 0
    when there was none.
    """

    submitted: int = 0
    duplicates: int = 0
    receipts_sent: int = 0
    receipts_answered: int = 0
    receipts_refused: int = 0  # deliver_sm_resp with another status than ESME_ROK
    receipts_lost: int = 0  # still to be sent when the session ended
    binds: int = 0
    not_understood: int = 0
    first_submit_at: float = 0.0
    last_submit_at: float = 0.0
    last_receipt_answered_at: float = 0.0


@dataclass(slots=True)
class Smsc:
    """Holds what all sessions share."""

    receipts: bool
    receipt_delay_s: float
    track: bool
    counters: Counters = field(default_factory=Counters)
    # recipient and text of every submission, when tracking
    seen: set[bytes] = field(default_factory=set)
    next_id: int = 0

    def reset(self) -> None:
        self.counters = Counters()
        self.seen.clear()


class WaitingReceipt(NamedTuple):
    """Says of which submission a receipt is, and from when on it may be sent."""

    due_at_s: float  # monotonic
    source: bytes
    destination: bytes
    message_id: bytes


class Session(asyncio.Protocol):
    """A session may be bound as anything: its receipts come back on it."""

    def __init__(self, smsc: Smsc) -> None:
        self.smsc = smsc
        self.buffer = bytearray()
        self.waiting: deque[WaitingReceipt] = deque()
        self.sequence = 0
        self.unanswered = 0
        self.paused = False
        self.flush_planned = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's does not derive from it

    def connection_lost(self, exc: Exception | None) -> None:
        self.smsc.counters.receipts_lost += len(self.waiting)
        self.waiting.clear()

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False

    def data_received(self, data: bytes) -> None:
        if self.buffer:
            self.buffer += data
            data = bytes(self.buffer)
        answers, taken = self._answer(data)
        self.buffer[:] = data[taken:]
        if answers:
            self.transport.write(b"".join(answers))
        if self.waiting and not self.flush_planned:
            self._plan_flush(self.smsc.receipt_delay_s)

    def _answer(self, data: bytes) -> tuple[list[bytes], int]:
        """Returns the answers to all whole PDUs in `data`, and how many octets those took. It is
        one loop on purpose, because this is the hot path.
        """
        smsc, counters, header = self.smsc, self.smsc.counters, pdu.HEADER
        wants_fields = smsc.receipts or smsc.track
        at, end, submitted = 0, len(data), 0
        answers: list[bytes] = []
        while end - at >= pdu.HEADER_OCTETS:
            length, command, status, sequence = header.unpack_from(data, at)
            if not pdu.HEADER_OCTETS <= length <= pdu.PDU_OCTETS_MAX:
                self.transport.close()
                return answers, end
            if end - at < length:
                break
            if command == pdu.SUBMIT_SM:
                submitted += 1
                message_id = b"%016x" % (smsc.next_id + submitted)
                answers.append(
                    header.pack(33, pdu.SUBMIT_SM | pdu.RESPONSE, 0, sequence) + message_id + b"\0"
                )
                if wants_fields:
                    self._note(data[at : at + length], message_id)
            elif command == pdu.DELIVER_SM | pdu.RESPONSE:
                self.unanswered -= 1
                counters.receipts_answered += 1
                counters.receipts_refused += status != 0
                counters.last_receipt_answered_at = time.time()
            else:
                answers.append(self._answer_rare(command, sequence))
            at += length
        if submitted:
            smsc.next_id += submitted
            counters.submitted += submitted
            counters.last_submit_at = time.time()
            counters.first_submit_at = counters.first_submit_at or counters.last_submit_at
        return answers, at

    def _answer_rare(self, command: int, sequence: int) -> bytes:
        if command in pdu.BINDS:
            self.smsc.counters.binds += 1
            return pdu.pdu(command | pdu.RESPONSE, sequence, b"bench\0")
        if command in (pdu.ENQUIRE_LINK, pdu.UNBIND):
            return pdu.pdu(command | pdu.RESPONSE, sequence)
        if command & pdu.RESPONSE:
            return b""
        self.smsc.counters.not_understood += 1
        return pdu.pdu(pdu.GENERIC_NACK, sequence, status=pdu.RINVCMDID)

    def _note(self, whole: bytes, message_id: bytes) -> None:
        source, destination, registered_delivery, text = pdu.submission_fields(
            whole, pdu.HEADER_OCTETS
        )
        smsc = self.smsc
        if smsc.track:
            key = destination + b" " + text
            if key in smsc.seen:
                smsc.counters.duplicates += 1
            smsc.seen.add(key)
        if smsc.receipts and registered_delivery & 0b11 == 1:
            self.waiting.append(
                WaitingReceipt(
                    time.monotonic() + smsc.receipt_delay_s, source, destination, message_id
                )
            )

    def _plan_flush(self, delay_s: float) -> None:
        self.flush_planned = True
        asyncio.get_running_loop().call_later(delay_s, self._flush)

    def _flush(self) -> None:
        self.flush_planned = False
        if self.transport.is_closing():
            return
        room = (
            0 if self.paused else min(RECEIPTS_AT_ONCE, RECEIPTS_UNANSWERED_MAX - self.unanswered)
        )
        now, minute = time.monotonic(), time.strftime("%y%m%d%H%M", time.gmtime()).encode()
        waiting = self.waiting
        receipts: list[bytes] = []
        while len(receipts) < room and waiting and waiting[0].due_at_s <= now:
            receipt = waiting.popleft()
            self.sequence += 1
            receipts.append(
                pdu.pdu(
                    pdu.DELIVER_SM,
                    self.sequence,
                    pdu.receipt_body(
                        receipt.source, receipt.destination, receipt.message_id, minute
                    ),
                )
            )
        if receipts:
            self.unanswered += len(receipts)
            self.smsc.counters.receipts_sent += len(receipts)
            self.transport.write(b"".join(receipts))
        if waiting:
            self._plan_flush(FLUSH_PAUSE_S)


async def run(smsc: Smsc, port: int) -> None:
    """Serves until it is killed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Session(smsc), "127.0.0.1", port)
    control_port = await serve_control(lambda: asdict(smsc.counters), smsc.reset)
    print(
        json.dumps({"port": server.sockets[0].getsockname()[1], "control_port": control_port}),
        flush=True,
    )
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.smsc", description="A fast SMSC on loopback."
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument(
        "--receipts",
        action="store_true",
        help="send a DELIVRD receipt for each message that asks for one",
    )
    parser.add_argument("--receipt-delay", type=float, default=0.05, metavar="SECONDS")
    parser.add_argument(
        "--track",
        action="store_true",
        help="count submissions whose recipient and text came before",
    )
    options = parser.parse_args()
    uvloop.run(
        run(
            Smsc(
                receipts=options.receipts,
                receipt_delay_s=options.receipt_delay,
                track=options.track,
            ),
            options.port,
        )
    )


if __name__ == "__main__":
    main()
