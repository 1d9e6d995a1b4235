"""One-time passwords take part in the transaction that accepts their messages
(messages/accept/extension.py).
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from heliograph.accounts import notices, text_of_id
from heliograph.base import clock, ids
from heliograph.base.clock import HOUR_MS
from heliograph.base.errors import ServiceError
from heliograph.base.log import Log
from heliograph.base.paging import first_id_of
from heliograph.database.hot import HotTx
from heliograph.messages.accept import SendRequest
from heliograph.otp.issue_sql import (
    RANGES,
    RECENT,
    STORE_OTPS,
    STORE_RANGES,
    ChangedRange,
    NewOtp,
    PhoneSince,
    RangeKey,
)
from heliograph.otp.limits import Otp, failures_kept, refusal_to_send
from heliograph.otp.range_guard import BLOCKED_MS, Range, decode_times, digits_of, encode_times
from heliograph.otp.states import KEPT_MS
from heliograph.otp.tables import ALL_COUNTRIES
from heliograph.otp.tallies import TallyKeyOf, store_tallies, tallies_at
from heliograph.otp.unverified_allowance import OtpTally, TooManyUnverified, country_of

log = Log(__name__)

OF_PARTNER: Final = (
    "Too many one-time passwords of this account's partner and its customers were not verified."
)


class OtpRequest(SendRequest):
    """Holds a send that is a one-time password. Its text is sealed, and of its code it has only
    what is stored.
    """

    code_hmac: bytes = b""

    @property
    def phone(self) -> int:
        assert self.phones[0] is not None  # what is not a number was refused with the form
        return int(self.phones[0].digits)

    @property
    def tallied_at(self) -> list[TallyKeyOf]:
        """Returns the tallies that it counts in while it is not verified."""
        return tally_keys_of(self.account_id, self.partner_id, self.phone)


def tally_keys_of(account_id: str, partner_id: str | None, phone: int) -> list[TallyKeyOf]:
    """Returns the tallies that a code of this account to this phone belongs to: the account's,
    of the phone's country first and then of all countries, and likewise its partner's, if it is
    a customer. Ids are raw.
    """
    return [
        TallyKeyOf(whose, country_code)
        for whose in (account_id, partner_id)
        if whose is not None
        for country_code in (country_of(phone), ALL_COUNTRIES)
    ]


class OtpExtension:
    """Extends sends of the type `otp`."""

    async def for_batch(self, tx: HotTx, requests: Sequence[SendRequest]) -> "OtpBatchExtension":
        """Reads what a batch is judged by; nothing is read for sandbox, which has no limits."""
        live = [
            request
            for request in requests
            if isinstance(request, OtpRequest) and not request.sandbox
        ]
        phones = sorted({(request.account_id, request.phone) for request in live})
        ranges = sorted(
            {RangeKey(request.account_id, digits_of(request.phone)) for request in live}
        )
        since = first_id_of(clock.now_ms() - KEPT_MS)
        sent: dict[tuple[str, int], list[Otp]] = defaultdict(list)
        for otp in await RECENT.rows(
            tx, [PhoneSince(account_id, phone, since) for account_id, phone in phones]
        ):
            sent[otp.account_id, otp.phone].append(otp)
        known = {
            (stored.account_id, stored.digits): Range(
                stored.account_id,
                stored.digits,
                decode_times(stored.sent_at_ms),
                stored.blocked_at_ms,
            )
            for stored in await RANGES.rows(tx, ranges)
        }
        return OtpBatchExtension(
            sent,
            known,
            await tallies_at(tx, [key for request in live for key in request.tallied_at]),
        )


class OtpBatchExtension:
    """Judges the one-time passwords of one transaction one after the other, and then stores their
    rows.
    """

    def __init__(
        self,
        sent: dict[tuple[str, int], list[Otp]],
        ranges: dict[tuple[str, str], Range],
        tallies: dict[TallyKeyOf, OtpTally],
    ) -> None:
        self._sent = sent
        self._ranges = ranges
        self._new: list[Otp] = []
        self._changed: dict[tuple[str, str], Range] = {}
        self._tallies = tallies
        self._counted: dict[TallyKeyOf, OtpTally] = {}
        self._capped: list[OtpTally] = []  # that have just become full
        self._now_ms = 0

    def refusal(self, request: SendRequest, now_ms: int) -> ServiceError | None:
        """Returns why a one-time password may not be sent now, or None if it may."""
        if request.sandbox or not isinstance(request, OtpRequest):
            return None
        known = self._ranges.get((request.account_id, digits_of(request.phone)))
        return (
            refusal_to_send(self._sent.get((request.account_id, request.phone), []), now_ms)
            or (known.refusal(now_ms) if known else None)
            or next(
                filter(
                    None, (self._refusal_by(key, request, now_ms) for key in request.tallied_at)
                ),
                None,
            )
        )

    def _refusal_by(
        self, key: TallyKeyOf, request: OtpRequest, now_ms: int
    ) -> TooManyUnverified | None:
        """Returns why a one-time password is refused by this tally, or None. A partner's figures
        are not told to a customer: it has other customers.
        """
        refusal = self._tallies[key].refusal(now_ms)
        if refusal is None or key.account_id == request.account_id:
            return refusal
        return TooManyUnverified(OF_PARTNER, retry_after_s=refusal.retry_after_s)

    def accepted(self, request: SendRequest, now_ms: int) -> None:
        """Notes a one-time password that is accepted, and counts it."""
        assert isinstance(request, OtpRequest)
        self._now_ms = now_ms
        before = self._sent.get((request.account_id, request.phone), [])
        otp = Otp(
            ids.raw_of_number(request.number),
            request.account_id,
            request.sandbox,
            request.phone,
            request.code_hmac,
            failures=failures_kept(before[0] if before else None, now_ms),
            locked_until_ms=None,
            verified_at_ms=None,
            verified_by=None,
            created_at_ms=now_ms,
        )
        self._new.append(otp)
        if request.sandbox:
            return
        self._sent[request.account_id, request.phone] = [otp, *before]
        digits = digits_of(request.phone)
        place = (request.account_id, digits)
        self._changed[place] = self._ranges.setdefault(
            place, Range(request.account_id, digits, sent_at_ms=[])
        )
        self._changed[place].sent(now_ms)
        for tallied in request.tallied_at:
            tally = self._counted[tallied] = self._tallies[tallied]
            tally.add_sent(now_ms)
            if tally.refusal(now_ms) is not None:
                # told once an hour, however often it is full and freed
                if tally.capped_at_ms is None or tally.capped_at_ms <= now_ms - HOUR_MS:
                    self._capped.append(tally)
                tally.capped_at_ms = now_ms

    async def store(self, tx: HotTx) -> None:
        """Stores the one-time passwords of a batch, and the counts that they changed."""
        await STORE_OTPS.rows(
            tx,
            [
                NewOtp(
                    otp.id,
                    otp.account_id,
                    otp.sandbox,
                    otp.phone,
                    otp.code_hmac,
                    failures=otp.failures,
                    created_at_ms=otp.created_at_ms,
                )
                for otp in self._new
            ],
        )
        await STORE_RANGES.rows(
            tx,
            [
                ChangedRange(
                    account_id,
                    digits,
                    encode_times(known.sent_at_ms),
                    known.blocked_at_ms,
                    self._now_ms,
                )
                for (account_id, digits), known in sorted(self._changed.items())
            ],
        )
        for known in self._blocked():
            await notices.notify(
                tx, known.account_id, "otp_range_blocked", _range_notice(known), self._now_ms
            )
        await store_tallies(tx, self._counted.values(), self._now_ms)
        for tally in self._capped:
            await notices.notify(
                tx,
                tally.account_id,
                "otp_too_many_unverified",
                _limit_notice(tally, self._now_ms),
                self._now_ms,
            )

    def stored(self) -> None:
        """Logs what is blocked now, after the commit."""
        for known in self._blocked():
            log.warning(
                "otp_range_blocked",
                account=text_of_id(known.account_id, is_customer=False),
                range=known.digits,
            )
        for tally in self._capped:
            log.warning(
                "otp_too_many_unverified",
                account=text_of_id(tally.account_id, is_customer=False),
                country=tally.country_code,
                unverified=tally.unverified,
            )

    def _blocked(self) -> list[Range]:
        return [known for known in self._changed.values() if known.blocked_at_ms is not None]


def _range_notice(known: Range) -> str:
    return (
        f"{len(known.sent_at_ms)} one-time passwords went to numbers that begin with {known.digits}"
        " within an hour, and no code was verified: the range is refused until"
        f" {clock.rfc3339((known.blocked_at_ms or 0) + BLOCKED_MS)}, or until a code of it is"
        " verified."
    )


def _limit_notice(tally: OtpTally, now_ms: int) -> str:
    where = "" if tally.country_code == ALL_COUNTRIES else f" to {tally.country_code}"
    return (
        f"{tally.unverified_this_hour} one-time passwords{where} in this hour, and"
        f" {tally.unverified} in 24 hours, were not verified (those of Connect customers count as"
        f" well): further ones are refused until {clock.rfc3339(tally.free_at_ms(now_ms))}, or"
        " until codes are verified."
    )
