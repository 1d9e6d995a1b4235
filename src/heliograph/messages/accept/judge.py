"""Decides what becomes of requests for POST /sms/send that are right in form: the second of its two
steps. It is pure: it has no I/O and no clock of its own.

`judge` decides in order of arrival on the running balance of the wallets that it was given;
`acceptor.py` locks, asks, and applies.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from heliograph.base.clock import DAY_MS
from heliograph.base.errors import InsufficientCredits, ServiceError
from heliograph.base.short_texts import shorten
from heliograph.messages.accept.extension import BatchExtension
from heliograph.messages.accept.pricing import PricedRecipients, price
from heliograph.messages.accept.refusals import (
    SandboxOnly,
    SenderNotApproved,
    no_valid_recipient,
    not_transactional,
)
from heliograph.messages.accept.request import RECIPIENT_SHOWN_MAX, SendRequest
from heliograph.messages.accept.response import RejectedRecipient, RepeatedRecipient
from heliograph.messages.accept.tariff import Tariff
from heliograph.text import Phone
from heliograph.wallet import daily_cap

OPTED_OUT: Final = "opted_out"  # why a recipient is rejected
SANDBOX_SENDER: Final = "SANDBOX"
# last digits of a recipient that make a sandbox send 402 (docs/api.md, "Sandbox")
SANDBOX_NO_CREDITS: Final = "004"
SIMULATED_NO_CREDITS: Final = (
    f"Simulated: in sandbox a recipient that ends in {SANDBOX_NO_CREDITS} is answered as if the"
    " wallet held too few SMS credits. Nothing is missing."
)


class AccountFacts(NamedTuple):
    """Holds what the configuration says of an account."""

    senders: dict[str, str]  # folded → as approved, of this mode
    countries: frozenset[str] | None  # it may send to; None: all with a route
    daily_credits: int | None
    keys_quota: int | None = None  # octets of Idempotency-Keys a day; None: no bound
    partner_id: str | None = None  # raw; of a Connect customer
    sandbox_only: bool = False
    transactional: bool = False  # it may send texts that reach who has opted out


class WalletState(msgspec.Struct):
    """Holds a wallet's figures as they were read under its lock. Judging a send updates them."""

    sms_credits: int
    spent_day: int
    spent_credits: int
    charged: bool = False

    def spent_today(self, now_ms: int) -> int:
        """Returns the credits that were spent on the day of `now_ms`."""
        return daily_cap.counted_today(self.spent_day, self.spent_credits, now_ms)

    def count_spent(self, credits: int, now_ms: int) -> None:
        """Counts credits as spent on the day of `now_ms`. They are taken from `sms_credits`
        elsewhere.
        """
        spent = self.spent_today(now_ms)
        self.spent_day, self.spent_credits = now_ms // DAY_MS, spent + credits
        self.charged = True


class AcceptedSend(msgspec.Struct):
    """Holds a send that goes out (or, in a dry run, would), with all that its rows need."""

    request: SendRequest
    sender: str  # as approved
    priced: PricedRecipients
    rejected: list[RejectedRecipient]
    duplicates: list[RepeatedRecipient]
    credits_used: int = 0
    credits_remaining: int = 0


def judge(
    request: SendRequest,
    facts: AccountFacts,
    tariff: Tariff,
    wallet: WalletState,
    now_ms: int,
    extension: BatchExtension | None = None,
    refusing: frozenset[int] = frozenset(),
) -> AcceptedSend | ServiceError:
    """Accepts one request and debits `wallet`, or says why not and leaves it as it was. `extension`
    belongs to its type, if that has one. `refusing` are numbers that have opted out.
    """
    if facts.sandbox_only and not request.sandbox:
        return SandboxOnly()
    if request.transactional and not facts.transactional:
        return not_transactional()
    sender = (
        request.sender
        if request.sender_is_ours
        else approved_sender(request.sender, facts.senders, sandbox=request.sandbox)
    )
    if sender is None:
        return SenderNotApproved(f"The sender {request.sender!r} is not approved for this account.")
    accepted = _price(request, sender, facts, tariff, refusing)
    if not accepted.priced.recipients:
        return no_valid_recipient(request, accepted.rejected)
    refusal = extension.refusal(request, now_ms) if extension is not None else None
    if refusal is None and not request.dry_run:
        refusal = _debit(request, accepted, facts, wallet, now_ms)
    accepted.credits_remaining = wallet.sms_credits
    return refusal or accepted


def approved_sender(asked: str, approved: Mapping[str, str], *, sandbox: bool) -> str | None:
    """Returns what a text that asks for this sender comes from, as approved, or None when it is
    not. `approved` is `AccountFacts.senders`.
    """
    asked = asked.lower()
    # a leading + of digits is dropped, as when it was registered
    asked = asked[1:] if asked[:1] == "+" and asked[1:].isdigit() else asked
    return approved.get(asked) or (
        SANDBOX_SENDER if sandbox and asked == SANDBOX_SENDER.lower() else None
    )


def _price(
    request: SendRequest,
    sender: str,
    facts: AccountFacts,
    tariff: Tariff,
    refusing: frozenset[int],
) -> AcceptedSend:
    """Returns the send to those of its recipients that a message can be sent to, each once."""
    phones: list[Phone] = []
    rejected: list[RejectedRecipient] = []
    duplicates: list[RepeatedRecipient] = []
    index_of: dict[str, int] = {}  # of each phone's first, in the order of `phones`
    for index, phone in enumerate(request.phones):
        if phone is None:
            rejected.append(_reject(request, index, "invalid_number"))
            continue
        first = index_of.setdefault(phone.digits, index)
        if first == index:
            phones.append(phone)
        else:
            duplicates.append(RepeatedRecipient(index, first))
    if refusing:
        out = [phone.digits for phone in phones if int(phone.digits) in refusing]
        rejected += [_reject(request, index_of[each], OPTED_OUT) for each in out]
        phones = [phone for phone in phones if int(phone.digits) not in refusing]
    offers = tariff.offers(request.account_id, facts.countries, sandbox=request.sandbox)
    priced = price(phones, request.segments, offers)
    for place, reason in priced.refused:
        rejected.append(_reject(request, index_of[phones[place].digits], reason))
    rejected.sort()
    if duplicates and rejected:
        rejected, duplicates = _with_duplicates_of_rejected(request, rejected, duplicates)
    return AcceptedSend(request, sender, priced, rejected, duplicates)


def _reject(request: SendRequest, index: int, reason: str) -> RejectedRecipient:
    """Returns a recipient as it was asked for, in an answer, with the reason."""
    return RejectedRecipient(index, shorten(request.recipients[index], RECIPIENT_SHOWN_MAX), reason)


def _with_duplicates_of_rejected(
    request: SendRequest,
    rejected: list[RejectedRecipient],
    duplicates: list[RepeatedRecipient],
) -> tuple[list[RejectedRecipient], list[RepeatedRecipient]]:
    """Returns both lists anew: a repeated number whose first is rejected is rejected for the same
    reason.
    """
    why = {each.place: each.reason for each in rejected}
    also_rejected = [
        _reject(request, each.place, why[each.first]) for each in duplicates if each.first in why
    ]
    return sorted([*rejected, *also_rejected]), [
        each for each in duplicates if each.first not in why
    ]


def _debit(
    request: SendRequest,
    accepted: AcceptedSend,
    facts: AccountFacts,
    wallet: WalletState,
    now_ms: int,
) -> ServiceError | None:
    cost = accepted.priced.credits_required
    if request.sandbox:  # nothing is charged
        if any(number % 1_000 == int(SANDBOX_NO_CREDITS) for number in accepted.priced.recipients):
            return InsufficientCredits(SIMULATED_NO_CREDITS, required=cost, available=0)
        return None
    if cost > wallet.sms_credits:
        return InsufficientCredits(required=cost, available=wallet.sms_credits)
    capped = daily_cap.refusal_to_spend(
        facts.daily_credits, wallet.spent_today(now_ms), cost, now_ms
    )
    if capped is not None:
        return capped
    wallet.sms_credits -= cost
    wallet.count_spent(cost, now_ms)
    accepted.credits_used = cost
    return None
