"""Measures how many submit_sm a second an SmppLink gets answered, against the least that an SMSC
can be, in the same process and loop.

    python bench/smpp_link.py [--seconds 3] [--binds 1] [--window 100] [--receipts]

Prints one line of JSON. The SMSC's own work is in the figure: it shares the processor with the
client.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from typing import cast

import uvloop

from heliograph.carriers.link import LinkState, Outgoing, Receipt, SubmitAnswer
from heliograph.carriers.smpp import SmppSettings, pdu
from heliograph.carriers.smpp.framing import Framer
from heliograph.carriers.smpp.link import SmppLink

_RECEIPT = (
    b"id:%b sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD err:000"
    b" text:"
)
_ADDRESSES = pdu.encode_addresses("", pdu.SourceAddress(1, 1, "233201234567"), (5, 0))


class FastSmsc(asyncio.Protocol):
    """Accepts everything, and sends a receipt with each answer if told to."""

    def __init__(self, receipts: bool) -> None:
        self._receipts = receipts
        self._framer = Framer()
        self._accepted = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        out = []
        for command, _, sequence, _ in self._framer.feed(data):
            if command == pdu.DELIVER_SM_RESP:
                continue
            ref = b"%010d" % self._accepted
            out.append(pdu.encode_pdu(command | pdu.RESPONSE, 0, sequence, ref + b"\0"))
            if command == pdu.SUBMIT_SM:
                self._accepted += 1
                if self._receipts:
                    body = pdu.encode_body(
                        addresses=_ADDRESSES,
                        destination_addr=b"AMINA",
                        esm_class=pdu.ESM_RECEIPT,
                        priority_flag=0,
                        validity_period=b"",
                        registered_delivery=0,
                        data_coding=0,
                        short_message=_RECEIPT % ref,
                        tlvs=b"",
                    )
                    out.append(pdu.encode_pdu(pdu.DELIVER_SM, 0, self._accepted, body))
        self._transport.write(b"".join(out))


class Refill:
    """A refill is an inbox that hands the link new submissions as soon as answers make room."""

    def __init__(self, message: Outgoing) -> None:
        self._message = message
        self.link: SmppLink | None = None
        self.bound = asyncio.Event()
        self.full = False  # nothing more is handed over
        self.answered_count = self.received_count = 0

    def on_state(self, state: LinkState, detail: str) -> None:
        if state is LinkState.BOUND:
            self.bound.set()

    def on_answers(self, answers: Sequence[SubmitAnswer]) -> None:
        self.answered_count += len(answers)
        self.refill()

    def on_receipts(self, receipts: Sequence[Receipt]) -> None:
        self.received_count += len(receipts)
        assert self.link is not None
        self.link.acknowledge(receipts)

    def refill(self) -> None:
        link = self.link
        assert link is not None
        room = link.room()
        if room and not self.full:
            link.submit(
                [submission for _ in range(room) for submission in link.prepare(self._message)]
            )


async def measure(seconds: float, binds: int, window: int, receipts: bool) -> dict[str, object]:
    server = await asyncio.get_running_loop().create_server(
        lambda: FastSmsc(receipts), "127.0.0.1", 0
    )
    port = server.sockets[0].getsockname()[1]
    inbox = Refill(
        Outgoing(
            message_id="0" * 32,
            sender="AMINA",
            recipient="233201234567",
            text="Your order 4711 has left our house.",
            encoding="GSM-7",
            segments=1,
            validity_s=86_400,
        )
    )
    link = inbox.link = SmppLink(
        SmppSettings("bench", "127.0.0.1", port, "amina", "secret", binds=binds, window=window),
        inbox,
    )
    await link.start()
    await inbox.bound.wait()
    began, began_cpu = time.perf_counter(), time.process_time()
    inbox.refill()
    await asyncio.sleep(seconds)
    passed, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    figures: dict[str, object] = {
        "submit_sm_per_s": round(inbox.answered_count / passed),
        "receipts_per_s": round(inbox.received_count / passed),
        "cpu_us_each": round(1e6 * cpu / max(1, inbox.answered_count), 2),
        "binds": binds,
        "window": window,
    }
    inbox.full = True
    await link.close(grace_s=5)
    server.close()
    return figures


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--seconds", type=float, default=3)
    arguments.add_argument("--binds", type=int, default=1)
    arguments.add_argument("--window", type=int, default=100)
    arguments.add_argument("--receipts", action="store_true")
    given = arguments.parse_args()
    print(json.dumps(uvloop.run(measure(given.seconds, given.binds, given.window, given.receipts))))


if __name__ == "__main__":
    main()
