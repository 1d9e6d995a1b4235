"""A chunk of a group is recipients that become messages together, as far as the credits reach, in
the transaction of whoever keeps the list.

It is the transaction of accepting (`acceptor.py`) without a request: it has the same tariff, the
same locks and statements, and one ledger entry for the chunk.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from heliograph.base import clock, ids
from heliograph.database.cache import ConfigCache
from heliograph.database.hot import HotTx, run_meanwhile
from heliograph.messages import groups
from heliograph.messages.accept import read_sql, store_sql
from heliograph.messages.accept.acceptor import facts_of, tariff_of
from heliograph.messages.accept.batch import SendBatch, send_of
from heliograph.messages.accept.judge import (
    AcceptedSend,
    AccountFacts,
    approved_sender,
)
from heliograph.messages.accept.pricing import price
from heliograph.messages.accept.request import SendRequest
from heliograph.messages.accept.store_sql import BatchRows
from heliograph.messages.accept.tariff import Tariff
from heliograph.messages.groups import (
    ACCOUNT_SUSPENDED,
    DAILY_CAP_REACHED,
    INSUFFICIENT_CREDITS,
    SENDER_NOT_APPROVED,
    GroupTally,
)
from heliograph.messages.queue.rank import BULK_FROM_US, FairQueue, Ranks
from heliograph.messages.read.message import CAMPAIGN_PREFIX
from heliograph.requests import UsedKeys
from heliograph.text import Phone
from heliograph.wallet import daily_cap

# recipients with texts of their own that are laid out while PostgreSQL stores those before
PIECE: Final = 500


class ChunkRequest(NamedTuple):
    """Holds what the messages of a chunk have in common. Ids are raw."""

    group_id: int
    campaign_id: str
    account_id: str
    sandbox: bool
    sender: str
    validity_s: int


class ChunkRecipient(NamedTuple):
    """Describes one recipient: the phone number as E.164 digits, its country, and the text as it is
    priced.
    """

    number: int
    country_code: str | None
    text: str
    encoding: str
    segments: int


class Chunk(NamedTuple):
    """Reports how far a chunk of recipients came. The first `taken` recipients became messages,
    except for the `refused` ones, whose numbers can no longer be sent to. `stopped` says why the
    rest were left, and `wanted` is the number of credits that the first of the rest costs.
    """

    taken: int
    refused: int
    stopped: str | None
    carrier_ids: frozenset[int]
    wanted: int | None = None

    @property
    def messages(self) -> int:
        return self.taken - self.refused


class Chunker:
    """Makes chunks in one process. `queue` gives messages their ranks in the queues."""

    def __init__(self, cache: ConfigCache, queue: FairQueue) -> None:
        self._cache = cache
        self.queue = queue

    async def store(
        self, tx: HotTx, ranks: Ranks, request: ChunkRequest, recipients: Sequence[ChunkRecipient]
    ) -> Chunk:
        """Stores, charges and queues as many messages as may be sent, in a transaction that has
        locked nothing but the list of recipients.
        """
        started_s = clock.monotonic_s()
        facts, tariff = await self._facts_and_tariff(request)
        locked = await read_sql.lock_wallets(tx, [request.account_id])
        if locked[0].closed:
            return Chunk(0, 0, ACCOUNT_SUSPENDED, frozenset())
        if not self._cache.confirm(locked[0].config_epoch, started_s):
            await self._cache.refresh()
            facts, tariff = await self._facts_and_tariff(request)
        if self.queue.is_old():
            self.queue.read(await read_sql.heads(tx, BULK_FROM_US), ranks)
        sender = approved_sender(request.sender, facts.senders, sandbox=request.sandbox)
        if sender is None:
            return Chunk(0, 0, SENDER_NOT_APPROVED, frozenset())
        batch = SendBatch(ranks, locked, UsedKeys(), {}, {})
        filling = _ChunkFilling(batch, request, sender, facts, tariff, recipients)
        piece = filling.piece()
        while not filling.is_done:
            piece = await run_meanwhile(store_sql.store(tx, piece), filling.piece)
        if filling.tally.queued:
            await store_sql.store(tx, piece)
            await batch.emit_low_balance(tx)
            await groups.add(tx, [(request.group_id, filling.tally)], 0)
        return Chunk(
            filling.taken,
            filling.refused,
            filling.stopped,
            frozenset(filling.carrier_ids),
            filling.wanted,
        )

    async def _facts_and_tariff(self, wanted: ChunkRequest) -> tuple[AccountFacts, Tariff]:
        facts = await facts_of(self._cache, wanted.account_id, wanted.sandbox)
        return facts, await tariff_of(self._cache)


class _ChunkFilling:
    """Judges one chunk, recipient by recipient, by what the wallet still holds."""

    def __init__(
        self,
        batch: SendBatch,
        wanted: ChunkRequest,
        sender: str,
        facts: AccountFacts,
        tariff: Tariff,
        recipients: Sequence[ChunkRecipient],
    ) -> None:
        self._recipients = recipients
        self._most = len(recipients) if recipients[0].text == recipients[-1].text else PIECE
        self._next = 0
        self._batch, self._wanted, self._sender = batch, wanted, sender
        self._offers = tariff.offers(wanted.account_id, facts.countries, sandbox=wanted.sandbox)
        self._wallet = batch.wallet(wanted.account_id)
        self._number = ids.new_number()
        left = daily_cap.left_today(facts.daily_credits, self._wallet.spent_today(batch.now_ms))
        self._left = self._wallet.sms_credits if left is None else left
        self.taken = self.refused = 0
        self.stopped: str | None = None
        self.wanted: int | None = None
        self._queued = self._segments = self._credits = 0
        self.carrier_ids: set[int] = set()

    @property
    def is_done(self) -> bool:
        return self.stopped is not None or self._next >= len(self._recipients)

    @property
    def tally(self) -> GroupTally:
        """Returns what is added to the group's figures: the messages that are queued."""
        return GroupTally(self._queued, 0, 0, 0, self._segments, self._credits)

    def piece(self) -> BatchRows:
        """Returns the rows of the next recipients. The last rows come with the charge for all of
        them.
        """
        some = self._recipients[self._next : self._next + self._most]
        self._next += len(some)
        self._take(some)
        if self.is_done:
            self._charge()
        return self._batch.lay_out()

    def _take(self, recipients: Sequence[ChunkRecipient]) -> None:
        """Makes one send for recipients in succession with one text; its messages' ids follow its
        own.
        """
        for (text, encoding, segments), alike in groupby(
            recipients, key=attrgetter("text", "encoding", "segments")
        ):
            request = SendRequest(
                self._number,
                self._wanted.account_id,
                self._wanted.account_id,
                sandbox=self._wanted.sandbox,
                sender=self._sender,
                text=text,
                encoding=encoding,
                segments=segments,
                recipients=[],
                phones=[],
                reference=None,
                validity_s=self._wanted.validity_s,
                dry_run=False,
                warnings=[],
                type="campaign",
                group_id=self._wanted.group_id,
            )
            self._fill(request, alike)
            if self.stopped is not None:
                return

    def _fill(self, request: SendRequest, alike: Iterator[ChunkRecipient]) -> None:
        """Takes recipients as far as the credits reach. Recipients who cannot be sent to are left
        out.
        """
        sandbox = self._wanted.sandbox
        phones = [Phone(str(each.number), each.country_code) for each in alike]
        balance = None if sandbox else min(self._wallet.sms_credits, self._left)
        priced = price(phones, request.segments, self._offers, balance)
        accepted = AcceptedSend(request, self._sender, priced, rejected=[], duplicates=[])
        self.refused += len(priced.refused)
        self.taken += len(priced.recipients) + len(priced.refused)
        if not sandbox:
            accepted.credits_used = priced.credits_required
            self._wallet.sms_credits -= accepted.credits_used
            self._left -= accepted.credits_used
        if priced.short_of is not None:
            self.stopped, self.wanted = self._refusal(priced.short_of), priced.short_of
        if priced.recipients:
            self._keep(accepted)

    def _refusal(self, cost: int) -> str:
        """Returns why a recipient who costs so many credits is not paid for: the wallet holds too
        few, or the daily cap is reached.
        """
        return INSUFFICIENT_CREDITS if cost > self._wallet.sms_credits else DAILY_CAP_REACHED

    def _keep(self, accepted: AcceptedSend) -> None:
        count = len(accepted.priced.recipients)
        accepted.credits_remaining = self._wallet.sms_credits
        self._batch.take(
            accepted,
            send_of(accepted, ids.raw_of_number(accepted.request.number), self._batch.now_ms),
        )
        for run in accepted.priced.runs:
            self.carrier_ids.add(run.carrier_id)
        self._number += 1 + count
        self._queued += count
        self._segments += count * accepted.request.segments
        self._credits += accepted.credits_used

    def _charge(self) -> None:
        """Charges the whole chunk with one ledger entry."""
        credits = self._credits
        if not credits:
            return
        self._wallet.count_spent(credits, self._batch.now_ms)
        self._batch.charge(
            self._wanted.account_id,
            credits,
            self._wallet.sms_credits,
            self._queued,
            ids.text_of_raw(CAMPAIGN_PREFIX, self._wanted.campaign_id),
        )
