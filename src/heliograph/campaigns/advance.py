"""Moves campaigns on: it expands them, completes them, and resumes them after a top-up, and it
holds or fails their queued messages.

One process does it for all. Everything that it knows is in the database but how much a campaign's
rate still allows: after a start that begins anew.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

from sqlalchemy.engine import Connection

from heliograph.base import cancelling, clock, ids, metrics
from heliograph.base.log import Log, error_fields, survive_faults
from heliograph.campaigns import due_steps, opt_outs
from heliograph.campaigns.due_steps import QuickCheck, RunningCampaign
from heliograph.campaigns.expand import Expanded, expand
from heliograph.campaigns.states import CANCELED, PAUSED, PAUSED_BY_OPERATOR, SENDING
from heliograph.database.database import Database
from heliograph.messages import groups
from heliograph.messages.accept import Chunker
from heliograph.messages.read import CAMPAIGN_PREFIX
from heliograph.messages.sweeps import fail_canceled, hold, release, wait_for_accepting
from heliograph.opt_outs import due_notes

STEPS_S: Final = 1.0  # what is held, let go or failed in one look; the rest at the next
# what becomes messages in one look: pauses, cancels and opt-outs of others wait no longer than that
EXPAND_S: Final = 1.0
# recipients in one transaction: the account's other sends wait for it, about 50 ms
CHUNK: Final = 2_000
# messages of one campaign: the queue stays short, and a pause or a cancel has little to do
QUEUED_AHEAD_MAX: Final = 10_000
# seconds of a campaign's rate that wait in the queue at most: so it stays near its rate when a
# carrier that was away comes back
RATED_AHEAD_S: Final = 5
RATED_AHEAD_MIN: Final = 5
BURST_S: Final = 0.5  # of a rate may be queued at once

T = TypeVar("T")
log = Log(__name__)


class _Bucket(NamedTuple):
    """Holds how many messages a campaign's rate still allowed at a moment."""

    tokens: float
    at_s: float


class Advancer:
    """Moves on the campaigns of one database, as long as this process is the one that does.
    `on_queued` is told which carriers have something to send. `chunk` is how many recipients one
    transaction takes, and `ahead` how many messages of a campaign are queued at most.
    """

    def __init__(
        self,
        db: Database,
        chunker: Chunker,
        on_queued: Callable[[set[int]], None],
        *,
        chunk: int = CHUNK,
        ahead: int = QUEUED_AHEAD_MAX,
    ) -> None:
        self._db = db
        self._chunker = chunker
        self._on_queued = on_queued
        self._most, self._ahead = chunk, ahead
        self._buckets: dict[str, _Bucket] = {}
        self._next = ""  # whose turn it is to be expanded

    async def once(self) -> bool:
        """Looks at all campaigns that are under way, and returns whether there are any. A campaign
        that cannot go on now is looked at again the next time.
        """
        campaigns, opted_out = await asyncio.to_thread(self._at_work)
        if opted_out:
            await self._apply_opt_outs()
        self._buckets = {
            campaign.id: self._buckets[campaign.id]
            for campaign in campaigns
            if campaign.id in self._buckets
        }
        for campaign in campaigns:
            with survive_faults("campaign_not_settled", campaign=_text_id(campaign)):
                await self._carry_out(campaign)
        await self._expand(
            [
                campaign
                for campaign in campaigns
                if campaign.status == SENDING and not campaign.expanded
            ]
        )
        return bool(campaigns)

    async def quick_check(self) -> QuickCheck:
        """Returns what a quick query finds to do: a whole look takes several queries, and slows
        down what is sent.
        """
        return await asyncio.to_thread(self._quick_check)

    def _quick_check(self) -> QuickCheck:
        with self._db.read() as tx:
            return due_steps.quick_check(tx)

    def _at_work(self) -> tuple[list[RunningCampaign], bool]:
        """Returns the campaigns at work, and whether somebody has opted out."""
        with self._db.read() as tx:
            return due_steps.running_campaigns(tx), due_notes.has_due(tx, clock.now_ms())

    # what is decided already

    async def _apply_opt_outs(self) -> None:
        """Takes out those who have opted out, before anything else is done for them: they get
        nothing more.
        """
        until_s = clock.monotonic_s() + STEPS_S
        with survive_faults("opt_outs_not_heeded"):  # the campaigns go on
            more = True
            while more and clock.monotonic_s() < until_s:
                async with self._db.hot() as tx:
                    noted_accounts = await opt_outs.mark_seen(tx)
                if noted_accounts:
                    await wait_for_accepting(self._db, noted_accounts)
                async with self._db.hot() as tx:
                    more = (
                        await opt_outs.apply_due_notes(tx, clock.now_ms()) == opt_outs.AT_ONCE_MAX
                    )

    async def _carry_out(self, campaign: RunningCampaign) -> None:
        if campaign.status == CANCELED:
            await self._cancel(campaign)
        elif campaign.expanded and not campaign.queued:
            if await self._change(lambda tx: due_steps.complete(tx, campaign.id)):
                log.info("campaign_completed", campaign=_text_id(campaign))
        elif campaign.status == PAUSED and campaign.status_reason == PAUSED_BY_OPERATOR:
            if not campaign.held and await self._all(hold, campaign):
                await self._change(lambda tx: groups.mark_all_held(tx, campaign.group_id))
        elif campaign.status == PAUSED and campaign.can_go_on:
            await self._change(lambda tx: due_steps.go_on(tx, campaign))
            log.info("campaign_resumed", campaign=_text_id(campaign))
        elif campaign.held and await self._all(release, campaign):
            await self._change(lambda tx: groups.mark_all_released(tx, campaign.group_id))

    async def _cancel(self, campaign: RunningCampaign) -> None:
        """Fails what is queued of a canceled campaign. What a carrier has at that moment goes
        on; what comes back from it fails at a later look. When nothing is queued, the campaign
        has ended.
        """
        if not campaign.queued:
            await self._change(lambda tx: due_steps.end_canceled(tx, campaign.id))
            return
        until_s = clock.monotonic_s() + STEPS_S
        while (
            await fail_canceled(self._db, campaign.group_id, clock.now_ms())
            and clock.monotonic_s() < until_s
        ):
            pass

    async def _all(
        self, move: Callable[[Database, int], Awaitable[int]], campaign: RunningCampaign
    ) -> bool:
        """Calls `move` batch by batch, and returns whether nothing is left to move."""
        until_s = clock.monotonic_s() + STEPS_S
        while await move(self._db, campaign.group_id):
            if clock.monotonic_s() > until_s:
                return False
        return True

    async def _change(self, effect: Callable[[Connection], T]) -> T:
        return await asyncio.to_thread(self._db.transact, effect)

    # what is still to be sent

    async def _expand(self, campaigns: list[RunningCampaign]) -> None:
        """Expands chunk by chunk, in turns, as long as any has room. What time has run out for is
        first at the next look.
        """
        queued = {campaign.id: campaign.queued for campaign in campaigns}
        waiting = deque(
            sorted(campaigns, key=lambda campaign: (campaign.id < self._next, campaign.id))
        )
        until_s = clock.monotonic_s() + EXPAND_S
        while waiting:
            campaign = waiting.popleft()
            most = self._room(campaign, queued[campaign.id])
            if most < 1:
                continue
            try:
                done = await self._chunk(campaign, most)
            # whatever it was, the others go on, and this one at the next look
            except Exception as error:  # noqa: BLE001
                cancelling.raise_if_cancelled(error)
                log.error(
                    "campaign_not_expanded", campaign=_text_id(campaign), **error_fields(error)
                )
                continue
            queued[campaign.id] += done.messages if done is not None else 0
            if done is not None and not done.is_whole and done.paused is None:
                waiting.append(campaign)
            if waiting and clock.monotonic_s() >= until_s:
                self._next = waiting[0].id
                return

    def _room(self, campaign: RunningCampaign, queued: int) -> int:
        """Returns how many recipients may be taken now."""
        if campaign.rate is None:
            return min(self._most, self._ahead - queued)
        now_s = clock.monotonic_s()
        most = max(1.0, campaign.rate * BURST_S)
        before = self._buckets.get(campaign.id, _Bucket(most, now_s))
        bucket = self._buckets[campaign.id] = _Bucket(
            min(most, before.tokens + (now_s - before.at_s) * campaign.rate), now_s
        )
        ahead = min(self._ahead, max(RATED_AHEAD_MIN, campaign.rate * RATED_AHEAD_S))
        return min(self._most, ahead - queued, int(bucket.tokens))

    async def _chunk(self, campaign: RunningCampaign, most: int) -> Expanded | None:
        started_s = clock.monotonic_s()
        with self._chunker.queue.give_ranks() as ranks:
            async with self._db.hot() as tx:
                done = await expand(tx, ranks, self._chunker, campaign.id, most)
        if done is None:
            return None
        if campaign.rate is not None:
            bucket = self._buckets[campaign.id]
            self._buckets[campaign.id] = bucket._replace(tokens=bucket.tokens - done.messages)
        metrics.count_transaction("chunk", done.messages, clock.monotonic_s() - started_s)
        metrics.count_accepted(done.messages, sandbox=campaign.sandbox)
        if done.paused is not None:
            log.info("campaign_paused", campaign=_text_id(campaign), reason=done.paused)
        if done.carrier_ids:
            self._on_queued(set(done.carrier_ids))
        return done


def _text_id(campaign: RunningCampaign) -> str:
    return ids.text_of_raw(CAMPAIGN_PREFIX, campaign.id)
