"""Sends what answers a text from a handset, in the transaction that records the text.

It is the transaction of accepting (`acceptor.py`) without a request: it has the same tariff, locks
and statements, and one ledger entry for each reply.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from heliograph.base import clock, ids
from heliograph.base.errors import ServiceError
from heliograph.database.cache import ConfigCache
from heliograph.database.hot import HotTx
from heliograph.messages.accept import read_sql, store_sql
from heliograph.messages.accept.acceptor import Acceptor, answering_sends, facts_of, tariff_of
from heliograph.messages.accept.batch import SendBatch
from heliograph.messages.accept.request import SendRequest
from heliograph.messages.queue.rank import FairQueue
from heliograph.messages.states import VALIDITY_DEFAULT_S
from heliograph.requests import UsedKeys
from heliograph.text import Phone, count_segments


class Reply(NamedTuple):
    """Describes a reply: what an account (raw id) sends from its number to a phone, and the text
    (raw id) that it answers. If `outlives_opt_outs` holds, no later opt-out withdraws it.
    """

    account_id: str
    sandbox: bool
    sender: str
    phone: Phone
    text: str
    answers_id: str
    outlives_opt_outs: bool


class SentReplies(NamedTuple):
    """Says which carriers have something to send, and which replies were left out."""

    carriers: set[int]
    left_out: list[Reply]


class Replier:
    """Sends replies on behalf of one process. It calls `on_queued(carrier_ids)` when something was
    queued. They stand before all bulk, and pass opt-outs.
    """

    def __init__(self, cache: ConfigCache, on_queued: Callable[[set[int]], None]) -> None:
        self._cache = cache
        self._on_queued = on_queued
        self._queue = FairQueue()

    @classmethod
    def for_acceptor(cls, acceptor: Acceptor) -> Self:
        """Returns a replier that queues where an acceptor of the same process does."""
        return cls(acceptor.cache, acceptor.on_queued)

    async def send(self, tx: HotTx, replies: Sequence[Reply]) -> SentReplies:
        """Stores, charges and queues replies, within a transaction that has locked no wallets but
        theirs. What an account has no credits for, or may not send, is left out.
        """
        started_s = clock.monotonic_s()
        tariff = await tariff_of(self._cache)
        locked = await read_sql.lock_wallets(tx, sorted({each.account_id for each in replies}))
        if not self._cache.confirm(locked[0].config_epoch, started_s):
            await self._cache.refresh()
            tariff = await tariff_of(self._cache)
        requests = [_request(each) for each in replies]
        facts = [await facts_of(self._cache, each.account_id, each.sandbox) for each in requests]
        with self._queue.give_ranks() as ranks:
            batch = SendBatch(ranks, locked, UsedKeys(), {}, {})
            results = [
                batch.decide(request, known, tariff)
                for request, known in zip(requests, facts, strict=True)
            ]
        left_out = [
            reply
            for reply, result in zip(replies, results, strict=True)
            if isinstance(result, ServiceError)
        ]
        if len(left_out) == len(replies):
            return SentReplies(set(), left_out)
        await store_sql.store(tx, batch.rows())
        await store_sql.store_answers(tx, answering_sends(batch.accepted))
        await batch.emit_low_balance(tx)
        batch.count()
        carriers = {run.carrier_id for accepted in batch.accepted for run in accepted.priced.runs}
        return SentReplies(carriers, left_out)

    def wake(self, carrier_ids: set[int]) -> None:
        """Tells the carriers that something was queued for them. It is called after the commit."""
        if carrier_ids:
            self._on_queued(carrier_ids)


def _request(reply: Reply) -> SendRequest:
    encoding, segments = count_segments(reply.text)
    return SendRequest(
        number=ids.new_number(),
        account_id=reply.account_id,
        key_account_id=reply.account_id,
        sandbox=reply.sandbox,
        sender=reply.sender,
        text=reply.text,
        encoding=encoding,
        segments=segments,
        recipients=[reply.phone.digits],
        phones=[reply.phone],
        reference=None,
        validity_s=VALIDITY_DEFAULT_S,
        dry_run=False,
        warnings=[],
        sender_is_ours=True,  # the number is the account's, and nobody has to approve it
        passes_opt_outs=True,
        answers_id=reply.answers_id,
        outlives_opt_outs=reply.outlives_opt_outs,
        goes_ahead=True,
    )
