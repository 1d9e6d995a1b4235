"""Tells of queues that are stuck or grow, and what to do about each by its cause: a carrier that is
paused, one that is down, one that drains, one that takes nothing, or one that is too slow.
"""

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph.base.short_texts import duration_in_words
from heliograph.carriers import SIMULATOR_ID, Carrier, LinkState, down_carriers, routing
from heliograph.monitoring import carrier_checks
from heliograph.monitoring.service_figures import CarrierNow, ServiceFigures, samples_at
from heliograph.monitoring.tables import TEN_SECONDS_MS, service_samples
from heliograph.monitoring.told_sentences import asked, grouped

COMPARED_MS: Final = 300_000  # a backlog grows if it was shorter then
AHEAD_WAITS_S: Final = 15  # one-time passwords that wait longer are of little use
BULK_WAITS_S: Final = 120


class NextCarriers(Enum):
    """Says of how many of a carrier's routes another carrier takes texts now. Where no route leads
    to the carrier, its texts may take a shorter prefix, so that counts as some.
    """

    OF_ALL = "all"
    OF_SOME = "some"
    OF_NONE = "none"


class QueueTold(NamedTuple):
    """Says of a carrier's queue what is wrong with it, without a full stop, and what to do."""

    carrier: Carrier
    found: str
    remedy: str


class QueueCauses(NamedTuple):
    """Holds what explains why texts wait: who stands in for each carrier, and how many segments
    each has taken since COMPARED_MS. A carrier of which that is not known is not in `taken`.
    """

    next_carriers: Mapping[int, NextCarriers]
    taken: Mapping[int, int]

    def is_stopped(self, carrier: Carrier) -> bool:
        """Returns whether nothing leaves the carrier's queue now."""
        return _is_off(carrier) or self.taken.get(carrier.id) == 0

    def remedy(self, carrier: Carrier) -> str:
        """Returns what to do about a queue that waits, in sentences."""
        name, stands_in = carrier.name, self.next_carriers[carrier.id]
        raised = f"(heliograph carrier set {name} --tps N --window N)"
        if carrier.paused:
            resumed = f"Resume it (heliograph carrier resume {name})"
            if stands_in is NextCarriers.OF_ALL:
                return f"{resumed}. {self.fate(carrier)}"
            return f"{resumed}, or give its route another carrier (heliograph route set)."
        if carrier.id == SIMULATOR_ID:
            return (
                "See whether a server runs, and what else its machine does: the simulator has no"
                " rate and no window."
            )
        if _is_off(carrier):
            remedy = asked(carrier_checks.remedy(carrier))
            if stands_in is NextCarriers.OF_NONE:
                remedy += " No other carrier of its route takes texts: give it one (heliograph"
                remedy += " route set)."
            return remedy
        paused = ", or pause it, so that what waits takes the next carrier of its route"
        other = "" if stands_in is NextCarriers.OF_NONE else paused
        if self.taken.get(carrier.id) == 0:
            return (
                "It is bound and takes nothing: see which errors it answers with on Now or in"
                f" /metrics, ask the carrier{other}."
            )
        if carrier.draining:
            return (
                "It drains, and what waits for it still goes out: raise its rate or window if the"
                f" carrier allows it {raised}{other}."
            )
        return (
            f"Raise its rate or window if the carrier allows it {raised}, or add a carrier to its"
            " routes."
        )

    def fate(self, carrier: Carrier) -> str:
        """Returns what becomes of the texts that wait for a carrier that is paused."""
        match self.next_carriers[carrier.id]:
            case NextCarriers.OF_ALL:
                return "What waits for it takes the next carrier of its route."
            case NextCarriers.OF_NONE:
                return "What waits for it goes on waiting: no other carrier of its route takes any."
            case NextCarriers.OF_SOME:
                return (
                    "What waits for it takes the next carrier of its route where one takes texts,"
                    " and else goes on waiting."
                )


def queue_causes(tx: Connection, at: ServiceFigures, now_ms: int) -> QueueCauses:
    """Returns what explains why texts wait at a moment."""
    routes, down = routing.all_routes(tx), down_carriers(tx, now_ms)
    no_others = down | {now.carrier.id for now in at.carriers if now.carrier.draining}
    return QueueCauses(
        {now.carrier.id: _next_carriers(now.carrier.id, routes, no_others) for now in at.carriers},
        _taken(tx, at.sampled_at_ms) if any(map(_has_old, at.carriers)) else {},
    )


def queues_told(tx: Connection, at: ServiceFigures, causes: QueueCauses) -> Iterator[QueueTold]:
    """Tells of queues whose oldest text has waited for too long, unless they shrink because the
    carrier takes texts. Where no sample was taken some minutes ago, they may grow.
    """
    if not any(map(_has_old, at.carriers)):
        return
    assert at.sampled_at_ms is not None  # something was measured
    before = samples_at(tx, at.sampled_at_ms - COMPARED_MS)
    for now in at.carriers:
        carrier, was = now.carrier, before.get(now.carrier.id)
        is_stopped = causes.is_stopped(carrier)
        for waiting_in, what in _old_queues(now):
            waiting = now.levels[f"waiting_{waiting_in}"]
            more = None if was is None else waiting - was.levels[f"waiting_{waiting_in}"]
            if more is not None and more < 0 and not is_stopped:
                continue
            oldest = duration_in_words(now.levels[f"oldest_{waiting_in}_s"] * 1_000)
            yield QueueTold(
                carrier,
                f"{_counted(waiting, what)} for carrier {carrier.name}"
                f"{_than_before(more, is_stopped=is_stopped, is_off=_is_off(carrier))}; the oldest"
                f" has waited for {oldest}",
                causes.remedy(carrier),
            )


def _has_old(now: CarrierNow) -> bool:
    return any(_old_queues(now))


def _old_queues(now: CarrierNow) -> Iterator[tuple[str, str]]:
    """Yields the parts of a carrier's queue that wait for too long, with the word for their texts
    after a number.
    """
    for part, waits_s, what in (
        ("ahead", AHEAD_WAITS_S, "priority text"),
        ("bulk", BULK_WAITS_S, "text"),
    ):
        if now.levels[f"waiting_{part}"] and now.levels[f"oldest_{part}_s"] >= waits_s:
            yield part, what


def _counted(waiting: int, what: str) -> str:
    return f"1 {what} waits" if waiting == 1 else f"{grouped(waiting)} {what}s wait"


def _than_before(more: int | None, *, is_stopped: bool, is_off: bool) -> str:
    """Returns how a queue has changed, as a sentence goes on after its length."""
    grown = f", {grouped(more)} more than 5 minutes ago" if more is not None and more > 0 else ""
    if is_stopped:
        taken = "nothing is handed over to it" if is_off else "it has taken none for 5 minutes"
        return f"{grown}, and {taken}"
    return ", as many as 5 minutes ago" if more == 0 else grown


def _is_off(carrier: Carrier) -> bool:
    """Returns whether nothing can be handed over to a carrier, because of its state."""
    return carrier.paused or carrier.state != LinkState.BOUND.value


def _next_carriers(
    carrier_id: int, routes: list[routing.Route], no_others: Collection[int]
) -> NextCarriers:
    have_one = {
        any(other != carrier_id and other not in no_others for other in route.carrier_ids)
        for route in routes
        if carrier_id in route.carrier_ids
    }
    if len(have_one) != 1:
        return NextCarriers.OF_SOME
    return NextCarriers.OF_ALL if have_one == {True} else NextCarriers.OF_NONE


def _taken(tx: Connection, sampled_at_ms: int | None) -> dict[int, int]:
    """Returns how many segments carriers have taken since COMPARED_MS, by the carrier's id. It
    needs a sample of each end.
    """
    if sampled_at_ms is None:
        return {}
    columns, since_ms = service_samples.c, sampled_at_ms - COMPARED_MS
    query = (
        sa.select(columns.carrier_id, sa.func.sum(columns.handed_over).label("taken"))
        .where(columns.step_ms == TEN_SECONDS_MS, columns.at_ms >= since_ms)
        .group_by(columns.carrier_id)
        .having(sa.func.min(columns.at_ms) == since_ms)
    )
    return {row.carrier_id: int(row.taken) for row in tx.execute(query)}
