"""`heliograph listen` delivers an account's events to an address of its own, for as long as it
runs.
"""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import uvloop

from heliograph.base import clock, open_files
from heliograph.base.log import Log, survive_faults
from heliograph.base.periodic import repeat
from heliograph.base.secrets import key_ids
from heliograph.base.settings import Settings
from heliograph.database import processes, secret_key_canary
from heliograph.database.database import Database
from heliograph.database.leases import LOOK_S, Lease, LeaseLost
from heliograph.webhooks import endpoints
from heliograph.webhooks.deliver import Deliveries
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.http.address_guard import allowed_networks
from heliograph.webhooks.record_attempts import AttemptResult

KIND: Final = "listen"
EXTEND_S: Final = 10.0  # how often it says that it is still there
LISTENS_MS: Final = 60_000  # without a word for so long: it was killed, and its endpoint goes

OnAttempt = Callable[
    [str, str, AttemptResult], None
]  # kind and body of the event, and what came of it

log = Log(__name__)


def run(
    settings: Settings,
    account_id: str,
    url: str,
    kinds: list[str],
    *,
    sandbox: bool,
    on_ready: Callable[[str], None],
    on_attempt: OnAttempt,
) -> None:
    """Runs until SIGTERM or SIGINT. `account_id` is raw; `on_ready` gets the secret that the
    events are signed with. Raises InvalidRequest, NotFound.
    """
    open_files.raise_limit()
    processes.set_process_kind(KIND)
    uvloop.run(
        _listen(
            settings,
            account_id,
            url,
            kinds=kinds,
            sandbox=sandbox,
            on_ready=on_ready,
            on_attempt=on_attempt,
        )
    )


async def _listen(
    settings: Settings,
    account_id: str,
    url: str,
    kinds: list[str],
    sandbox: bool,
    on_ready: Callable[[str], None],
    on_attempt: OnAttempt,
) -> None:
    db = Database(settings.database_url, settings.synchronous_commit)
    # whoever may run commands here may also reach what runs here
    allow = replace(allowed_networks(settings), loopback=True)

    def add() -> tuple[WebhookEndpoint, str]:
        with db.write() as tx:
            return endpoints.add(
                tx,
                account_id,
                url,
                kinds,
                sandbox=sandbox,
                include_customers=False,
                secret_key=secret_key_canary.keys_in_use(tx, settings.secret_keys),
                allow=allow,
                listens_until_ms=clock.now_ms() + LISTENS_MS,
                now_ms=clock.now_ms(),
            )

    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    lease = Lease(db, KIND, secret_keys=key_ids(settings.secret_keys))
    endpoint, secret = await asyncio.to_thread(add)
    try:
        await asyncio.to_thread(lease.begin)
        deliveries = Deliveries(
            db, lease, settings.secret_keys, allow, only=endpoint.id, on_attempt=on_attempt
        )
        await deliveries.start()
        on_ready(secret)
        staying = asyncio.create_task(_keep_lease(db, lease, endpoint.id))
        await stopped.wait()
        staying.cancel()
        await deliveries.stop(0.0)
        with survive_faults("lease_not_ended", level="warning"):
            await asyncio.to_thread(lease.end)
    finally:
        # whoever prunes does, when it has been silent for long
        with survive_faults("endpoint_not_forgotten", level="warning"):
            await asyncio.to_thread(_forget, db, endpoint.id)
        await db.close_hot()
        db.close()


async def _keep_lease(db: Database, lease: Lease, endpoint_id: str) -> None:
    """Shows that this process is alive, until cancelled."""
    extended_s = clock.monotonic_s()

    async def refresh() -> None:
        nonlocal extended_s
        try:
            await lease.refresh_in_thread()
        except LeaseLost:  # it was stopped for so long that others took it for dead
            await asyncio.to_thread(lease.begin)
        if clock.monotonic_s() - extended_s >= EXTEND_S:
            await asyncio.to_thread(_extend, db, endpoint_id)
            extended_s = clock.monotonic_s()

    await repeat(refresh, wait=LOOK_S, fault="not_listening", level="warning")


def _extend(db: Database, endpoint_id: str) -> None:
    with db.write() as tx:
        endpoints.listen_until(tx, endpoint_id, clock.now_ms() + LISTENS_MS)


def _forget(db: Database, endpoint_id: str) -> None:
    with db.write() as tx:
        endpoints.forget(tx, [endpoint_id])
