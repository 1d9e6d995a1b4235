"""Holds what all sessions of the SMSC share: its settings, its chaos, its ids, its receipts and its
journal.
"""

import asyncio
import time
from typing import Final

from heliograph.base import clock
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.outcomes import ESME_RINVPASWD, ESME_RINVSYSID
from heliograph.carriers.smsc.chaos import ActPlace, Chaos
from heliograph.carriers.smsc.chaos_plan import plan_of
from heliograph.carriers.smsc.connections import ClientSessions
from heliograph.carriers.smsc.handsets import Handsets
from heliograph.carriers.smsc.journal import Journal
from heliograph.carriers.smsc.outbox import AddressedReceipt, Outbox, Receiver
from heliograph.carriers.smsc.receipt import ReceiptToWrite
from heliograph.carriers.smsc.settings import SmscSettings

RECEIPT_RETRY_S: Final = 1.0  # after an answer that asks for another try


class SharedState:
    """Holds what all sessions of the SMSC share. It is made in the event loop that it is used
    in.
    """

    def __init__(self, settings: SmscSettings, chaos: Chaos, journal: Journal) -> None:
        self.settings = settings
        self.chaos = chaos
        self.journal = journal
        self.loop = asyncio.get_running_loop()
        self.outbox = Outbox(self.loop)
        self.handsets = Handsets(self.loop, settings, chaos, journal)
        self.sessions = ClientSessions(journal)
        # The time stands first, so that the ids of one run are not those of the next; no run makes
        # a million of them a second.
        self._next_number = clock.now_us()
        self._id_format = "x" if settings.id_format == "hex" else "d"

    def now_s(self) -> int:
        return int(time.time())

    def next_id(self) -> tuple[int, str]:
        """Returns the number of a new message, and how submit_sm_resp prints it. It is hot."""
        number = self._next_number
        self._next_number = number + 1
        return number, format(number, self._id_format)

    def bind_status(self, asked: pdu.BindRequest) -> int:
        """Returns the command_status that answers a bind."""
        plan = plan_of(self.chaos.acts(ActPlace.BIND))
        if plan.status:
            return plan.status
        settings = self.settings
        if settings.system_id is not None and asked.system_id != settings.system_id:
            return ESME_RINVSYSID
        return (
            ESME_RINVPASWD
            if settings.password is not None and asked.password != settings.password
            else pdu.ESME_ROK
        )

    def note_acknowledged(self, receiver: Receiver, owed: ReceiptToWrite, *, resend: bool) -> None:
        """Notes that a receipt was answered. With `resend`, it is to be sent once more."""
        self.outbox.note_ended()
        if resend:
            self.outbox.owe(AddressedReceipt(owed, receiver.system_id, receiver), RECEIPT_RETRY_S)
        self.outbox.send_waiting(receiver.system_id)
