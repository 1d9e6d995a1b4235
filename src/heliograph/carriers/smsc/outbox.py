"""The outbox holds the receipts that the SMSC owes. It knows when each is due and on which
session it leaves, and sends it again when that session was lost.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from heliograph.carriers.delay_queue import DelayQueue
from heliograph.carriers.smsc.receipt import ReceiptToWrite

RECEIPTS_OWED_MAX: Final = 200_000  # 100 MB; past it submissions are answered ESME_RMSGQFUL
DUE_AT_ONCE: Final = 500  # then submissions are looked at in between


class Receiver(Protocol):
    """Describes a session that may receive."""

    system_id: str

    def receipt_room(self) -> int: ...
    def send_receipt(self, owed: ReceiptToWrite) -> None: ...
    def flush(self) -> None: ...


class AddressedReceipt(NamedTuple):
    """Holds a receipt with its addressee: the system_id that submitted the message and, if it is
    still connected, the session that did.
    """

    owed: ReceiptToWrite
    system_id: str
    near: Receiver


class Outbox:
    """Holds all receipts that are not acknowledged yet. One session of the system_id gets each of
    them: the one that submitted, else any.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._delayed: dict[float, DelayQueue[AddressedReceipt]] = {}  # by how long
        self._receivers: dict[str, list[Receiver]] = {}  # by system_id
        self._waiting: dict[
            str, deque[ReceiptToWrite]
        ] = {}  # due, and there is nobody with room for them
        self.owed = 0  # those on the wire without an acknowledgement too

    def has_room(self) -> bool:
        return self.owed < RECEIPTS_OWED_MAX

    def owe(self, receipt: AddressedReceipt, delay_s: float, copies: int = 1) -> None:
        """Owes a receipt that is due in `delay_s`. It is hot."""
        delayed = self._delayed.get(delay_s)
        if delayed is None:
            delayed = self._delayed[delay_s] = DelayQueue(self._loop, delay_s, self._deliver_due)
        self.owed += copies
        delayed.put([receipt] * copies)

    def owe_at_once(self, receipt: AddressedReceipt) -> None:
        """Owes a receipt that is due now; on the session that is `near` it leaves with the next
        flush.
        """
        self.owed += 1
        receiver = self._hand_over(receipt)
        if receiver is not None and receiver is not receipt.near:
            receiver.flush()

    def _hand_over(self, receipt: AddressedReceipt) -> Receiver | None:
        """Sends a receipt, and returns the session that got it. If no session has room for it, it
        returns None, and the receipt waits. It is hot.
        """
        near = receipt.near
        receiver = near if near.receipt_room() > 0 else self._with_room(receipt.system_id)
        if receiver is None:
            self._waiting.setdefault(receipt.system_id, deque()).append(receipt.owed)
        else:
            receiver.send_receipt(receipt.owed)
        return receiver

    def note_ended(self) -> None:
        """Notes that a receipt was acknowledged, or given up."""
        self.owed -= 1

    def add_receiver(self, receiver: Receiver) -> None:
        self._receivers.setdefault(receiver.system_id, []).append(receiver)
        self.send_waiting(receiver.system_id)

    def remove_receiver(self, receiver: Receiver, unacknowledged: Iterable[ReceiptToWrite]) -> None:
        """Takes back what a session that is gone had not acknowledged: it goes to another session,
        now or when there is one.
        """
        receivers = self._receivers.get(receiver.system_id, [])
        if receiver in receivers:
            receivers.remove(receiver)
        if not receivers:
            self._receivers.pop(receiver.system_id, None)
        returned = list(unacknowledged)
        if returned:
            self._waiting.setdefault(receiver.system_id, deque()).extendleft(reversed(returned))
            self.send_waiting(receiver.system_id)

    def send_waiting(self, system_id: str) -> None:
        """Sends what waits, as far as there is room for it."""
        waiting = self._waiting.get(system_id)
        while waiting:
            receiver = self._with_room(system_id)
            if receiver is None:
                return
            for _ in range(min(receiver.receipt_room(), len(waiting))):
                receiver.send_receipt(waiting.popleft())
            receiver.flush()
        self._waiting.pop(system_id, None)

    def close(self) -> None:
        for delayed in self._delayed.values():
            delayed.take_all()

    def _with_room(self, system_id: str) -> Receiver | None:
        freest = max(
            self._receivers.get(system_id, ()),
            key=lambda receiver: receiver.receipt_room(),
            default=None,
        )
        return freest if freest is not None and freest.receipt_room() > 0 else None

    def _deliver_due(self, delayed: DelayQueue[AddressedReceipt]) -> None:
        due = delayed.take_due(DUE_AT_ONCE)
        for receiver in {self._hand_over(receipt) for receipt in due}:
            if receiver is not None:
                receiver.flush()
        if len(due) == DUE_AT_ONCE:
            self._loop.call_soon(delayed.restart_timer)
