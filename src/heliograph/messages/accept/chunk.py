"""A chunk of a group is a run of recipients that becomes messages, as far as the credits reach, in
the transaction of whoever keeps the list.

It is the transaction of accepting (`acceptor.py`) without a request: it has the same tariff, the
same locks and statements, and one ledger entry for the chunk.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from heliograph.base import clock, ids
from heliograph.database.cache import ConfigCache
from heliograph.database.hot import HotTx, meanwhile
from heliograph.messages import groups
from heliograph.messages.accept import sql as accept_sql
from heliograph.messages.accept import store_sql
from heliograph.messages.accept.acceptor import FACTS, TARIFF
from heliograph.messages.accept.batch import Batch, send_of
from heliograph.messages.accept.judge import (
    Accepted,
    AccountFacts,
    WalletState,
    approved_sender,
    end_run,
)
from heliograph.messages.accept.request import SendRequest
from heliograph.messages.accept.store_sql import Rows
from heliograph.messages.accept.tariff import Plan, Tariff
from heliograph.messages.groups import Tally
from heliograph.messages.queue.rank import BULK_FROM_US, FairQueue, Places
from heliograph.messages.read import CAMPAIGN_PREFIX
from heliograph.requests import UsedKeys
from heliograph.text import Phone

INSUFFICIENT_CREDITS = "insufficient_credits"
DAILY_CAP_REACHED = "daily_cap_reached"
SENDER_NOT_APPROVED = "sender_not_approved"
ACCOUNT_SUSPENDED = "account_suspended"  # or closed


# recipients with texts of their own that are laid out while PostgreSQL stores those before
PIECE: Final = 500


class Wanted(NamedTuple):
    """The messages of a chunk have this in common. Ids are raw."""

    group_id: int
    campaign_id: str
    account_id: str
    sandbox: bool
    sender: str
    validity_s: int


class Recipient(NamedTuple):
    """This is one recipient: E.164 digits as a number, its country, and its text as it is
    counted.
    """

    number: int
    country_code: str | None
    text: str
    encoding: str
    segments: int


class Chunk(NamedTuple):
    """This says what became of a run of recipients. `taken` of them, from the first, are
    messages or `refused`, for nobody takes such a number any more. `stopped` says why the rest
    are not; `wanted` is the credits that the first of those costs.
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
    """Makes chunks in one process. `queue`: where in the queues."""

    def __init__(self, cache: ConfigCache, queue: FairQueue) -> None:
        self._cache = cache
        self.queue = queue

    async def store(
        self, tx: HotTx, places: Places, wanted: Wanted, recipients: Sequence[Recipient]
    ) -> Chunk:
        """Stores, charges and queues as many as may be sent, within a transaction that has locked
        nothing but whose list it is.
        """
        started_s = clock.monotonic_s()
        facts, tariff = await self._facts(wanted), await self._tariff()
        locked = await accept_sql.lock_wallets(tx, [wanted.account_id])
        if locked[0].closed:
            return Chunk(0, 0, ACCOUNT_SUSPENDED, frozenset())
        if not self._cache.confirm(locked[0].config_epoch, started_s):
            await self._cache.refresh()
            facts, tariff = await self._facts(wanted), await self._tariff()
        if self.queue.is_old():
            self.queue.read(await accept_sql.heads(tx, BULK_FROM_US), places)
        sender = approved_sender(wanted.sender, facts.senders, sandbox=wanted.sandbox)
        if sender is None:
            return Chunk(0, 0, SENDER_NOT_APPROVED, frozenset())
        batch = Batch(places, locked, UsedKeys(), {}, {})
        filling = _Filling(batch, wanted, sender, facts, tariff, recipients)
        piece = filling.piece()
        while not filling.is_done:
            piece = await meanwhile(store_sql.store(tx, piece), filling.piece)
        if filling.tally.queued:
            await store_sql.store(tx, piece)
            await batch.tell(tx)
            await groups.add(tx, [(wanted.group_id, filling.tally)], 0)
        return Chunk(
            filling.taken,
            filling.refused,
            filling.stopped,
            frozenset(filling.carrier_ids),
            filling.wanted,
        )

    async def _facts(self, wanted: Wanted) -> AccountFacts:
        facts = await self._cache.get(FACTS, (wanted.account_id, wanted.sandbox))
        assert facts is not None  # accounts are never deleted
        return facts

    async def _tariff(self) -> Tariff:
        tariff = await self._cache.get(TARIFF, 0)
        assert tariff is not None
        return tariff


class _Filling:
    """One chunk as it is judged: recipient by recipient, on what the wallet still holds."""

    def __init__(
        self,
        batch: Batch,
        wanted: Wanted,
        sender: str,
        facts: AccountFacts,
        tariff: Tariff,
        recipients: Sequence[Recipient],
    ) -> None:
        self._recipients = recipients
        self._most = len(recipients) if recipients[0].text == recipients[-1].text else PIECE
        self._next = 0
        self._batch, self._wanted, self._sender, self._facts, self._tariff = (
            batch,
            wanted,
            sender,
            facts,
            tariff,
        )
        self._wallet = batch.wallet(wanted.account_id)
        self._number = ids.new_number()
        self._left = _left_today(self._wallet, facts, batch.now_ms)
        self.taken = self.refused = 0
        self.stopped: str | None = None
        self.wanted: int | None = None
        self.tally = Tally()
        self.carrier_ids: set[int] = set()

    @property
    def is_done(self) -> bool:
        return self.stopped is not None or self._next >= len(self._recipients)

    def piece(self) -> Rows:
        """The next of the recipients, to be stored; with the last of them the charge for all."""
        some = self._recipients[self._next : self._next + self._most]
        self._next += len(some)
        self._take(some)
        if self.is_done:
            self._charge()
        return self._batch.lay_out()

    def _take(self, recipients: Sequence[Recipient]) -> None:
        """One send for each run of recipients with one text; its messages' ids follow its own."""
        for (text, encoding, segments), run in groupby(
            recipients, key=lambda recipient: recipient[2:]
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
            accepted = Accepted(
                request,
                self._sender,
                [],
                countries=[],
                carriers=[],
                credits=[],
                runs=[],
                rejected=[],
                duplicates=[],
            )
            self._fill(accepted, run, segments)
            if accepted.recipients:
                self._keep(accepted)
            if self.stopped is not None:
                return

    def _fill(self, accepted: Accepted, run: Iterator[Recipient], segments: int) -> None:
        """As far as the credits reach. Who cannot be sent to is left out."""
        countries, plan_of, sandbox = self._facts.countries, self._tariff.plan, self._wanted.sandbox
        run_plan: Plan | None = None
        run_first = 0
        for number, country_code, *_ in run:
            plan = plan_of(
                self._wanted.account_id, Phone(str(number), country_code), sandbox=sandbox
            )
            if plan.refusal is not None or (
                countries is not None and country_code not in countries
            ):
                self.refused += 1
                self.taken += 1
                continue
            cost = plan.rate * segments
            if not sandbox:
                self.stopped = self._why_not(cost)
                if self.stopped is not None:
                    self.wanted = cost
                    break
                self._wallet.sms_credits -= cost
                self._left -= cost
                accepted.credits_used += cost
            if (
                run_plan is None
                or plan.carrier_id != run_plan.carrier_id
                or plan.prefix != run_plan.prefix
            ):
                end_run(accepted, run_plan, run_first)
                run_plan, run_first = plan, len(accepted.recipients)
            accepted.recipients.append(number)
            accepted.countries.append(country_code)
            accepted.carriers.append(plan.carrier_id)
            accepted.credits.append(0 if sandbox else cost)
            accepted.credits_required += cost
            self.taken += 1
        end_run(accepted, run_plan, run_first)

    def _why_not(self, cost: int) -> str | None:
        if cost > self._wallet.sms_credits:
            return INSUFFICIENT_CREDITS
        return DAILY_CAP_REACHED if cost > self._left else None

    def _keep(self, accepted: Accepted) -> None:
        count = len(accepted.recipients)
        accepted.credits_remaining = self._wallet.sms_credits
        self._batch.take(
            accepted,
            send_of(accepted, ids.raw_of_number(accepted.request.number), self._batch.now_ms),
        )
        self.carrier_ids.update(run.carrier_id for run in accepted.runs)
        self._number += 1 + count
        self.tally = Tally(
            self.tally.queued + count,
            0,
            0,
            0,
            self.tally.segments + count * accepted.request.segments,
            self.tally.credits + accepted.credits_used,
        )

    def _charge(self) -> None:
        """Charges all of it with one ledger entry."""
        credits = self.tally.credits
        if not credits:
            return
        wallet, today = self._wallet, self._batch.now_ms // clock.DAY_MS
        wallet.spent_day, wallet.spent_credits = (
            today,
            (wallet.spent_credits if wallet.spent_day == today else 0) + credits,
        )
        wallet.charged = True
        self._batch.charge(
            self._wanted.account_id,
            credits,
            wallet.sms_credits,
            self.tally.queued,
            ids.text_of_raw(CAMPAIGN_PREFIX, self._wanted.campaign_id),
        )


def _left_today(wallet: WalletState, facts: AccountFacts, now_ms: int) -> int:
    """Returns the credits that the account's daily cap still allows."""
    if facts.daily_credits is None:
        return wallet.sms_credits
    return facts.daily_credits - (
        wallet.spent_credits if wallet.spent_day == now_ms // clock.DAY_MS else 0
    )
