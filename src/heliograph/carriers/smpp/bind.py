"""Keeps one bind up: it connects, binds, waits for the end, backs off, and begins again."""

import asyncio
import logging
import ssl
from collections.abc import Callable
from random import SystemRandom
from typing import Final

from heliograph.base.periodic import until
from heliograph.carriers.link import LinkState
from heliograph.carriers.smpp import pdu
from heliograph.carriers.smpp.outcomes import BIND_REFUSALS, CREDENTIAL_FAULTS
from heliograph.carriers.smpp.session import BindRefused, SessionOwner, SmppSession
from heliograph.carriers.smpp.session_counters import SessionCounters
from heliograph.carriers.smpp.settings import SmppSettings

PERMITTED_POLL_S: Final = 0.25  # how often a bind that has no permission asks for it

log = logging.getLogger(__name__)
_random: Final = SystemRandom()


class Bind:
    """Holds one session at a time; `session` is None while there is no bound one."""

    def __init__(
        self,
        settings: SmppSettings,
        command: int,
        owner: SessionOwner,
        tally: SessionCounters,
        changed: Callable[[], None],
        may_bind: Callable[[], bool] = lambda: True,
    ) -> None:
        self._settings = settings
        self._command = command
        self._owner = owner
        self._tally = tally
        self._changed = changed
        self._may_bind = may_bind
        self.session: SmppSession | None = None
        self.state = LinkState.CONNECTING
        self.detail = ""

    @property
    def sends(self) -> bool:
        return self._command != pdu.BIND_RECEIVER

    @property
    def receives(self) -> bool:
        return self._command != pdu.BIND_TRANSMITTER

    async def keep_bound(self) -> None:
        """Connects, and connects again, until cancelled."""
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            await self._wait_for_permission()
            if self.state is not LinkState.REFUSED:  # which stays visible until a bind succeeds
                self._show(LinkState.CONNECTING, "")
            bound_s = loop.time()
            try:
                session = await self._connect()
            except BindRefused as refused:
                failures += 1
                status, why = refused.status, str(refused)
            # UnicodeError: a host that is not a name
            except (OSError, TimeoutError, UnicodeError) as fault:
                failures += 1
                status, why = 0, f"cannot connect: {str(fault) or 'no answer in time'}"
            else:
                status, why = await self._wait_until_closed(session)
                # a session that lasted less than the pause before it is no success: the pause goes
                # on growing
                failures = 1 if loop.time() - bound_s > self._base_s(failures) else failures + 1
            await self._back_off(failures, status, why)

    async def _wait_for_permission(self) -> None:
        """Returns when this process may bind. While it has no lease, others may serve the
        carrier in its place, and it binds nowhere.
        """
        if not self._may_bind():
            self._show(LinkState.CONNECTING, "waits until this process has a lease again")
            await until(self._may_bind, look_s=PERMITTED_POLL_S)

    async def _connect(self) -> SmppSession:
        """Returns a bound session. Raises BindRefused, OSError, TimeoutError or UnicodeError."""
        settings = self._settings
        session = SmppSession(settings, self._command, self._owner, self._tally)
        try:
            async with asyncio.timeout(settings.connect_timeout_s):
                await asyncio.get_running_loop().create_connection(
                    lambda: session,
                    settings.host,
                    settings.port,
                    ssl=_tls(settings),
                    server_hostname=settings.host if settings.tls else None,
                )
            async with asyncio.timeout(settings.bind_timeout_s):
                await session.bound
        except BaseException:  # cancellation too must not leave a connection behind
            session.bound.cancel()
            session.abort("not bound")
            raise
        return session

    async def _wait_until_closed(self, session: SmppSession) -> tuple[int, str]:
        """Waits for the session's end, and returns the session fault that ended it (0: none) and
        the reason in words.
        """
        self.session = session
        self._show(LinkState.BOUND, "")
        await session.closed.wait()
        self.session = None
        return session.fault_status, session.close_reason

    async def _back_off(self, failures: int, status: int, why: str) -> None:
        longest_s = self._settings.backoff_max_s
        if status in CREDENTIAL_FAULTS:  # slowly from the start: only an operator can mend it
            delay_s = _random.uniform(longest_s / 2, longest_s)
        else:
            base_s = self._base_s(failures)
            delay_s = max(self._settings.backoff_min_s, _random.uniform(base_s / 2, base_s))
        state = LinkState.REFUSED if status in BIND_REFUSALS else LinkState.BACKING_OFF
        log.warning(
            "carrier_not_bound",
            extra={"carrier": self._settings.name, "detail": why, "again_s": round(delay_s, 1)},
        )
        self._show(state, why)
        await asyncio.sleep(delay_s)

    def _base_s(self, failures: int) -> float:
        """Returns how long to wait after so many failures: 1, 2, 4 … 60 s, by the settings."""
        return min(
            self._settings.backoff_max_s,
            self._settings.backoff_min_s * 2.0 ** min(max(failures - 1, 0), 30),
        )

    def _show(self, state: LinkState, detail: str) -> None:
        self.state, self.detail = state, detail
        self._changed()


def _tls(settings: SmppSettings) -> ssl.SSLContext | None:
    """Returns how TLS is spoken, or None where it is not; certificate and host name are always
    verified. Raises OSError when the authorities' file cannot be read.
    """
    return ssl.create_default_context(cafile=settings.tls_ca_file) if settings.tls else None
