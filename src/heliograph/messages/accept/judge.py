"""This is the second half of POST /sms/send: it decides what becomes of requests that are right in
form. It is pure: it has no I/O and no clock of its own.

`judge` decides in order of arrival on the running balance of the wallets that it was given;
`acceptor.py` locks, asks, and applies.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from heliograph.base.clock import DAY_MS
from heliograph.base.errors import InsufficientCredits, ServiceError
from heliograph.base.short_texts import cut
from heliograph.messages.accept.extension import Aboard
from heliograph.messages.accept.refusals import SenderNotApproved, no_valid_recipient
from heliograph.messages.accept.request import RECIPIENT_SHOWN_MAX, SendRequest
from heliograph.messages.accept.tariff import Plan, Run, Tariff
from heliograph.wallet import refusal_to_spend

SANDBOX_SENDER: Final = "SANDBOX"
# last digits of a recipient that make a sandbox send 402 (docs/api.md, "Sandbox")
SANDBOX_NO_CREDITS: Final = "004"
SIMULATED_NO_CREDITS: Final = (
    f"Simulated: in sandbox a recipient that ends in {SANDBOX_NO_CREDITS} is answered as if the"
    " wallet held too few SMS credits. Nothing is missing."
)


class AccountFacts(NamedTuple):
    """The configuration says this of an account."""

    senders: dict[str, str]  # folded → as approved, of this mode
    countries: frozenset[str] | None  # it may send to; None: all with a route
    daily_credits: int | None
    keys_quota: int | None = None  # octets of Idempotency-Keys a day; None: no bound
    partner_id: str | None = None  # raw; of a Connect customer


@dataclass(slots=True)
class WalletState:
    """This is a wallet as its lock found it; judging moves it on."""

    sms_credits: int
    spent_day: int
    spent_credits: int
    charged: bool = False


@dataclass(slots=True)
class Accepted:
    """A send that goes out (or, in a dry run, would), with all that its rows need."""

    request: SendRequest
    sender: str  # as approved
    recipients: list[int]
    countries: list[str | None]
    carriers: list[int]
    credits: list[int]
    runs: list[Run]
    rejected: list[tuple[int, str, str]]
    duplicates: list[tuple[int, int]]
    credits_required: int = 0
    credits_used: int = 0
    credits_remaining: int = 0


def judge(
    request: SendRequest,
    facts: AccountFacts,
    tariff: Tariff,
    wallet: WalletState,
    now_ms: int,
    companion: Aboard | None = None,
) -> Accepted | ServiceError:
    """Accepts one request and debits `wallet`, or says why not and leaves it as it was.
    `companion`: of its type, if that has one.
    """
    sender = (
        request.sender
        if request.sender_is_ours
        else approved_sender(request.sender, facts.senders, sandbox=request.sandbox)
    )
    if sender is None:
        return SenderNotApproved(f"The sender {request.sender!r} is not approved for this account.")
    accepted = _sort_recipients(request, sender, facts, tariff)
    if not accepted.recipients:
        return no_valid_recipient(request, accepted.rejected)
    refusal = companion.refusal(request, now_ms) if companion is not None else None
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


def _sort_recipients(
    request: SendRequest, sender: str, facts: AccountFacts, tariff: Tariff
) -> Accepted:
    accepted = Accepted(
        request,
        sender,
        [],
        countries=[],
        carriers=[],
        credits=[],
        runs=[],
        rejected=[],
        duplicates=[],
    )
    first_index: dict[str, int] = {}
    plan_of, segments, countries = tariff.plan, request.segments, facts.countries
    run_plan: Plan | None = None
    run_first = 0
    for index, phone in enumerate(request.phones):
        if phone is None:
            accepted.rejected.append(
                (index, cut(request.recipients[index], RECIPIENT_SHOWN_MAX), "invalid_number")
            )
            continue
        earlier = first_index.setdefault(phone.digits, index)
        if earlier != index:
            accepted.duplicates.append((index, earlier))
            continue
        plan = plan_of(request.account_id, phone, sandbox=request.sandbox)
        refusal = (
            plan.refusal
            if countries is None or phone.country_code in countries
            else "country_not_allowed"
        )
        if refusal is not None:
            accepted.rejected.append(
                (index, cut(request.recipients[index], RECIPIENT_SHOWN_MAX), refusal)
            )
            continue
        if (
            run_plan is None
            or plan.carrier_id != run_plan.carrier_id
            or plan.prefix != run_plan.prefix
        ):
            end_run(accepted, run_plan, run_first)
            run_plan, run_first = plan, len(accepted.recipients)
        accepted.recipients.append(int(phone.digits))
        accepted.countries.append(phone.country_code)
        accepted.carriers.append(plan.carrier_id)
        accepted.credits.append(plan.rate * segments)
    end_run(accepted, run_plan, run_first)
    _settle_duplicates(accepted)
    accepted.credits_required = sum(accepted.credits)
    if request.sandbox:
        # a message's credits are what was charged for it
        accepted.credits = [0] * len(accepted.credits)
    return accepted


def end_run(accepted: Accepted, plan: Plan | None, first: int) -> None:
    """Gives what was accepted since `first` to one carrier."""
    if plan is not None:
        accepted.runs.append(
            Run(plan.carrier_id, plan.prefix, first, len(accepted.recipients) - first)
        )


def _settle_duplicates(accepted: Accepted) -> None:
    """A repeated number whose first was rejected is rejected for the same reason."""
    if not accepted.duplicates or not accepted.rejected:
        return
    why = {index: reason for index, _, reason in accepted.rejected}
    for index, earlier in accepted.duplicates:
        if earlier in why:
            accepted.rejected.append(
                (index, cut(accepted.request.recipients[index], RECIPIENT_SHOWN_MAX), why[earlier])
            )
    accepted.duplicates = [pair for pair in accepted.duplicates if pair[1] not in why]
    accepted.rejected.sort()


def _debit(
    request: SendRequest, accepted: Accepted, facts: AccountFacts, wallet: WalletState, now_ms: int
) -> ServiceError | None:
    cost = accepted.credits_required
    if request.sandbox:  # the one place where charging is skipped
        if any(number % 1_000 == int(SANDBOX_NO_CREDITS) for number in accepted.recipients):
            return InsufficientCredits(SIMULATED_NO_CREDITS, required=cost, available=0)
        return None
    if cost > wallet.sms_credits:
        return InsufficientCredits(required=cost, available=wallet.sms_credits)
    today = now_ms // DAY_MS
    spent = wallet.spent_credits if wallet.spent_day == today else 0
    capped = refusal_to_spend(facts.daily_credits, spent, cost, now_ms)
    if capped is not None:
        return capped
    wallet.sms_credits -= cost
    wallet.spent_day, wallet.spent_credits = today, spent + cost
    wallet.charged = True
    accepted.credits_used = cost
    return None
