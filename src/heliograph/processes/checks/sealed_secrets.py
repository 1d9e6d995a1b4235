"""Finds which key reads each secret that is sealed with HELIOGRAPH_SECRET_KEY, wherever it is
stored, and seals the secrets anew with another key.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import alerts, carriers, otp
from heliograph.base import clock
from heliograph.base.errors import Conflict
from heliograph.base.secrets import Keys, SecretKeys, key_id
from heliograph.base.settings import Settings
from heliograph.database import secret_key_canary
from heliograph.database.database import Database
from heliograph.database.leases import workers
from heliograph.database.sealed_columns import SealedColumn, reseal_some, tally
from heliograph.monitoring import CheckResult
from heliograph.processes.checks import key_findings
from heliograph.processes.checks.restore_check import ProcessesRun, exclude_other_processes
from heliograph.users import two_step
from heliograph.webhooks import endpoints

PLACES: Final[tuple[SealedColumn, ...]] = (
    *carriers.SEALED,
    *endpoints.SEALED,
    *otp.SEALED,
    *two_step.SEALED,
    *alerts.SEALED,
)
# after another key came into use: by then no process seals with the one before (database/cache.py:
# STALE_S)
SETTLED_MS: Final = 3_000
LOOK_S: Final = 0.2


class KeyUnknown(Conflict):
    """Processes run that do not know the new secret key."""


class Rotated(NamedTuple):
    """Counts how many secrets were encrypted anew and how many no key can read, and says how long
    some processes may still need the former key.
    """

    resealed: dict[str, int]
    unreadable: dict[str, int]
    old_needed_until_ms: int


def key_of_stored(tx: Connection, secret_keys: Sequence[str], now_ms: int) -> str | None:
    """Returns the first of these keys that reads any of the stored secrets; None if none
    does, and the first key where nothing is stored.
    """
    tallies = {key: [tally(tx, place, key, now_ms) for place in PLACES] for key in secret_keys}
    if not any(each.readable or each.unreadable for each in tallies[secret_keys[0]]):
        return secret_keys[0]
    return next(
        (key for key, counts in tallies.items() if any(each.readable for each in counts)), None
    )


def unreadable(tx: Connection, keys: Keys, now_ms: int) -> dict[str, int]:
    """Returns how many texts of each place none of the keys reads; only places that have some."""
    found = {place.name: tally(tx, place, keys, now_ms).unreadable for place in PLACES}
    return {name: count for name, count in found.items() if count}


def rotate(db: Database, settings: Settings, *, lost: bool = False) -> Rotated:
    """Brings HELIOGRAPH_SECRET_KEY into use, and seals with it what HELIOGRAPH_SECRET_KEY_OLD
    sealed. It goes on where an earlier call was broken off. `lost` says whether the key in use is
    lost, and with it what only that key reads.

    Raises KeyUnknown when processes run that do not know the new key, SettingError when the key in
    use is not among the two, Unavailable.
    """
    since_ms = asyncio.run(_bring_into_use(db, settings, lost=lost))
    keys, resealed = settings.secret_keys, Counter({place.name: 0 for place in PLACES})
    while isinstance(keys, SecretKeys):
        now_ms = clock.now_ms()
        found = {place.name: _reseal(db, place, keys, now_ms) for place in PLACES}
        resealed.update(found)
        if not any(found.values()) and now_ms >= since_ms + SETTLED_MS:
            break
        time.sleep(LOOK_S)
    db.transact(lambda tx: secret_key_canary.finish(tx, since_ms))
    with db.read() as tx:
        return Rotated(
            dict(resealed),
            unreadable(tx, settings.secret_key, clock.now_ms()),
            since_ms + key_findings.STILL_VALID_MS,
        )


async def _bring_into_use(db: Database, settings: Settings, *, lost: bool) -> int:
    """Returns since when the key is in use. Where no process runs, the rows that killed
    ones have left in `workers` do not count.
    """
    try:
        async with exclude_other_processes(db, settings):
            return await asyncio.to_thread(
                db.transact, lambda tx: _replace(tx, settings, lost=lost, alone=True)
            )
    except ProcessesRun:
        return await asyncio.to_thread(
            db.transact, lambda tx: _replace(tx, settings, lost=lost, alone=False)
        )


def _replace(tx: Connection, settings: Settings, *, lost: bool, alone: bool) -> int:
    canary = secret_key_canary.load(tx, locked=True) or secret_key_canary.make(
        tx, settings.secret_key, clock.now_ms()
    )
    if not lost:
        secret_key_canary.in_use(canary, settings.secret_keys)
    if secret_key_canary.is_made_with(canary.sealed, settings.secret_key):
        return canary.since_ms
    if not alone:
        _require_known(tx, settings.secret_key)
    now_ms = clock.now_ms()
    secret_key_canary.replace(
        tx, settings.secret_key, former=None if lost else canary.sealed, now_ms=now_ms
    )
    return now_ms


def _require_known(tx: Connection, secret_key: str) -> None:
    """Checks that every running process knows the new secret key. Raises KeyUnknown."""
    rows = tx.execute(sa.select(workers.c.kind, workers.c.secret_keys)).all()
    without = Counter(
        kind for kind, ids in rows if key_id(secret_key) not in (ids or "").split(",")
    )
    if without:
        named = ", ".join(f"{count} {kind}" for kind, count in sorted(without.items()))
        raise KeyUnknown(
            f"Some running processes do not know this HELIOGRAPH_SECRET_KEY: {named}. Restart each"
            " of them with both keys first. A process that has just died is counted for 45 s more."
        )


def _reseal(db: Database, place: SealedColumn, keys: SecretKeys, now_ms: int) -> int:
    done, last = 0, None
    while True:
        batch = db.transact(
            partial(reseal_some, sealed_column=place, keys=keys, after=last, now_ms=now_ms)
        )
        done, last = done + batch.rows, batch.last
        if last is None:
            return done


def findings(tx: Connection, settings: Settings) -> Iterator[CheckResult]:
    """Yields what it says of the key, and of all that is sealed with it: each secret is tried."""
    yield from key_findings.of_key(tx, settings)
    lost = unreadable(tx, settings.secret_keys, clock.now_ms())
    if lost:
        named = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in lost.items())
        yield CheckResult(
            "sealed secrets",
            "failure",
            f"{named} cannot be read with this key",
            "set carriers' passwords again (carrier set NAME --password-file FILE), rotate"
            " webhooks' secrets (webhook rotate ID)",
        )
    else:
        yield CheckResult("sealed secrets", "ok", "all can be read")
