"""Heliograph itself, as it is installed: `heliograph serve` with 1,000 accounts and keys, limiter, idempotency and headers on."""

import time
from typing import Any

from bench import load, setup, traffic
from bench.control import ask
from bench.databases import Databases, Place
from bench.processes import NotMeasured, helper
from bench.reading import Conditions, Reading
from bench.server import SECRET_KEY, Serving, outcome, serving, set_up

IDLE_S = 2.0
DRAINED_WITHIN_S = 90.0
POLL_S = 0.2  # asks the SMSC, not the server that is measured


def start(conditions: Conditions, databases: Databases) -> list[Reading]:
    """From the start of the process to the first 200 of /readyz, and its memory then."""
    with set_up(conditions, databases) as place, serving(place) as server:
        kind = databases.kind
        return [Reading(f"ours.start.{kind}", server.ready_s), Reading(f"ours.memory_at_rest.{kind}", server.resident_mib())]


def accept(conditions: Conditions, databases: Databases) -> list[Reading]:
    """One-recipient sends over 64 connections while the carrier is away, so that all stay queued; before that, one at a time on an idle server."""
    kind = databases.kind
    with set_up(conditions, databases) as place, serving(place) as server:
        sends = traffic.single_sends(place.data_dir, server.port, setup.keys_file(place))
        idle = load.run(sends, 1, IDLE_S)
        warm = load.run(sends, conditions.connections, conditions.warm_up_s)
        seen, detail = _measured(server, sends, conditions.connections, conditions.seconds)
        lost = max(0, idle.answered + warm.answered + seen.answered - outcome(place).stored)
        return [
            Reading(f"ours.accept.{kind}", seen.per_s, seen.errors + warm.errors + lost, {**detail, "lost": lost}),
            Reading(f"ours.idle_p50.{kind}", idle.p50_ms, idle.errors),
            Reading(f"ours.idle_p99.{kind}", idle.p99_ms, idle.errors),
            _memory(kind, server),
        ]


def bulk(conditions: Conditions, databases: Databases) -> list[Reading]:
    """10,000-recipient sends over 4 connections while the carrier is away: recipients a second."""
    kind, each = databases.kind, conditions.bulk_recipients
    with set_up(conditions, databases) as place, serving(place) as server:
        sends = traffic.bulk_sends(place.data_dir, server.port, setup.keys_file(place), each)
        warm = load.run(sends, conditions.bulk_connections, conditions.warm_up_s)
        seen, detail = _measured(server, sends, conditions.bulk_connections, conditions.seconds)
        lost = max(0, (warm.answered + seen.answered) * each - outcome(place).stored)
        return [Reading(f"ours.bulk.{kind}", seen.per_s * each, seen.errors + warm.errors + lost, {**detail, "lost": lost}), _memory(kind, server)]


def drain(conditions: Conditions, databases: Databases) -> list[Reading]:
    """A queue of one-recipient sends made while the carrier is away, then let go: queued, sent, delivered by receipts. From the first submit_sm."""
    kind = databases.kind
    with set_up(conditions, databases) as place:
        with serving(place) as server:
            sends = traffic.single_sends(place.data_dir, server.port, setup.keys_file(place))
            filled = load.run(sends, conditions.connections, conditions.fill_s)
        with helper("bench.smsc", "--receipts", "--track", log=conditions.folder / "smsc.log") as smsc:
            setup.point_carrier(place, smsc["port"], SECRET_KEY)
            with serving(place) as server:
                used = server.cpu_seconds()
                per_s, errors, detail = _delivered(place, smsc["control_port"], filled.answered)
                detail["cpu_s"] = server.cpu_seconds() - used
                return [Reading(f"ours.drain.{kind}", per_s, errors + filled.errors, detail), _memory(kind, server)]


def flow(conditions: Conditions, databases: Databases) -> list[Reading]:
    """One-recipient sends over 64 connections while the carrier takes them and sends receipts: accepted, and delivered, a second."""
    kind = databases.kind
    with set_up(conditions, databases) as place, helper("bench.smsc", "--receipts", "--track", log=conditions.folder / "smsc.log") as smsc:
        setup.point_carrier(place, smsc["port"], SECRET_KEY)
        with serving(place) as server:
            sends = traffic.single_sends(place.data_dir, server.port, setup.keys_file(place))
            seen, detail = _measured(server, sends, conditions.connections, conditions.seconds)
            per_s, errors, rest = _delivered(place, smsc["control_port"], seen.answered)
            return [
                Reading(f"ours.flow_accept.{kind}", seen.per_s, seen.errors, detail),
                Reading(f"ours.flow.{kind}", per_s, errors + seen.errors, rest),
                _memory(kind, server),
            ]


def _measured(server: Serving, sends: traffic.Traffic, connections: int, seconds: float) -> tuple[load.Load, dict[str, Any]]:
    """A load run, and how the server fared meanwhile."""
    used = server.cpu_seconds()
    seen = load.run(sends, connections, seconds)
    return seen, {"p50_ms": seen.p50_ms, "p99_ms": seen.p99_ms, "cores": (server.cpu_seconds() - used) / seen.seconds}


def _memory(kind: str, server: Serving) -> Reading:
    return Reading(f"ours.memory.{kind}", server.peak_resident_mib())


def _delivered(place: Place, control_port: int, answered: int) -> tuple[float, int, dict[str, Any]]:
    """Waits until every stored message is delivered: messages a second from the first submit_sm to the last `delivered`, errors, detail.

    Lost, failed, undelivered and twice submitted messages are errors. Raises NotMeasured when nothing was delivered."""
    deadline = time.monotonic() + DRAINED_WITHIN_S
    expected = outcome(place).stored  # the load is over: no more will come
    counted = ask(control_port)
    while counted["receipts_answered"] < expected and time.monotonic() < deadline:
        time.sleep(POLL_S)
        counted = ask(control_port)
    seen = outcome(place)
    if not seen.delivered:
        raise NotMeasured(f"no message was delivered within {DRAINED_WITHIN_S:g} s: {seen}, SMSC {counted}")
    per_s = seen.delivered / (seen.last_delivered_at_s - counted["first_submit_at"])
    lost = max(0, answered - seen.stored)
    errors = lost + seen.stored - seen.delivered + counted["duplicates"]
    return per_s, errors, {"stored": seen.stored, "delivered": seen.delivered, "failed": seen.failed, "lost": lost, "smsc": counted}
