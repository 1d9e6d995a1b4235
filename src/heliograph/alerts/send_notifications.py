"""Sends the notifications of alerts, by mail and by webhooks, in no transaction."""

import asyncio
from typing import TYPE_CHECKING

from heliograph.alerts.letters import body_of, event_id_of, event_of, mail_of
from heliograph.alerts.notifications import (
    NO_MAIL_SERVER,
    TOLD_AT_ONCE,
    DueNotification,
    any_due,
    record_failure,
    record_sent,
    take_due,
)
from heliograph.base import cancelling, clock
from heliograph.base.log import Log
from heliograph.base.mail.deliver_mail import base_url_of, deliver_by, sender_of
from heliograph.base.settings import Settings
from heliograph.database.database import Database
from heliograph.webhooks.http.address_guard import allowed_networks
from heliograph.webhooks.http.attempt import HttpResponse
from heliograph.webhooks.http.make_poster import make_poster
from heliograph.webhooks.sign import headers

if TYPE_CHECKING:
    from heliograph.webhooks.http.post import Poster

log = Log(__name__)


class AlertNotifier:
    """Sends the notifications that are due. Several processes may do so at the same time."""

    def __init__(self, db: Database, settings: Settings) -> None:
        self._db = db
        self._keys = settings.secret_keys
        self._deliver = deliver_by(settings)
        self._sender = sender_of(settings)
        self._console_url = settings.console_url or base_url_of(settings)
        self._allow = allowed_networks(settings)
        self._making = asyncio.Lock()
        self._poster: Poster | None = None  # it is not made where no webhook is told

    async def once(self) -> int:
        """Sends all notifications that are due, at most TOLD_AT_ONCE, and returns how many were
        sent.
        """
        due = await asyncio.to_thread(self._take_due)
        return sum(await asyncio.gather(*(self._send(notification) for notification in due)))

    async def close(self) -> None:
        """Cuts all connections."""
        if self._poster is not None:
            await self._poster.close()

    def _take_due(self) -> list[DueNotification]:
        now_ms = clock.now_ms()
        with self._db.read() as tx:
            if not any_due(tx, now_ms):
                return []
        with self._db.write() as tx:
            return take_due(tx, self._keys, now_ms)

    async def _send(self, notification: DueNotification) -> bool:
        try:
            failure = await self._failure_to_send(notification)
        # whatever it was, as with a mail server that says what nobody expects: it is tried again
        except Exception as error:  # noqa: BLE001
            cancelling.raise_if_cancelled(error)
            failure = f"{type(error).__name__}: {error}"
        await asyncio.to_thread(self._record, notification, failure)
        if failure is not None:
            log.warning(
                "alert_not_told", event_id=event_id_of(notification), kind=event_of(notification)
            )
        return failure is None

    async def _failure_to_send(self, notification: DueNotification) -> str | None:
        """Sends one notification, and returns why that failed, or None."""
        if notification.secret is not None:
            return await self._post(notification, notification.secret)
        if self._deliver is None:
            return NO_MAIL_SERVER
        await self._deliver(mail_of(notification, self._sender, self._console_url))
        return None

    async def _post(self, notification: DueNotification, secret: str) -> str | None:
        poster = await self._one_poster()
        now_ms = clock.now_ms()
        body = body_of(notification, now_ms)
        signed = headers(
            event_id_of(notification), event_of(notification), body, now_ms // 1_000, secret
        )
        result = await poster.post(notification.address, signed, body)
        if not isinstance(result, HttpResponse):
            return f"{result.reason}: {result.detail}"
        return None if result.ok else f"It answered with status {result.status}."

    async def _one_poster(self) -> "Poster":
        async with self._making:  # several are told at once
            if self._poster is None:
                self._poster = await make_poster(self._allow, TOLD_AT_ONCE)
            return self._poster

    def _record(self, notification: DueNotification, failure: str | None) -> None:
        with self._db.write() as tx:
            if failure is None:
                record_sent(tx, notification.id, clock.now_ms())
            else:
                record_failure(tx, notification.id, failure)
