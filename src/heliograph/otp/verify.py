"""Verifications that came in together are judged together, one after the other, and stored in
one transaction before anybody is answered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from heliograph.accounts import storage_of_keys
from heliograph.base import clock, ids, metrics
from heliograph.base.errors import Conflict, ServiceError
from heliograph.base.json import encode
from heliograph.database.batching import BATCHES_AT_ONCE, Batcher
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.database.hot import HotTx
from heliograph.otp.code import ID_PREFIX, SANDBOX_CODE, Codes, equal
from heliograph.otp.issue import tally_keys_of
from heliograph.otp.issue_sql import RangeKey
from heliograph.otp.limits import TRIES_MAX, Incorrect, JudgedTry, Otp, judge_try
from heliograph.otp.range_guard import digits_of
from heliograph.otp.tallies import store_tallies, tallies_at
from heliograph.otp.verify_sql import (
    FORGET_RANGES,
    LATEST,
    LOCK_ACCOUNTS,
    STORE,
    AccountKey,
    JudgedOtp,
    LockedAccount,
    PhoneKey,
)
from heliograph.requests import INSERT_KEYS, ScopedKey, StoredKey, UsedKeys, find_keys
from heliograph.wallet.store_figures import CountedKeys, store_counted_keys

VERIFY_PATH: Final = "POST /otp/verify"
BATCH_MAX: Final = 1_000  # in one transaction: around 50 ms
WAITING_MAX: Final = 20_000  # in memory; past it 503


@dataclass(slots=True)
class VerificationTry:
    """Holds a code that somebody gives back. `number` is its own id, the same if its transaction
    has to be run again; ids are raw.
    """

    number: int
    account_id: str
    key_account_id: str
    sandbox: bool
    phone: int
    code: str
    warnings: list[str]
    idempotency_key: str | None = None
    body_sha256: bytes = b""

    @property
    def scoped_key(self) -> ScopedKey | None:
        """Returns what the request's Idempotency-Key is known by, or None without one."""
        if self.idempotency_key is None:
            return None
        return ScopedKey(self.key_account_id, self.sandbox, VERIFY_PATH, self.idempotency_key)


class Verified(NamedTuple):
    """Holds the encoded answer to a right code."""

    raw: bytes
    replayed: bool = False


class Verifier:
    """Verifies codes in one process, in batches."""

    def __init__(self, db: Database, cache: ConfigCache, codes: Codes) -> None:
        self._db = db
        self._cache = cache
        self._codes = codes
        self._batcher: Batcher[VerificationTry, Verified] = Batcher(
            self._run,
            most=BATCH_MAX,
            waiting_max=WAITING_MAX,
            weigh=lambda _: 1,
            commits=db.commits,
            at_once=BATCHES_AT_ONCE if db.postgresql else 1,
        )

    async def verify(self, given: VerificationTry) -> Verified:
        """Returns after the commit. Raises what docs/api.md, "One-time passwords", names: a wrong
        try is stored before it is answered, too.
        """
        return await self._batcher.submit(given)

    async def _run(
        self, tries: Sequence[VerificationTry], is_retry: bool
    ) -> Sequence[Verified | ServiceError]:
        started_s = clock.monotonic_s()
        async with self._db.hot() as tx:
            account_ids = {attempt.account_id for attempt in tries} | {
                attempt.key_account_id for attempt in tries if attempt.idempotency_key is not None
            }
            locked = await LOCK_ACCOUNTS.rows(
                tx, [AccountKey(account_id) for account_id in sorted(account_ids)]
            )
            self._cache.confirm(locked[0].config_epoch, started_s)
            scoped_keys = [attempt.scoped_key for attempt in tries]
            keys = await find_keys(
                tx, [key for key in scoped_keys if key is not None], clock.now_ms()
            )
            latest = await LATEST.rows(
                tx,
                sorted(
                    {
                        PhoneKey(attempt.account_id, attempt.sandbox, attempt.phone)
                        for attempt in tries
                    }
                ),
            )
            batch = VerificationBatch(self._codes, locked, keys, latest)
            results = [batch.decide(attempt, is_retry=is_retry) for attempt in tries]
            await STORE.rows(
                tx,
                [
                    JudgedOtp(
                        otp.id,
                        otp.failures,
                        otp.locked_until_ms,
                        otp.verified_at_ms,
                        otp.verified_by,
                    )
                    for _, otp in sorted(batch.changed.items())
                ],
            )
            await FORGET_RANGES.rows(tx, sorted(batch.proven))
            await _count(tx, batch)
            await store_counted_keys(tx, batch.key_counts())
            await INSERT_KEYS.rows(tx, batch.answered)
        metrics.count_transaction("verify", len(tries), clock.monotonic_s() - started_s)
        return results


async def _count(tx: HotTx, batch: "VerificationBatch") -> None:
    """Counts what was verified against what was not, in its country and in all of its account,
    and of its partner.
    """
    tallied_at = [
        (otp, tally_keys_of(otp.account_id, batch.partners[otp.account_id], otp.phone))
        for otp in batch.verified
    ]
    tallies = await tallies_at(tx, [key for _, keys in tallied_at for key in keys])
    for otp, keys in tallied_at:
        for key in keys:
            tallies[key].add_verified(otp.created_at_ms, batch.now_ms)
    await store_tallies(tx, tallies.values(), batch.now_ms)


class VerificationBatch:
    """Judges one transaction's tries, each by what those before it have changed."""

    def __init__(
        self,
        codes: Codes,
        locked: Sequence[LockedAccount],
        keys: Sequence[StoredKey],
        latest: Sequence[Otp],
    ) -> None:
        self._codes = codes
        self.now_ms = clock.now_ms()
        self._key_counts = {
            account.account_id: storage_of_keys.KeyCount(
                account.keys.day, account.keys.live, account.keys.sandbox
            )
            for account in locked
        }
        self._quotas = {
            account.account_id: storage_of_keys.quota_of_column(account.keys_quota)
            for account in locked
        }
        self.partners = {account.account_id: account.partner_id for account in locked}
        self._used_keys = UsedKeys[bytes]()
        for key in keys:
            if key.answer is not None:
                self._used_keys.add(key.scoped, key.body_sha256, key.answer.encode())
        self._latest = {(otp.account_id, otp.sandbox, otp.phone): otp for otp in latest}
        self.changed: dict[str, Otp] = {}
        self.proven: set[RangeKey] = set()
        self.verified: list[Otp] = []  # live ones that were verified now
        self.answered: list[StoredKey] = []

    def decide(self, attempt: VerificationTry, *, is_retry: bool) -> Verified | ServiceError:
        """Decides a try. `is_retry` says that this transaction may have been committed before, and
        only the reply to that was lost.
        """
        key = attempt.scoped_key
        first = self._used_keys.replay(key, attempt.body_sha256)
        if first is not None:
            # the key may be this very try's, of the commit whose reply was lost
            return first if isinstance(first, Conflict) else Verified(first, replayed=not is_retry)
        full = self._key_refusal(attempt)
        if full is not None:
            return full
        phone = (attempt.account_id, attempt.sandbox, attempt.phone)
        before = self._latest.get(phone)
        latest, refusal = (
            self._judge_in_sandbox(attempt, before)
            if attempt.sandbox
            else self._judge(attempt, before, is_retry=is_retry)
        )
        if latest is not None and latest != before:
            self._latest[phone] = self.changed[latest.id] = latest
        if refusal is not None:
            return refusal
        otp_id = latest.id if latest is not None else ids.raw_of_number(attempt.number)
        verified_at_ms = (
            latest.verified_at_ms
            if latest is not None and latest.verified_at_ms is not None
            else self.now_ms
        )
        raw = _answer(attempt, otp_id, verified_at_ms)
        if key is not None:
            self._used_keys.add(key, attempt.body_sha256, raw)
            self._key_counts[attempt.key_account_id].add(
                _key_octets(attempt, raw), self.now_ms, sandbox=attempt.sandbox
            )
            self.answered.append(
                StoredKey(
                    key.account_id,
                    key.sandbox,
                    key.path,
                    key=key.key,
                    body_sha256=attempt.body_sha256,
                    created_at_ms=self.now_ms,
                    answer=raw.decode(),
                )
            )
        return Verified(raw)

    def key_counts(self) -> list[CountedKeys]:
        """Returns the counts that have changed."""
        return [
            CountedKeys(account_id, count.day, count.live, count.sandbox)
            for account_id, count in sorted(self._key_counts.items())
            if count.changed
        ]

    def _key_refusal(self, given: VerificationTry) -> ServiceError | None:
        """Judges the key's quota before the code, so that no try is spent. The answer is as long as
        any.
        """
        if given.idempotency_key is None:
            return None
        octets = _key_octets(given, _answer(given, ids.raw_of_number(given.number), self.now_ms))
        return self._key_counts[given.key_account_id].refusal(
            octets, self._quotas[given.key_account_id], self.now_ms, sandbox=given.sandbox
        )

    def _judge(self, given: VerificationTry, latest: Otp | None, *, is_retry: bool) -> JudgedTry:
        tried_by = ids.raw_of_number(given.number)
        if is_retry and latest is not None and latest.verified_by == tried_by:
            return JudgedTry(latest, None)
        judged = judge_try(
            latest, latest is not None and self._is_right(given, latest), tried_by, self.now_ms
        )
        if judged.refusal is None:
            assert judged.otp is not None  # without one, no code is right
            self.proven.add(RangeKey(given.account_id, digits_of(given.phone)))
            self.verified.append(judged.otp)
        return judged

    def _judge_in_sandbox(self, given: VerificationTry, latest: Otp | None) -> JudgedTry:
        """Judges a code in sandbox. One code is right for every phone, whenever and however often
        it is given, and nothing is counted (docs/api.md, "Sandbox").
        """
        if not equal(given.code.encode(), SANDBOX_CODE.encode()):
            return JudgedTry(latest, Incorrect(attempts_remaining=TRIES_MAX - 1))
        if latest is not None and latest.verified_at_ms is None:
            latest = replace(
                latest, verified_at_ms=self.now_ms, verified_by=ids.raw_of_number(given.number)
            )
        return JudgedTry(latest, None)

    def _is_right(self, given: VerificationTry, latest: Otp) -> bool:
        return self._codes.is_right(
            latest.code_hmac,
            latest.id,
            given.account_id,
            given.phone,
            given.code,
            sandbox=given.sandbox,
        )


def _key_octets(given: VerificationTry, raw: bytes) -> int:
    return storage_of_keys.octets_of(VERIFY_PATH, given.idempotency_key) + len(raw)


def _answer(given: VerificationTry, otp_id: str, verified_at_ms: int) -> bytes:
    body: dict[str, Any] = {
        "success": True,
        "verified": True,
        "data": {
            "id": ids.text_of_raw(ID_PREFIX, otp_id),
            "phone": str(given.phone),
            "verified_at": clock.rfc3339(verified_at_ms),
        },
    }
    return encode({**body, "warnings": given.warnings} if given.warnings else body)
