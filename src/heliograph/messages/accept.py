"""Accepting sends: what came in together is judged together, stored in one transaction, and only then answered.

A send of more than 500 recipients has a lane of its own, so that it never makes single ones wait.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts.tables import accounts
from heliograph.base import clock, ids, metrics
from heliograph.base.batching import Batcher
from heliograph.base.cache import ConfigCache, Kind
from heliograph.base.db import Database
from heliograph.base.errors import Conflict, ServiceError
from heliograph.base.hot import HotTx
from heliograph.carriers import Rates, Routes, down_carriers, load_rates, load_routes
from heliograph.messages import accept_sql
from heliograph.messages.answer import Send, exceptions_of
from heliograph.messages.companion import Aboard, Companion
from heliograph.messages.fair import BULK_FROM_US, FairQueue, Places, rank_ahead
from heliograph.messages.judge import Accepted, AccountFacts, Run, Tariff, WalletState, judge
from heliograph.messages.request import SendRequest
from heliograph.requests import KEPT_MS
from heliograph.senders import approved_senders
from heliograph.wallet import SALES_ID, Figures, Thresholds, low_balance
from heliograph.webhooks import Event, Listeners, emit, listeners

LARGE_SEND: Final = 500  # recipients; a larger send would make the single ones in its batch wait
BATCH_MESSAGES_MAX: Final = 20_000  # keeps one transaction around 200 ms
BATCHES_AT_ONCE: Final = 2  # this process judges one while the database stores the other; more of them only get smaller
WAITING_MESSAGES_MAX: Final = 200_000  # in memory, not yet stored; past it 503


class Outcome(NamedTuple):
    """A send that is stored (or, in a dry run, was only judged)."""

    send: Send
    replayed: bool = False


class Acceptor:
    """The accept path of one process. `on_queued(carrier_ids)` is called after each commit that queued something. `queue`: where in the queues.
    `companions`: of the types of sends that have one."""

    def __init__(self, db: Database, cache: ConfigCache, on_queued: Callable[[set[int]], None], queue: FairQueue,
                 companions: Mapping[str, Companion] = MappingProxyType({})) -> None:
        self._db = db
        self._cache = cache
        self._on_queued = on_queued
        self._queue = queue
        self._companions = companions
        self._small = self._lane(BATCHES_AT_ONCE if db.postgresql else 1)  # SQLite has one writer
        self._large = self._lane(1)

    def _lane(self, at_once: int) -> Batcher[SendRequest, Outcome]:
        return Batcher(self._run, most=BATCH_MESSAGES_MAX, waiting_max=WAITING_MESSAGES_MAX, weigh=lambda request: len(request.recipients),
                       at_once=at_once)

    async def accept(self, request: SendRequest) -> Outcome:
        """Stores, charges and queues a send; returns after the commit. Raises what contract section 6 names, and then nothing is stored."""
        await self._facts(request)  # loaded here, side by side with others, rather than one by one in the batch
        lane = self._large if len(request.recipients) > LARGE_SEND else self._small
        return await lane.submit(request)

    async def _facts(self, request: SendRequest) -> AccountFacts:
        key = (request.account_id, request.sandbox)
        facts = self._cache.peek(FACTS, key)
        if facts is None:
            facts = await self._cache.get(FACTS, key)
        assert facts is not None  # accounts are never deleted
        return facts

    async def _tariff(self) -> Tariff:
        tariff = self._cache.peek(TARIFF, 0)
        if tariff is None:
            tariff = await self._cache.get(TARIFF, 0)
        assert tariff is not None
        return tariff

    async def _run(self, requests: Sequence[SendRequest], again: bool) -> Sequence[Outcome | ServiceError]:
        started_s = clock.monotonic_s()
        tariff, facts = await self._tariff(), [await self._facts(request) for request in requests]
        with self._queue.places() as places:
            async with self._db.hot() as tx:
                asked = _asked_keys(requests)
                locked, may_be_known = await accept_sql.lock_and_look(tx, _to_lock(requests), asked)
                if not self._cache.confirm(locked[0][8], started_s):
                    await self._cache.refresh()
                    tariff, facts = await self._tariff(), [await self._facts(request) for request in requests]
                if self._queue.is_old():
                    self._queue.read(await accept_sql.heads(tx, BULK_FROM_US), places)
                known = await _known_keys(tx, asked) if may_be_known else {}
                batch = Batch(places, locked, known, await _stored_already(tx, requests) if again else {}, await self._aboard(tx, requests))
                outcomes = [batch.decide(request, facts[i], tariff) for i, request in enumerate(requests)]
                if batch.accepted:
                    await accept_sql.store(tx, batch.columns(), SALES_ID)
                    for companion in batch.aboard.values():
                        await companion.store(tx)
                    await batch.tell(tx)
        metrics.transaction("accept", len(requests), clock.monotonic_s() - started_s)
        if batch.accepted:
            batch.count()
            self._on_queued({run.carrier_id for accepted in batch.accepted for run in accepted.runs})
        return outcomes

    async def _aboard(self, tx: HotTx, requests: Sequence[SendRequest]) -> dict[str, Aboard]:
        """The companions of a batch, by the type of the sends that they go with."""
        types = self._companions.keys() & {request.type for request in requests}
        return {kind: await self._companions[kind].board(tx, [request for request in requests if request.type == kind]) for kind in sorted(types)}


def _to_lock(requests: Sequence[SendRequest]) -> list[str]:
    """Who pays, and whose Idempotency-Keys are used: a partner's for two of its customers at once must wait for each other."""
    return sorted({r.account_id for r in requests} | {r.key_account_id for r in requests if r.idempotency_key is not None})


def _asked_keys(requests: Sequence[SendRequest]) -> list[accept_sql.AskedKey]:
    since_ms = clock.now_ms() - KEPT_MS
    return [(r.key_account_id, r.sandbox, r.path, r.idempotency_key, since_ms) for r in requests if r.idempotency_key is not None and not r.dry_run]


async def _known_keys(tx: HotTx, asked: Sequence[accept_sql.AskedKey]) -> dict[tuple[str, bool, str], tuple[bytes, Send]]:
    return {(row[0], bool(row[1]), row[2]): (bytes(row[3]), Send(*row[4:])) for row in await accept_sql.find_keys(tx, asked)}


async def _stored_already(tx: HotTx, requests: Sequence[SendRequest]) -> dict[str, Send]:
    """After a lost reply to COMMIT: the sends of this batch that it had committed after all."""
    return {row[0]: Send(*row) for row in await accept_sql.find_sends(tx, [ids.raw_of_number(request.number) for request in requests])}


class Batch:
    """One transaction's sends: decided one after the other, then laid out as columns."""

    def __init__(self, places: Places, locked: Sequence[Any], known: dict[tuple[str, bool, str], tuple[bytes, Send]],
                 stored: dict[str, Send], aboard: Mapping[str, Aboard]) -> None:
        self.now_ms = clock.now_ms()
        self.aboard = aboard
        self.accepted: list[Accepted] = []
        self._places = places
        self._known = known
        self._stored = stored
        self._wallets = {row[0]: WalletState(row[1], row[2], row[3]) for row in locked}
        self._rows = {row[0]: row for row in locked}
        self._sends: list[Send] = []
        self._entries: list[tuple[Any, ...]] = []
        self._first_entry = ids.new_number(self.now_ms)  # a run: the ledger lists a batch's entries in the order in which they were decided

    def decide(self, request: SendRequest, facts: AccountFacts, tariff: Tariff) -> Outcome | ServiceError:
        """Replays a known key, finds what was stored already, or judges."""
        send_id = ids.raw_of_number(request.number)
        if send_id in self._stored:
            return Outcome(self._stored[send_id])
        key = (request.key_account_id, request.sandbox, request.idempotency_key or "")
        if key[2] and not request.dry_run and key in self._known:
            body_sha256, send = self._known[key]
            return Outcome(send, replayed=True) if body_sha256 == request.body_sha256 else Conflict()
        wallet = self._wallets[request.account_id]
        companion = self.aboard.get(request.type)
        verdict = judge(request, facts, tariff, wallet, self.now_ms, companion)
        if isinstance(verdict, ServiceError):
            return verdict
        send = _send_of(verdict, send_id, self.now_ms)
        if not request.dry_run:
            self._add(verdict, send)
            if companion is not None:
                companion.accepted(request, self.now_ms)
            if key[2]:
                self._known[key] = (request.body_sha256, send)
        return Outcome(send)

    def _add(self, accepted: Accepted, send: Send) -> None:
        self.accepted.append(accepted)
        self._sends.append(send)
        if accepted.credits_used:
            row = self._rows[send.account_id]
            self._entries.append((ids.raw_of_number(self._first_entry + len(self._entries)), send.account_id, row[5], -accepted.credits_used, row[4],
                                  accepted.credits_remaining, f"SMS to {send.message_count} recipient{'s' * (send.message_count > 1)}",
                                  ids.text_of_raw("snd", send.id), self.now_ms))

    async def tell(self, tx: HotTx) -> None:
        """Of the accounts whose credits have just become low."""
        low = [account_id for account_id, wallet in self._wallets.items()
               if wallet.charged and self._is_armed(account_id) and not self._stays_armed(account_id)]
        if low and (heard_by := await listeners(tx, low)):
            await emit(tx, heard_by, [self._low_balance(heard_by, account_id) for account_id in low if heard_by.knows(account_id)])

    def _low_balance(self, heard_by: Listeners, account_id: str) -> Event:
        row, credits = self._rows[account_id], self._wallets[account_id].sms_credits
        return low_balance(heard_by, account_id, "credits", Figures(row[4], credits), row[5], Thresholds(row[6], None), self.now_ms)

    def _is_armed(self, account_id: str) -> bool:
        return bool(self._rows[account_id][7])

    def _stays_armed(self, account_id: str) -> bool:
        threshold = self._rows[account_id][6]
        return self._is_armed(account_id) and (threshold is None or self._wallets[account_id].sms_credits >= threshold)

    def count(self) -> None:
        """What was stored, for /metrics."""
        for send in self._sends:
            metrics.accepted(send.message_count, sandbox=bool(send.sandbox))
        for companion in self.aboard.values():
            companion.stored()

    def columns(self) -> accept_sql.Columns:
        """All accepted sends, laid out for one statement."""
        return accept_sql.Columns(
            sends=_columns([_send_row(a, s) for a, s in zip(self.accepted, self._sends, strict=True)], 16),
            messages=self._message_columns(),
            runs=_columns([(run.carrier_id, self._rank_us(a.request, run), ids.raw_of_number(a.request.number + 1 + run.first), run.messages, place,
                            run.prefix) for place, a in enumerate(self.accepted, 1) for run in a.runs], 6),
            keys=_columns([(a.request.key_account_id, s.sandbox, a.request.path, a.request.idempotency_key, a.request.body_sha256, s.id, self.now_ms)
                           for a, s in zip(self.accepted, self._sends, strict=True) if a.request.idempotency_key is not None], 7),
            entries=_columns(self._entries, 9),
            wallets=_columns([self._wallet_row(account_id) for account_id in sorted(self._wallets) if self._wallets[account_id].charged], 5))

    def _rank_us(self, request: SendRequest, run: Run) -> int:
        if request.type == "otp":
            return rank_ahead(self.now_ms)
        return self._places.rank_us(request.account_id, run.carrier_id, run.messages * request.segments, self.now_ms)

    def _message_columns(self) -> tuple[list[Any], ...]:
        columns: tuple[list[Any], ...] = ([], [], [], [], [], [])
        for place, accepted in enumerate(self.accepted, 1):
            first, count = accepted.request.number + 1, len(accepted.recipients)
            columns[0].extend([f"{number:032x}" for number in range(first, first + count)])
            columns[1].extend([place] * count)
            columns[2].extend(accepted.recipients)
            columns[3].extend(accepted.countries)
            columns[4].extend(accepted.carriers)
            columns[5].extend(accepted.credits)
        return columns

    def _wallet_row(self, account_id: str) -> tuple[Any, ...]:
        wallet = self._wallets[account_id]
        return account_id, wallet.sms_credits, wallet.spent_day, wallet.spent_credits, self._stays_armed(account_id)


def _columns(rows: list[tuple[Any, ...]], width: int) -> tuple[list[Any], ...]:
    return tuple(map(list, zip(*rows, strict=True))) if rows else tuple([] for _ in range(width))


def _send_of(accepted: Accepted, send_id: str, now_ms: int) -> Send:
    request = accepted.request
    return Send(send_id, request.account_id, request.sandbox, request.type, accepted.sender, request.encoding, request.segments,
                len(accepted.recipients), request.reference, accepted.credits_required, accepted.credits_used, accepted.credits_remaining,
                exceptions_of(accepted.rejected, accepted.duplicates), now_ms)


def _send_row(accepted: Accepted, send: Send) -> tuple[Any, ...]:
    request = accepted.request
    return (send.id, send.account_id, send.sandbox, send.type, send.sender, request.text, send.encoding, send.segments, send.message_count,
            send.reference, send.created_at_ms + request.validity_s * 1_000, send.credits_required, send.credits_used, send.credits_remaining,
            send.exceptions, send.created_at_ms)


def _load_facts(tx: Connection, keys: Sequence[tuple[str, bool]]) -> dict[tuple[str, bool], AccountFacts]:
    rows = tx.execute(sa.select(accounts.c.id, accounts.c.countries, accounts.c.daily_credits).where(accounts.c.id.in_({key[0] for key in keys})))
    limits = {account_id: (frozenset(countries.split(",")) if countries is not None else None, daily) for account_id, countries, daily in rows}
    senders = approved_senders(tx, {key[0] for key in keys})
    return {key: AccountFacts(senders.get(key, {}), *limits[key[0]]) for key in keys if key[0] in limits}


def _load_tariff(tx: Connection, keys: Sequence[int]) -> dict[int, Tariff]:
    return {0: Tariff(Routes(load_routes(tx)), Rates(load_rates(tx)), down_carriers(tx, clock.now_ms()))}


FACTS: Final = Kind("account", _load_facts)  # by raw id and mode
TARIFF: Final = Kind("tariff", _load_tariff)  # the one there is, by 0
