"""Runs the SMSC as a whole: it listens, holds its sessions, and stops in order."""

import asyncio
import itertools
from typing import Final

from heliograph.carriers.smsc.chaos import Chaos
from heliograph.carriers.smsc.journal import Journal
from heliograph.carriers.smsc.session import EsmeSession
from heliograph.carriers.smsc.settings import SmscSettings
from heliograph.carriers.smsc.shared import SharedState

BACKLOG: Final = 1_000  # connections that wait to be taken
STOP_WITHIN_S: Final = 3.0


class Smsc:
    """Serves one SMSC, which is made in the event loop that it runs in. Call `start`, then `stop`.
    The caller closes the journal.
    """

    def __init__(
        self, settings: SmscSettings, chaos: Chaos | None = None, journal: Journal | None = None
    ) -> None:
        self.journal = journal or Journal()
        self._shared = SharedState(settings, chaos or Chaos(), self.journal)
        self._server: asyncio.Server | None = None
        self._numbers = itertools.count(1)

    @property
    def receipts_owed(self) -> int:
        """Counts the receipts that are not acknowledged yet."""
        return self._shared.outbox.owed

    @property
    def texts_owed(self) -> int:
        """Counts the deliver_sm of handsets that are not answered yet."""
        return self._shared.handsets.owed

    @property
    def session_count(self) -> int:
        return len(self._shared.sessions)

    async def start(self, host: str, port: int, *, seed: int = 0) -> int:
        """Listens, and returns the port, also when any free one (0) was asked for. `seed`, that of
        the chaos, is only noted. Raises OSError.
        """
        self._server = await self._shared.loop.create_server(
            self._make_session, host, port, backlog=BACKLOG
        )
        port = self._server.sockets[0].getsockname()[1]
        self.journal.note("listening", host=host, port=port, seed=seed)
        self.journal.flush()
        return port

    async def stop(self) -> None:
        """Takes no more connections, unbinds all sessions, and gives up the receipts that it owes.
        Takes `STOP_WITHIN_S` at most.
        """
        if self._server is not None:
            self._server.close()
        self._shared.outbox.close()
        self._shared.handsets.close()
        sessions = list(self._shared.sessions)
        for session in sessions:
            session.unbind()
        if sessions:
            await asyncio.wait(
                [asyncio.ensure_future(session.closed.wait()) for session in sessions],
                timeout=STOP_WITHIN_S,
            )
        self.journal.note(
            "stopped",
            receipts_owed=self.receipts_owed,
            texts_owed=self.texts_owed,
            counts=dict(self.journal.counts),
        )
        self.journal.flush()

    def _make_session(self) -> asyncio.Protocol:
        return EsmeSession(self._shared, next(self._numbers))
