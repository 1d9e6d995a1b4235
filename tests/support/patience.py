"""Holds a limit of the service as it is, for tests that are about it: tests/conftest.py lets the
tests' own process wait for longer.
"""

from typing import Final

from heliograph.database import sessions

IDLE_IN_TRANSACTION_MS: Final = sessions.POSTGRES_IDLE_IN_TRANSACTION_MS
