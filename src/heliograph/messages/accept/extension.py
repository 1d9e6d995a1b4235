"""Lets another room take part in sends of its type: it judges them, and its rows are stored
with theirs.

This is one transaction, under the locks of the wallets that pay. So nothing that it judged by has
changed when it is stored.
"""

from collections.abc import Sequence
from typing import Protocol

from heliograph.base.errors import ServiceError
from heliograph.database.hot import HotTx
from heliograph.messages.accept.request import SendRequest


class BatchExtension(Protocol):
    """Judges the sends of one batch, and stores rows that belong to them."""

    def refusal(self, request: SendRequest, now_ms: int) -> ServiceError | None:
        """Returns why this send must not go out, or None if it may. It is asked before the send is
        paid.
        """
        ...

    def accepted(self, request: SendRequest, now_ms: int) -> None:
        """Notes that this send was accepted, so that later sends of the batch are judged
        accordingly.
        """
        ...

    async def store(self, tx: HotTx) -> None:
        """Stores the extension's rows of the sends that were accepted."""
        ...

    def stored(self) -> None:
        """Is called after the commit."""
        ...


class SendExtension(Protocol):
    """Adds judgement and rows to sends of one type."""

    async def for_batch(self, tx: HotTx, requests: Sequence[SendRequest]) -> BatchExtension:
        """Reads what a batch is judged by, under the locks of its wallets."""
        ...
