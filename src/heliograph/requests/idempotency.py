"""An Idempotency-Key makes an ordinary POST act once: what succeeded once is answered again, and
not done again (docs/api.md, "Idempotency").

The key's row is written in the transaction of the effect, before the effect: an equal request that
comes meanwhile waits for that row, then replays. Whatever is not a 200 rolls the row back with the
rest, and the key is free. Sends and verifications of one-time passwords look up and store many keys
at once (stored_keys.py, messages/accept/acceptor.py, otp/verify.py).
"""

from collections.abc import Callable
from typing import Final

from sqlalchemy import exc
from sqlalchemy.engine import Connection

from heliograph.accounts import quotas
from heliograph.base import clock
from heliograph.base.errors import Conflict
from heliograph.base.json import encode
from heliograph.database.commits import refuse_if_unconfirmed
from heliograph.database.outage import is_conflict
from heliograph.requests.endpoint import ApiResponse, Call
from heliograph.requests.stored_keys import (
    ScopedKey,
    StoredKey,
    find_key,
    free_key,
    free_old_key,
    insert_key,
    keep_response,
    refusal_to_replay,
    sha256_of_body,
)

WAIT_S: Final = 10.0  # for an equal request that is being carried out


class InProgress(Conflict):
    """A request with this Idempotency-Key is being carried out."""

    reason = "idempotency_in_progress"


def replay_or_run(
    tx: Connection,
    call: Call,
    path: str,
    effect: Callable[[Connection], ApiResponse],
    *,
    is_opt_out: bool = False,
) -> ApiResponse:
    """Returns the effect's response, stored under the request's key; or the stored one, when the
    key has been used with the same body.

    `path` is method and path, such as `POST /sender-ids`. With `is_opt_out` it is done even if its
    response cannot be kept, and then the key is left free: a second time changes nothing. Raises
    Conflict when the key was used with another body, InProgress when an equal request takes longer
    than 10 s, StorageQuotaReached when no more responses are kept today, and whatever `effect`
    raises.
    """
    scoped_key = _scoped_key(call, path)
    if scoped_key is None:
        return effect(tx)
    return run_once(tx, scoped_key, call.body, effect, is_opt_out=is_opt_out)


def run_once(
    tx: Connection,
    scoped_key: ScopedKey,
    body: bytes,
    effect: Callable[[Connection], ApiResponse],
    *,
    is_opt_out: bool = False,
    is_counted: bool = True,
) -> ApiResponse:
    """Does what `replay_or_run` does, for a key that no API call brings. `is_counted` says whether
    its response counts in what the account may store today.
    """
    path = scoped_key.path
    now_ms = clock.now_ms()
    key = _key_of(scoped_key, body, now_ms)
    free_old_key(tx, scoped_key, now_ms)
    used = find_key(tx, scoped_key, now_ms) or _claim(tx, key)
    if used is not None:
        refusal = refusal_to_replay(used.body_sha256, key.body_sha256)
        if refusal is not None:
            raise refusal
        assert used.answer is not None  # only sends are stored without one
        return ApiResponse({}, replayed=True, raw=used.answer.encode())
    response = effect(tx)
    response.raw = encode({"success": True, **response.body})
    if not is_counted:
        keep_response(tx, scoped_key, response.raw.decode())
        return response
    octets = (
        quotas.MEASURES[quotas.StoredKind.ANSWERS].row_octets
        + quotas.octets_of(path, scoped_key.key)
        + len(response.raw)
    )
    try:
        with tx.begin_nested():  # so that what was counted and is refused is not counted
            quotas.charge(
                tx,
                scoped_key.account_id,
                quotas.StoredKind.ANSWERS,
                octets,
                sandbox=scoped_key.sandbox,
                now_ms=now_ms,
            )
            keep_response(tx, scoped_key, response.raw.decode())
    except quotas.StorageQuotaReached:
        if not is_opt_out:
            raise
        free_key(tx, scoped_key)
    return response


def refuse_used_key(tx: Connection, call: Call, path: str) -> None:
    """Raises Conflict when the request's key was used with another body: that is judged
    before what a body names is looked for.
    """
    scoped_key = _scoped_key(call, path)
    used = None if scoped_key is None else find_key(tx, scoped_key, clock.now_ms())
    if used is None:
        return
    refusal = refusal_to_replay(used.body_sha256, sha256_of_body(call.body))
    if refusal is not None:
        raise refusal


def _scoped_key(call: Call, path: str) -> ScopedKey | None:
    """Returns what the request's key is known by, or None if it brings none."""
    if call.idempotency_key is None:
        return None
    who = call.principal
    return ScopedKey(who.account_id, who.sandbox, path, call.idempotency_key)


def _key_of(scoped_key: ScopedKey, body: bytes, now_ms: int) -> StoredKey:
    """Returns the key as this request stores it, before there is a response."""
    return StoredKey(
        scoped_key.account_id,
        scoped_key.sandbox,
        scoped_key.path,
        key=scoped_key.key,
        body_sha256=sha256_of_body(body),
        created_at_ms=now_ms,
    )


def _claim(tx: Connection, key: StoredKey) -> StoredKey | None:
    """Stores the key for this request. Returns it as it was used instead, if an equal request had
    it and is done. (On SQLite every writer is alone anyway.)
    """
    until_s = clock.monotonic_s() + WAIT_S
    while True:
        try:
            # so that losing the race, or waiting longer than a lock may take, leaves the
            # transaction usable
            with tx.begin_nested():
                insert_key(tx, key)
            return None
        except exc.IntegrityError:
            if (used := find_key(tx, key.scoped, key.created_at_ms)) is not None:
                return used
        except exc.OperationalError as error:
            if not is_conflict(error):
                raise
            refuse_if_unconfirmed(tx)
            if clock.monotonic_s() >= until_s:
                raise InProgress(retry_after_s=1) from error
