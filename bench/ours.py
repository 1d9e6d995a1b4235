"""Measures Heliograph itself, as it is installed: `heliograph serve` with 1,000 accounts and keys,
limiter, idempotency and headers on.
"""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import load, setup, traffic
from bench.control import ask
from bench.databases import Databases, Installation
from bench.processes import NotMeasured, cpu_seconds, helper
from bench.reading import Conditions, Reading, together
from bench.server import SECRET_KEY, Serving, count_messages, sending, serving, set_up
from tests.support.services.redis import redis_server

IDLE_S = 2.0
WARM_RUNS_MAX = 15  # of a second each, until every key has been used twice
DRAINED_WITHIN_S = 90.0
POLL_S = 0.2  # asks the SMSC, not the server that is measured


def start(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures the time from the start of the process to the first 200 of /readyz, and its memory
    then.
    """
    with set_up(conditions, databases) as installation, serving(installation) as server:
        kind = databases.kind
        return [
            Reading(f"ours.start.{kind}", server.ready_s),
            Reading(f"ours.memory_at_rest.{kind}", server.resident_mib()),
        ]


def accept(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures one-recipient sends over 64 connections while the carrier is away, so that all stay
    queued; and one at a time on an idle server.
    """
    kind = databases.kind
    with set_up(conditions, databases) as installation, serving(installation) as server:
        sends = traffic.single_sends(
            installation.data_dir, server.port, setup.keys_file(installation)
        )
        warm = _warm(conditions, sends)
        idle = load.run(sends, 1, IDLE_S)
        seen, detail = measured(server, sends, conditions.connections, conditions.seconds)
        lost = {
            "lost": max(
                0,
                warm.answered + seen.answered + idle.answered - count_messages(installation).stored,
            )
        }
        return [
            Reading(f"ours.cold.{kind}", warm.first_s_answered, warm.errors),
            Reading(f"ours.accept.{kind}", seen.per_s, together(seen.errors, lost), detail),
            Reading(f"ours.idle_p50.{kind}", idle.p50_ms, idle.errors),
            Reading(f"ours.idle_p99.{kind}", idle.p99_ms, idle.errors),
            _memory(kind, server),
        ]


def accept_two(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures the same sends, answered by two API processes that count in Redis. What they queue
    waits, for nothing sends it.
    """
    kind = databases.kind
    with (
        redis_server() as redis_url,
        set_up(conditions, databases) as installation,
        serving(installation, "api", "--workers", "2", redis_url=redis_url) as server,
    ):
        sends = traffic.single_sends(
            installation.data_dir, server.port, setup.keys_file(installation)
        )
        warm = _warm(conditions, sends)
        seen = load.run(sends, conditions.connections, conditions.seconds)
        lost = {"lost": max(0, warm.answered + seen.answered - count_messages(installation).stored)}
        detail = {"p50_ms": seen.p50_ms, "p99_ms": seen.p99_ms}
        return [
            Reading(
                f"ours.accept_two.{kind}",
                seen.per_s,
                together(seen.errors, warm.errors, lost),
                detail,
            )
        ]


def bulk(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures recipients a second in 10,000-recipient sends over 4 connections, while the carrier
    is away.
    """
    kind, each = databases.kind, conditions.bulk_recipients
    with set_up(conditions, databases) as installation, serving(installation) as server:
        sends = traffic.bulk_sends(
            installation.data_dir, server.port, setup.keys_file(installation), each
        )
        warm = load.run(sends, conditions.bulk_connections, conditions.warm_up_s)
        seen, detail = measured(server, sends, conditions.bulk_connections, conditions.seconds)
        lost = {
            "lost": max(
                0, (warm.answered + seen.answered) * each - count_messages(installation).stored
            )
        }
        return [
            Reading(
                f"ours.bulk.{kind}",
                seen.per_s * each,
                together(seen.errors, warm.errors, lost),
                detail,
            ),
            _memory(kind, server),
        ]


def drain(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures a queue of one-recipient sends that is made while the carrier is away, and then let
    go: they are queued, sent, and delivered by receipts. The time begins at the first submit_sm.
    """
    kind = databases.kind
    with set_up(conditions, databases) as installation:
        answered, wrong = fill(conditions, installation)
        with helper(
            "bench.smsc", "--receipts", "--track", log=conditions.folder / "smsc.log"
        ) as smsc:
            setup.point_carrier(installation, smsc["port"], SECRET_KEY)
            with serving(installation) as server:
                used = server.cpu_seconds()
                done = until_delivered(installation, smsc["control_port"])
                detail = {"cpu_s": server.cpu_seconds() - used, **asdict(done)}
                errors = together(wrong, done.errors_of(answered))
                return [
                    Reading(f"ours.drain.{kind}", done.per_s, errors, detail),
                    _memory(kind, server),
                ]


def drain_in_processes(
    conditions: Conditions, databases: Databases, processes: int
) -> list[Reading]:
    """Measures the same queue, let go to so many processes of the carrier's own, which do nothing
    else.
    """
    with set_up(conditions, databases) as installation:
        answered, wrong = fill(conditions, installation)
        with helper(
            "bench.smsc", "--receipts", "--track", log=conditions.folder / "smsc.log"
        ) as smsc:
            setup.point_carrier(installation, smsc["port"], SECRET_KEY)
            with sending(installation, processes) as pids:
                done = until_delivered(installation, smsc["control_port"])
                detail = {"cpu_s": sum(map(cpu_seconds, pids)), **asdict(done)}
                errors = together(wrong, done.errors_of(answered))
                return [
                    Reading(f"ours.drain_{processes}.{databases.kind}", done.per_s, errors, detail)
                ]


def flow(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures one-recipient sends over 64 connections while the carrier takes them and sends
    receipts: how many are accepted, and delivered, a second.
    """
    kind = databases.kind
    with (
        set_up(conditions, databases) as installation,
        helper("bench.smsc", "--receipts", "--track", log=conditions.folder / "smsc.log") as smsc,
    ):
        setup.point_carrier(installation, smsc["port"], SECRET_KEY)
        with serving(installation) as server:
            sends = traffic.single_sends(
                installation.data_dir, server.port, setup.keys_file(installation)
            )
            warm = _warm(conditions, sends)
            before = until_delivered(installation, smsc["control_port"])
            ask(smsc["control_port"], "/reset")
            seen, detail = measured(server, sends, conditions.connections, conditions.seconds)
            done = until_delivered(installation, smsc["control_port"], before.stored)
            errors = together(
                seen.errors,
                warm.errors,
                before.errors_of(warm.answered),
                done.errors_of(seen.answered),
            )
            return [
                Reading(f"ours.flow_accept.{kind}", seen.per_s, seen.errors, detail),
                Reading(f"ours.flow.{kind}", done.per_s, errors, asdict(done)),
                _memory(kind, server),
            ]


@dataclass(frozen=True, slots=True)
class Warm:
    """Keeps what warming up sent. The first second is the coldest, because every key is new to the
    server.
    """

    answered: int
    errors: dict[str, int]
    first_s_answered: int


def keys_of(installation: Installation, count: int) -> Path:
    """Writes a file of the first accounts' keys."""
    path = installation.data_dir / f"keys-{count}.txt"
    path.write_text(
        "".join(setup.keys_file(installation).read_text().splitlines(keepends=True)[:count])
    )
    return path


def fill(
    conditions: Conditions, installation: Installation, keys: int | None = None
) -> tuple[int, dict[str, int]]:
    """Makes a queue of one-recipient sends while the carrier is away, with all keys or the first
    few. Returns how many were answered, and what went wrong.
    """
    with serving(installation) as server:
        sends = traffic.single_sends(
            installation.data_dir,
            server.port,
            setup.keys_file(installation) if keys is None else keys_of(installation, keys),
        )
        warm = _warm(conditions, sends)
        filled = load.run(sends, conditions.connections, conditions.fill_s)
        return warm.answered + filled.answered, together(warm.errors, filled.errors)


def _warm(conditions: Conditions, sends: traffic.Traffic) -> Warm:
    """Sends until every key has been used twice."""
    runs: list[load.Load] = []
    while not runs or (
        sum(run.answered for run in runs) < 2 * conditions.accounts and len(runs) < WARM_RUNS_MAX
    ):
        runs.append(load.run(sends, conditions.connections, 1.0))
    return Warm(
        sum(run.answered for run in runs), together(*(run.errors for run in runs)), runs[0].answered
    )


def measured(
    server: Serving,
    sends: traffic.Traffic,
    connections: int,
    seconds: float,
    first: int | None = None,
) -> tuple[load.Load, dict[str, Any]]:
    """Measures a load run, and how the server fared meanwhile."""
    used = server.cpu_seconds()
    seen = load.run(sends, connections, seconds, first)
    return seen, {
        "p50_ms": seen.p50_ms,
        "p99_ms": seen.p99_ms,
        "cores": (server.cpu_seconds() - used) / seen.seconds,
    }


def _memory(kind: str, server: Serving) -> Reading:
    return Reading(f"ours.memory.{kind}", server.peak_resident_mib())


@dataclass(frozen=True, slots=True)
class Done:
    """Tells what became of the messages since the last count, as the database and the
    SMSC tell it.
    """

    per_s: float  # from the first submit_sm to the last `delivered`
    stored: int
    delivered: int
    failed: int
    smsc: dict[str, Any]

    def errors_of(self, answered: int) -> dict[str, int]:
        """Returns how many messages were answered and are not stored, stored and not delivered, or
        submitted twice.
        """
        lost, undelivered = max(0, answered - self.stored), self.stored - self.delivered
        return {
            "lost": lost,
            "not delivered": undelivered,
            "submitted twice": int(self.smsc["duplicates"]),
        }


def until_delivered(installation: Installation, control_port: int, before: int = 0) -> Done:
    """Waits until every stored message is delivered, or the time is over. The first `before` of
    them were delivered already.

    Raises NotMeasured when nothing was delivered.
    """
    deadline = time.monotonic() + DRAINED_WITHIN_S
    seen, counted = count_messages(installation), ask(control_port)
    while True:
        while counted["receipts_answered"] < seen.stored - before and time.monotonic() < deadline:
            time.sleep(POLL_S)
            counted = ask(control_port)
        expected, seen = seen.stored, count_messages(installation)
        # else the load's last requests were stored when it had gone already
        if seen.stored == expected or time.monotonic() >= deadline:
            break
    if seen.delivered <= before:
        raise NotMeasured(
            f"no message was delivered within {DRAINED_WITHIN_S:g} s: {seen}, SMSC {counted}"
        )
    per_s = (seen.delivered - before) / (seen.last_delivered_at_s - counted["first_submit_at"])
    return Done(per_s, seen.stored - before, seen.delivered - before, seen.failed, counted)
