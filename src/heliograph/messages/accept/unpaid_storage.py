"""Says what sends store for free, and whether the account's storage quota has room for it: sandbox
sends with their messages, and what is kept of recipients that were rejected or duplicate. A live
message that goes out costs credits, and is not counted.

It is counted after the wallets' locks. A customer counts with its partner, whose wallet is not
locked.
"""

from collections.abc import Mapping
from typing import Final

from heliograph.accounts import quotas
from heliograph.accounts.storage_of_sends import QuotaOwner, StorageRoom
from heliograph.messages.accept.request import SendRequest
from heliograph.messages.accept.response import Send

_ROW_OCTETS: Final = quotas.MEASURES[quotas.StoredKind.SENDS].row_octets


def unpaid_octets(request: SendRequest, send: Send) -> int:
    """Returns what a send that is accepted stores and does not pay. It is hot: it is called once
    for each send.
    """
    if not request.sandbox:
        return 0 if send.exceptions is None else quotas.octets_of(send.exceptions)
    return (1 + send.message_count) * _ROW_OCTETS + quotas.octets_of(
        request.text, request.reference, send.exceptions
    )


def is_too_much(octets: Mapping[QuotaOwner, int], rooms: Mapping[QuotaOwner, StorageRoom]) -> bool:
    """Returns whether one of the owners has not so much room."""
    return any(
        room.quota is not None and room.used + octets[owner] > room.quota
        for owner, room in rooms.items()
    )
