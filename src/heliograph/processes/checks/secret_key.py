"""No process starts, and no command works, with another HELIOGRAPH_SECRET_KEY than the one that the
database's secrets are stored under.
"""

from heliograph.base import clock
from heliograph.base.secrets import Keys, keys_of
from heliograph.base.settings import SettingError, Settings
from heliograph.database import secret_key_canary
from heliograph.database.database import Database
from heliograph.database.secret_key_canary import Canary


def require_secret_key(db: Database, settings: Settings) -> None:
    """Makes sure that the database's key is among those of this process. Whoever comes first with a
    key makes it the database's.

    Raises SettingError, Unavailable.
    """
    with db.read() as tx:
        canary = secret_key_canary.load(tx)
    secret_key_canary.in_use(
        canary if canary is not None else _begun(db, settings.secret_keys), settings.secret_keys
    )


def _begun(db: Database, keys: Keys) -> Canary:
    """Makes the key that reads what is stored the database's key: a database of an earlier version
    may hold secrets already.
    """
    from heliograph.processes.checks.sealed_secrets import (
        key_of_stored,  # only now: it loads whatever stores secrets
    )

    with db.read() as tx:
        # while one replaces another, the one before comes first
        secret_key = key_of_stored(tx, list(reversed(keys_of(keys))), clock.now_ms())
    if secret_key is None:
        raise SettingError(
            "HELIOGRAPH_SECRET_KEY",
            "a key that cannot decrypt this database's secrets",
            "the one that they were stored with",
        )
    return db.transact(lambda tx: secret_key_canary.make(tx, secret_key, clock.now_ms()))
