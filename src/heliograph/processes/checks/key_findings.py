"""Checks the secret key of a process against the database's, without trying any secret."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy.engine import Connection

from heliograph import otp
from heliograph.base import clock
from heliograph.base.clock import rfc3339
from heliograph.base.secrets import keys_of
from heliograph.base.settings import SettingError, Settings
from heliograph.database import secret_key_canary
from heliograph.monitoring import CheckResult

# codes that are kept under the key before are valid for half of this
STILL_VALID_MS: Final = otp.ERASED_AFTER_MS


def of_key(tx: Connection, settings: Settings) -> Iterator[CheckResult]:
    """Yields what `heliograph doctor` says of the secret key."""
    canary = secret_key_canary.load(tx)
    try:
        if canary is not None:
            secret_key_canary.in_use(canary, settings.secret_keys)
    except SettingError as error:
        yield CheckResult(
            "secret key",
            "failure",
            str(error),
            "set the right one: no process starts with this one",
        )
    else:
        yield _finding_of_key(canary, settings, clock.now_ms())


def _finding_of_key(
    canary: secret_key_canary.Canary | None, settings: Settings, now_ms: int
) -> CheckResult:
    if canary is None:
        return CheckResult(
            "secret key",
            "ok",
            "the database has none yet: the first process that starts sets it",
        )
    if canary.former is not None:
        return CheckResult(
            "secret key",
            "warning",
            f"a new one is in use since {rfc3339(canary.since_ms)}, but not all secrets are"
            " encrypted with it yet",
            "run `heliograph secret rotate` again: it continues where it was interrupted",
        )
    if not secret_key_canary.is_made_with(canary.sealed, settings.secret_key):
        return CheckResult(
            "secret key",
            "warning",
            "HELIOGRAPH_SECRET_KEY is not in use yet",
            "run `heliograph secret rotate` to bring it into use",
        )
    if len(keys_of(settings.secret_keys)) > 1:
        until_ms = canary.since_ms + STILL_VALID_MS
        if now_ms < until_ms:
            return CheckResult(
                "secret key",
                "ok",
                f"fits the database; the old key is needed until {rfc3339(until_ms)}",
            )
        return CheckResult(
            "secret key",
            "warning",
            "fits the database; HELIOGRAPH_SECRET_KEY_OLD is no longer needed",
            "remove it from the settings of every process",
        )
    return CheckResult("secret key", "ok", "fits the database")
