"""Audits messages whose number or text was erased. What SMSCs' logs have of them is recognized by
what is left.
"""

from collections import defaultdict
from typing import Final

from sqlalchemy.engine import Connection

from heliograph.audit.positions import MessagePosition
from heliograph.audit.smsc_log import Submit
from heliograph.base import ids
from heliograph.messages.retention import MESSAGES, TEXTS, first_kept
from heliograph.messages.states import VALIDITY_S

CLOCKS_MS: Final = 60_000  # apart: the SMSC's from ours


class ErasedMessages:
    """Tells whether submissions that belong to no stored message may belong to an erased one. It
    meets one message after the other before it is asked.
    """

    def __init__(self, tx: Connection) -> None:
        erased_ms = max(ids.made_at_ms(int(first_kept(tx, what), 16)) for what in (TEXTS, MESSAGES))
        # what was sent until then may be of a message that was old, and is erased
        self._erased_ms = erased_ms + VALIDITY_S[1] * 1_000
        self._spans: defaultdict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)

    def add(self, message: MessagePosition) -> None:
        """Adds a message whose number was erased on request, while its messages were young."""
        made_ms = ids.made_at_ms(int(message.id, 16))
        if message.expires_at_ms is not None and message.expires_at_ms > self._erased_ms:
            self._spans[int(message.id[-3:], 16), message.sender or ""].append(
                (made_ms, message.expires_at_ms)
            )

    def explains(self, submit: Submit) -> bool:
        """Returns whether its message may be one of these: the reference is made from the id,
        and sender and time agree.
        """
        if submit.at_ms <= self._erased_ms:
            return True
        spans = (
            ()
            if submit.reference is None
            else self._spans.get((submit.reference >> 4, submit.sender), ())
        )
        return any(
            made_ms - CLOCKS_MS <= submit.at_ms <= until_ms + CLOCKS_MS
            for made_ms, until_ms in spans
        )
