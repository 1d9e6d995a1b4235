"""Runs an authenticator app, as others wrote it, and makes users who have one."""

import pyotp
from sqlalchemy.engine import Connection

from heliograph.users import two_step
from tests.support.factories import SECRET_KEY

STEP_MS = 30_000


def code_of(secret: str, now_ms: int) -> str:
    """Returns what the app shows."""
    return pyotp.TOTP(secret.replace(" ", "")).at(now_ms // 1_000)


def given_codes(tx: Connection, user_id: str, now_ms: int) -> tuple[str, list[str]]:
    """Returns the secret of a user who has set an app up, and the recovery codes."""
    two_step.begin(tx, SECRET_KEY, user_id, now_ms=now_ms)
    secret = two_step.unconfirmed_secret(tx, SECRET_KEY, user_id)
    code = code_of(secret, now_ms)
    return secret, two_step.confirm(tx, SECRET_KEY, user_id, code, now_ms=now_ms)
