"""Looks for alerts every five seconds, and sends their notifications, in the process that does the
common work.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from heliograph import alerts
from heliograph.alerts.send_notifications import AlertNotifier
from heliograph.base import clock
from heliograph.base.log import Log
from heliograph.base.periodic import repeat
from heliograph.base.settings import Settings
from heliograph.database.database import Database

LOOK_S: Final = 5.0
TELL_S: Final = 1.0

log = Log(__name__)


async def keep_alerting(db: Database, settings: Settings, is_ours: Callable[[], bool]) -> None:
    """Runs until it is cancelled. `is_ours` returns whether it is for this process to do. A mail
    server that is slow does not hold up the looks.
    """
    notifier = AlertNotifier(db, settings)

    async def check_once() -> None:
        if is_ours() and not clock.is_disputed():
            await asyncio.to_thread(check_alerts, db)

    async def notify_once() -> None:
        if is_ours():
            await notifier.once()

    try:
        await asyncio.gather(
            repeat(check_once, wait=LOOK_S, fault="alerts_not_looked_for"),
            repeat(notify_once, wait=TELL_S, fault="alerts_not_told"),
        )
    finally:
        await notifier.close()


def check_alerts(db: Database) -> None:
    """Looks once, and logs what has changed."""
    now_ms = clock.now_ms()
    with db.read() as tx:
        breaches = alerts.find_breaches(tx, now_ms)
    if breaches.is_quiet:
        return
    with db.write() as tx:
        changed = alerts.store_found(tx, breaches, now_ms)
    for kind in changed.opened:
        log.warning("alert_opened", kind=kind)
    for kind in changed.ended:
        log.info("alert_over", kind=kind)
