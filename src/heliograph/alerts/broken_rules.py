"""Finds what breaks a rule now, with bounded statements. It reads the figures of carriers and
processes that the page *Now* shows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts, wallet
from heliograph.alerts.rules import AlertKind, AlertRule
from heliograph.alerts.tables import SUBJECT_MAX, TITLE_MAX
from heliograph.alerts.watched_wallets import all_watched
from heliograph.base.clock import MINUTE_MS
from heliograph.base.short_texts import shorten
from heliograph.carriers import SIMULATOR_ID, LinkState
from heliograph.monitoring import (
    SAMPLES_LATE_MS,
    ServiceFigures,
    asked,
    carrier_checks,
    queue_causes,
    service_figures,
)
from heliograph.wallet import alarm
from heliograph.webhooks import endpoints

FOUND_MAX: Final = 20  # of one rule: when all of them break at once, more letters tell no more
RECEIPTS_MIN: Final = 100  # of an hour: the rate of fewer is chance
MIB: Final = 1 << 20


class Breach(NamedTuple):
    """Says what breaks a rule. `subject` is what it is about, the same at each look."""

    kind: AlertKind
    subject: str
    title: str
    found: str
    remedy: str


class FoundBreaches(NamedTuple):
    """Holds what one look has found. `unknown` has the kinds that were not looked at completely: a
    breach of them that was not found may still go on.
    """

    breaches: list[Breach]
    unknown: frozenset[AlertKind]


class _RuleCheck(NamedTuple):
    tx: Connection
    at: ServiceFigures
    now_ms: int


def find_breaches_of(tx: Connection, rules: list[AlertRule], now_ms: int) -> FoundBreaches:
    """Returns the breaches of these rules at a moment."""
    check = _RuleCheck(tx, service_figures(tx, now_ms), now_ms)
    sampled_at_ms = check.at.sampled_at_ms
    is_late = sampled_at_ms is None or now_ms - sampled_at_ms > SAMPLES_LATE_MS
    breaches: list[Breach] = []
    unknown: set[AlertKind] = set()
    for rule in rules:
        if not rule.is_on:
            continue
        if is_late and rule.kind in (AlertKind.BACKLOG, AlertKind.DELIVERY_RATE):
            unknown.add(rule.kind)
            continue
        found = list(_FINDERS[rule.kind](check, rule.threshold or 0))
        if len(found) >= FOUND_MAX:
            unknown.add(rule.kind)
        breaches += [_cut_to_length(breach) for breach in found[:FOUND_MAX]]
    return FoundBreaches(breaches, frozenset(unknown))


def _cut_to_length(breach: Breach) -> Breach:
    return breach._replace(
        subject=shorten(breach.subject, SUBJECT_MAX - 1), title=shorten(breach.title, TITLE_MAX - 1)
    )


def _carriers_down(check: _RuleCheck, _: int) -> Iterator[Breach]:
    """Finds carriers without a bound session. One that drains is being taken away."""
    for now in check.at.carriers:
        carrier = now.carrier
        if carrier.id == SIMULATOR_ID or carrier.draining or carrier.state == LinkState.BOUND.value:
            continue
        why = carrier.state_detail or carrier.state.replace("_", " ")
        yield Breach(
            AlertKind.CARRIER_DOWN,
            str(carrier.id),
            f"Carrier {carrier.name} is down",
            f"It has no bound session: {why}.",
            asked(carrier_checks.remedy(carrier)),
        )


def _backlogs(check: _RuleCheck, most_s: int) -> Iterator[Breach]:
    causes = queue_causes(check.tx, check.at, check.now_ms)
    for now in check.at.carriers:
        name, levels = now.carrier.name, now.levels
        oldest_s = max(levels["oldest_ahead_s"], levels["oldest_bulk_s"])
        waiting = levels["waiting_ahead"] + levels["waiting_bulk"]
        if waiting and oldest_s > most_s:
            yield Breach(
                AlertKind.BACKLOG,
                str(now.carrier.id),
                f"Messages wait too long for carrier {name}",
                f"{waiting} wait for it, the oldest for {oldest_s} s.",
                causes.remedy(now.carrier),
            )


def _delivery_rates(check: _RuleCheck, least_percent: int) -> Iterator[Breach]:
    for now in check.at.carriers:
        delivered, failed = now.hour["delivered"], now.hour["undelivered"]
        known = delivered + failed
        if known >= RECEIPTS_MIN and delivered * 100 < least_percent * known:
            yield Breach(
                AlertKind.DELIVERY_RATE,
                str(now.carrier.id),
                f"Carrier {now.carrier.name} delivers too few messages",
                f"{delivered} of {known} receipts of the last hour say that a segment was"
                f" delivered, which is {delivered * 100 // known} %.",
                "See which errors its receipts have, and ask the carrier. Until it is mended,"
                " another carrier may take its routes.",
            )


def _low_wallets(check: _RuleCheck, _: int) -> Iterator[Breach]:
    watched = all_watched(check.tx)
    wallets = wallet.wallets_of(check.tx, [each.account.id for each in watched])
    for each in watched:
        has = wallets[each.account.id].visible_figures.sms_credits
        if alarm.is_below(has, each.credits_min) and each.account.closed_at_ms is None:
            yield Breach(
                AlertKind.WALLET_LOW,
                each.account.id,
                f"The wallet of {each.account.name} is low",
                f"It has {has} SMS credits, and is to have {each.credits_min}.",
                "Ask the customer to buy credits, or grant some.",
            )


def _full_disks(check: _RuleCheck, least_mib: int) -> Iterator[Breach]:
    """Finds machines of whose data directories one has too little room."""
    free_of: defaultdict[str, list[int]] = defaultdict(list)
    for process in check.at.processes:
        figures = process.figures
        if figures is not None and figures.disk_free_octets is not None:
            free_of[figures.host].append(figures.disk_free_octets)
    for host, free in sorted(free_of.items()):
        if min(free) < least_mib * MIB:
            yield Breach(
                AlertKind.DISK,
                host,
                f"The disk of {host} is nearly full",
                f"{min(free) // MIB} MiB are free for its data directory.",
                "Make room: with a full disk nothing is accepted.",
            )


def _failing_webhooks(check: _RuleCheck, failing_min: int) -> Iterator[Breach]:
    troubled = endpoints.failing_endpoints(
        check.tx,
        failing_before_ms=check.now_ms - failing_min * MINUTE_MS,
        disabled_after_ms=check.now_ms - endpoints.DISABLED_TOLD_MS,
        limit=FOUND_MAX,
    )
    for endpoint in troubled:
        text_id = endpoints.text_id(endpoint.id)
        owner = accounts.by_id(check.tx, endpoint.account_id).name
        is_disabled = endpoint.disabled_at_ms is not None
        yield Breach(
            AlertKind.WEBHOOK_FAILING,
            endpoint.id,
            f"A webhook endpoint of {owner} fails",
            f"{text_id} has disabled itself after its failures."
            if is_disabled
            else f"{text_id} has met nothing but failures for {failing_min} minutes or longer.",
            f"Tell the customer. Run heliograph webhook attempts {text_id} to see why it fails.",
        )


_FINDERS: Final[dict[AlertKind, Callable[[_RuleCheck, int], Iterator[Breach]]]] = {
    AlertKind.CARRIER_DOWN: _carriers_down,
    AlertKind.BACKLOG: _backlogs,
    AlertKind.DELIVERY_RATE: _delivery_rates,
    AlertKind.WALLET_LOW: _low_wallets,
    AlertKind.DISK: _full_disks,
    AlertKind.WEBHOOK_FAILING: _failing_webhooks,
}
