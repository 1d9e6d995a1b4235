"""Sends that came in together are judged together, stored in one transaction, and only then
answered.

A send of more than 500 recipients has a lane of its own, so that it never makes single ones wait.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.accounts import storage_of_keys
from heliograph.accounts.storage_of_sends import QuotaOwner, StorageRoom, count_unpaid
from heliograph.accounts.tables import accounts
from heliograph.base import clock, ids, metrics
from heliograph.base.errors import ServiceError
from heliograph.base.own_threads import OwnThreads
from heliograph.carriers import GENERAL, current_rates, down_carriers, routing
from heliograph.database.batching import BATCHES_AT_ONCE, Batcher
from heliograph.database.cache import CachedKind, ConfigCache
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.messages.accept import read_sql, store_sql
from heliograph.messages.accept.batch import SendBatch, SendResult, key_of, replay_result
from heliograph.messages.accept.extension import BatchExtension, SendExtension
from heliograph.messages.accept.judge import AcceptedSend, AccountFacts
from heliograph.messages.accept.opted_out import OptedOut, OptOutLookups
from heliograph.messages.accept.read_sql import LockedWallet
from heliograph.messages.accept.request import RECIPIENTS_PER_SEND_MAX, SendRequest
from heliograph.messages.accept.response import Send
from heliograph.messages.accept.tariff import Tariff
from heliograph.messages.accept.unpaid_storage import is_too_much
from heliograph.messages.queue.rank import BULK_FROM_US, FairQueue, Ranks
from heliograph.requests import ScopedKey, UsedKeys, find_keys
from heliograph.senders import approved_senders

LARGE_SEND: Final = 500  # recipients; a larger send would make the single ones in its batch wait
# keeps one transaction around 100 ms, and the event loop free of what takes 20 ms at a time
BATCH_MESSAGES_MAX: Final = RECIPIENTS_PER_SEND_MAX
# messages of a batch that is judged in the event loop: 1.5 ms; a larger one is in a thread
JUDGED_HERE_MAX: Final = 1_000
WAITING_MESSAGES_MAX: Final = 200_000  # in memory, not yet stored; past it 503


class _BatchFacts(NamedTuple):
    """Holds what a batch of requests is decided by. The k-th of `facts` and `quotas` belong to the
    k-th request; its quota is that of its Idempotency-Key.
    """

    requests: Sequence[SendRequest]
    locked: Sequence[LockedWallet]
    used_keys: UsedKeys[Send]
    stored: dict[str, Send]
    facts: Sequence[AccountFacts]
    quotas: Sequence[int | None]
    tariff: Tariff
    opted_out: OptedOut


class Acceptor:
    """Accepts the sends of one process in batches. It calls `on_queued(carrier_ids)` after each
    commit that queued something. `queue` assigns messages their ranks in the queues. `extensions`
    maps a type of send to the extension that judges and stores more for it.
    """

    def __init__(
        self,
        db: Database,
        cache: ConfigCache,
        on_queued: Callable[[set[int]], None],
        queue: FairQueue,
        extensions: Mapping[str, SendExtension] = MappingProxyType({}),
    ) -> None:
        self._db = db
        self.cache = cache
        self.on_queued = on_queued
        self._queue = queue
        self._extensions = extensions
        self._opt_outs = OptOutLookups()
        self._judges = OwnThreads("judge")
        self._small = self._lane(BATCHES_AT_ONCE if db.postgresql else 1)  # SQLite has one writer
        self._large = self._lane(1)

    def _lane(self, at_once: int) -> Batcher[SendRequest, SendResult]:
        return Batcher(
            self._run,
            most=BATCH_MESSAGES_MAX,
            waiting_max=WAITING_MESSAGES_MAX,
            weigh=lambda request: len(request.recipients),
            commits=self._db.commits,
            at_once=at_once,
        )

    async def accept(self, request: SendRequest) -> SendResult:
        """Stores, charges and queues a send, and returns after the commit. Raises what docs/api.md,
        "Sending", names, and then nothing is stored.
        """
        # loaded here, side by side with others, rather than one by one in the batch
        await self._facts(request.account_id, request.sandbox)
        lane = self._large if len(request.recipients) > LARGE_SEND else self._small
        return await lane.submit(request)

    async def _facts(self, account_id: str, sandbox: bool) -> AccountFacts:
        facts = self.cache.peek(FACTS, (account_id, sandbox))
        return await facts_of(self.cache, account_id, sandbox) if facts is None else facts

    async def _facts_of_all(self, requests: Sequence[SendRequest]) -> list[AccountFacts]:
        return [await self._facts(request.account_id, request.sandbox) for request in requests]

    async def _tariff(self) -> Tariff:
        tariff = self.cache.peek(TARIFF, 0)
        return await tariff_of(self.cache) if tariff is None else tariff

    async def _run(
        self, requests: Sequence[SendRequest], is_retry: bool
    ) -> Sequence[SendResult | ServiceError]:
        started_s = clock.monotonic_s()
        tariff, facts = await self._tariff(), await self._facts_of_all(requests)
        with self._queue.give_ranks() as ranks:
            async with self._db.hot() as tx:
                asked, recipients = _keys_of(requests), self._opt_outs.to_ask(requests)
                locked = await read_sql.lock_and_look_up(
                    tx, self._to_lock(requests, facts), asked, recipients
                )
                if not self.cache.confirm(locked.wallets[0].config_epoch, started_s):
                    await self.cache.refresh()
                    tariff, facts = await self._tariff(), await self._facts_of_all(requests)
                if self._queue.is_old():
                    self._queue.read(await read_sql.heads(tx, BULK_FROM_US), ranks)
                given = _BatchFacts(
                    requests,
                    locked.wallets,
                    await _find_used_keys(tx, asked) if locked.is_any_known else UsedKeys[Send](),
                    stored=await _find_stored(tx, requests) if is_retry else {},
                    facts=facts,
                    quotas=await self._quotas(requests, facts),
                    tariff=tariff,
                    opted_out=await self._opt_outs.find(
                        tx, requests, locked.wallets, recipients, may_be_any=locked.is_any_out
                    ),
                )
                batch, results = await self._decide_within_quotas(tx, ranks, given)
                # seen when the locks were asked for: the same request may have been accepted while
                # this one waited for them
                if not locked.is_any_known:
                    await _replay_refused(tx, requests, results)
                if batch.accepted:
                    await store_sql.store(tx, batch.rows())
                    await store_sql.store_answers(tx, answering_sends(batch.accepted))
                    for extension in batch.extensions.values():
                        await extension.store(tx)
                    await batch.emit_low_balance(tx)
        metrics.count_transaction("accept", len(requests), clock.monotonic_s() - started_s)
        if batch.accepted:
            batch.count()
            self.on_queued(
                {run.carrier_id for accepted in batch.accepted for run in accepted.priced.runs}
            )
        return results

    def _to_lock(self, requests: Sequence[SendRequest], facts: Sequence[AccountFacts]) -> list[str]:
        """Returns the accounts to lock: those that pay, and those whose Idempotency-Keys are used,
        because two requests of a partner for two of its customers must wait for each other. A live
        send that has an extension locks its partner as well (SendRequest.partner_id): extensions
        count for a partner and its customers together.
        """
        wanted = {r.account_id for r in requests} | {
            r.key_account_id for r in requests if r.idempotency_key is not None
        }
        for request, known in zip(requests, facts, strict=True):
            if (
                request.type in self._extensions
                and not request.sandbox
                and known.partner_id is not None
            ):
                request.partner_id = known.partner_id
                wanted.add(known.partner_id)
        return sorted(wanted)

    async def _quotas(
        self, requests: Sequence[SendRequest], facts: Sequence[AccountFacts]
    ) -> list[int | None]:
        """Returns for each request the quota of the account whose Idempotency-Key it uses."""
        return [
            known.keys_quota
            if request.key_account_id == request.account_id or request.idempotency_key is None
            else (await self._facts(request.key_account_id, request.sandbox)).keys_quota
            for request, known in zip(requests, facts, strict=True)
        ]

    async def _decide_within_quotas(
        self, tx: HotTx, ranks: Ranks, given: _BatchFacts
    ) -> tuple[SendBatch, list[SendResult | ServiceError]]:
        """Decides the requests, and counts what is stored of them without being paid for. If that
        is too much for a quota, it decides them again, within the room that is left.
        """
        batch, results = await self._decide_requests(tx, ranks, given, {})
        if not batch.unpaid:
            return batch, results
        rooms = await count_unpaid(tx, batch.unpaid, batch.now_ms)
        if not is_too_much(batch.unpaid, rooms):
            return batch, results
        counted = batch.unpaid
        batch, results = await self._decide_requests(tx, ranks, given, rooms)
        too_many = {owner: batch.unpaid.get(owner, 0) - octets for owner, octets in counted.items()}
        await count_unpaid(tx, too_many, batch.now_ms)
        return batch, results

    async def _decide_requests(
        self,
        tx: HotTx,
        ranks: Ranks,
        batch_facts: _BatchFacts,
        rooms: Mapping[QuotaOwner, StorageRoom],
    ) -> tuple[SendBatch, list[SendResult | ServiceError]]:
        batch = SendBatch(
            ranks,
            batch_facts.locked,
            batch_facts.used_keys.copy(),
            batch_facts.stored,
            await self._batch_extensions(tx, batch_facts.requests),
            rooms=rooms,
            opted_out=batch_facts.opted_out,
        )

        def decide() -> list[SendResult | ServiceError]:
            return [
                batch.decide(
                    request, batch_facts.facts[i], batch_facts.tariff, batch_facts.quotas[i]
                )
                for i, request in enumerate(batch_facts.requests)
            ]

        is_heavy = (
            sum(len(request.recipients) for request in batch_facts.requests) > JUDGED_HERE_MAX
        )
        return batch, await self._judges.run(decide) if is_heavy else decide()

    async def _batch_extensions(
        self, tx: HotTx, requests: Sequence[SendRequest]
    ) -> dict[str, BatchExtension]:
        """Returns the extensions of a batch, by the type of the sends that they go with."""
        types = self._extensions.keys() & {request.type for request in requests}
        return {
            kind: await self._extensions[kind].for_batch(
                tx, [request for request in requests if request.type == kind]
            )
            for kind in sorted(types)
        }


def answering_sends(accepted: Sequence[AcceptedSend]) -> list[store_sql.AnsweringSend]:
    """Returns which of these sends answer a text from a handset."""
    return [
        store_sql.AnsweringSend(
            ids.raw_of_number(each.request.number),
            each.request.answers_id,
            each.request.outlives_opt_outs,
        )
        for each in accepted
        if each.request.answers_id is not None
    ]


def _keys_of(requests: Sequence[SendRequest]) -> list[ScopedKey]:
    return [key for key in map(key_of, requests) if key is not None]


async def _find_used_keys(tx: HotTx, asked: Sequence[ScopedKey]) -> UsedKeys[Send]:
    """Returns which of the Idempotency-Keys were used, with the sends that used them."""
    stored = await find_keys(tx, asked, clock.now_ms())
    send_ids = [key.send_id for key in stored if key.send_id is not None]
    sends = {send.id: send for send in await read_sql.find_sends(tx, send_ids)}
    used = UsedKeys[Send]()
    for key in stored:
        if key.send_id is not None:
            used.add(key.scoped, key.body_sha256, sends[key.send_id])
    return used


async def _replay_refused(
    tx: HotTx, requests: Sequence[SendRequest], results: list[SendResult | ServiceError]
) -> None:
    """Replaces refusals of requests whose Idempotency-Key turns out to have been used."""
    refused = [i for i, result in enumerate(results) if isinstance(result, ServiceError)]
    if not refused:
        return
    used_keys = await _find_used_keys(tx, _keys_of([requests[i] for i in refused]))
    for i in refused:
        earlier = used_keys.replay(key_of(requests[i]), requests[i].body_sha256)
        if earlier is not None:
            results[i] = replay_result(earlier)


async def _find_stored(tx: HotTx, requests: Sequence[SendRequest]) -> dict[str, Send]:
    """Returns, after a lost reply to COMMIT, the sends of this batch that it had committed after
    all.
    """
    return {
        send.id: send
        for send in await read_sql.find_sends(
            tx, [ids.raw_of_number(request.number) for request in requests]
        )
    }


def _load_facts(
    tx: Connection, keys: Sequence[tuple[str, bool]]
) -> dict[tuple[str, bool], AccountFacts]:
    of_account = sa.select(
        accounts.c.id,
        accounts.c.countries,
        accounts.c.daily_credits,
        accounts.c.parent_id,
        accounts.c.sandbox,
        accounts.c.transactional,
    )
    account_ids = {account_id for account_id, _ in keys}
    quotas, senders = storage_of_keys.quotas_of(tx, account_ids), approved_senders(tx, account_ids)
    known = {
        row.id: AccountFacts(
            {},
            frozenset(row.countries.split(",")) if row.countries is not None else None,
            row.daily_credits,
            keys_quota=quotas[row.id],
            partner_id=row.parent_id,
            sandbox_only=bool(row.sandbox),
            transactional=bool(row.transactional),
        )
        for row in tx.execute(of_account.where(accounts.c.id.in_(account_ids)))
    }
    return {
        (account_id, sandbox): known[account_id]._replace(
            senders=senders.get((account_id, sandbox), {})
        )
        for account_id, sandbox in keys
        if account_id in known
    }


def _load_tariff(tx: Connection, keys: Sequence[int]) -> dict[int, Tariff]:
    return {0: load_tariff(tx)}


def load_tariff(tx: Connection, account_id: str | None = None) -> Tariff:
    """Loads routes and rates as they are now: all rates, or those that hold for an account (raw
    id).
    """
    rates = current_rates.load_of(tx, None if account_id is None else {GENERAL, account_id})
    return Tariff(
        routing.Routes(routing.load_routes(tx)),
        current_rates.Rates(rates),
        down_carriers(tx, clock.now_ms()),
    )


FACTS: Final = CachedKind("account", _load_facts)  # by raw id and mode
TARIFF: Final = CachedKind("tariff", _load_tariff)  # the one there is, by 0


async def facts_of(cache: ConfigCache, account_id: str, sandbox: bool) -> AccountFacts:
    """Returns what is known of an account (raw id) in a mode. Raises Unavailable."""
    facts = await cache.get(FACTS, (account_id, sandbox))
    assert facts is not None  # accounts are never deleted
    return facts


async def tariff_of(cache: ConfigCache) -> Tariff:
    """Returns the routes and rates as they are now. Raises Unavailable."""
    tariff = await cache.get(TARIFF, 0)
    assert tariff is not None
    return tariff
