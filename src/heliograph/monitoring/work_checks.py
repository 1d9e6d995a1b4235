"""Checks what the service is at: its processes, messages in doubt, webhooks, one-time passwords."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from heliograph.base.clock import rfc3339
from heliograph.base.short_texts import duration_in_words
from heliograph.database.leases import CARRIER, DELIVERING, SCHEDULER, SERVE, WORKER
from heliograph.messages.states import IN_DOUBT
from heliograph.messages.tables import inflight
from heliograph.monitoring.check_result import CheckResult
from heliograph.otp import count_blocked, count_capped
from heliograph.webhooks import endpoints
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.states import GONE

FAILING_MS: Final = 3_600_000  # an endpoint that fails for so long will not come back by itself
ENDPOINTS_SHOWN_MAX: Final = 10
# More are as alarming, and judging one takes 0.05 ms.
OTP_CAPPED_SHOWN_MAX: Final = 100
_OTP_REMEDY: Final = (
    "run `heliograph otp blocked`, and find out whether it is pumping, or whether a carrier"
    " delivers nothing there"
)


def doubts(tx: sa.Connection, now_ms: int) -> Iterator[CheckResult]:
    """Finds messages that a carrier was given and never answered: some settle themselves, and for
    others somebody has to ask the carrier.
    """
    columns = inflight.c
    counted = sa.select(
        sa.func.count(columns.message_id.distinct()), sa.func.min(columns.since_ms)
    ).where(columns.state == IN_DOUBT)
    count, since_ms = tx.execute(counted).one()
    if count:
        found = (
            f"{count} message{'s' if count > 1 else ''}, the oldest for"
            f" {duration_in_words(now_ms - since_ms)}: given to a carrier that never answered"
        )
        yield CheckResult(
            "in doubt",
            "warning",
            found,
            "run `heliograph message list --in-doubt`, ask the carrier, then run `heliograph"
            " message settle` or `resend`",
        )


def webhooks(tx: sa.Connection, kinds: Counter[str], now_ms: int) -> Iterator[CheckResult]:
    """Finds out whether webhooks are delivered."""
    yield from webhook_deliveries(tx, kinds)
    yield from map(webhook_endpoint, troubled_endpoints(tx, now_ms))


def webhook_deliveries(tx: sa.Connection, kinds: Counter[str]) -> Iterator[CheckResult]:
    """Finds out whether a process delivers to endpoints, if there are any."""
    enabled = endpoints.count_enabled(tx)
    if not enabled:
        return
    found = f"{enabled} enabled endpoint{'s' if enabled > 1 else ''}"
    if any(kinds[kind] for kind in DELIVERING):
        yield CheckResult("webhooks", "ok", found)
    else:
        yield CheckResult(
            "webhooks",
            "warning",
            f"{found}, and no process that delivers to them",
            "start heliograph serve, or heliograph worker",
        )


def troubled_endpoints(tx: sa.Connection, now_ms: int) -> list[WebhookEndpoint]:
    """Returns some endpoints that need somebody: events that they miss can be replayed for 30
    days.
    """
    return endpoints.failing_endpoints(
        tx,
        failing_before_ms=now_ms - FAILING_MS,
        disabled_after_ms=now_ms - endpoints.DISABLED_TOLD_MS,
        limit=ENDPOINTS_SHOWN_MAX,
    )


def webhook_endpoint(endpoint: WebhookEndpoint) -> CheckResult:
    """Tells what is wrong with an endpoint of `troubled_endpoints`."""
    text_id = endpoints.text_id(endpoint.id)
    check = f"webhook {text_id}"
    if endpoint.disabled_at_ms is None:
        return CheckResult(
            check,
            "warning",
            f"{endpoint.url}: nothing but failures since {rfc3339(endpoint.failing_since_ms or 0)}",
            f"see why: heliograph webhook attempts {text_id}; after 5 days it is disabled",
        )
    why = (
        "it answered 410 Gone"
        if endpoint.disabled_reason == GONE
        else "it met nothing but failures for 5 days"
    )
    return CheckResult(
        check,
        "warning",
        f"{endpoint.url}: disabled since {rfc3339(endpoint.disabled_at_ms)}, because {why}",
        f"when it works again: heliograph webhook enable {text_id}, then heliograph"
        f" webhook replay {text_id} --since 7d",
    )


def one_time_passwords(tx: sa.Connection, now_ms: int) -> Iterator[CheckResult]:
    """Finds out whether one-time passwords are refused, and where."""
    blocked = count_blocked(tx, now_ms)
    held_back = count_capped(tx, now_ms, limit=OTP_CAPPED_SHOWN_MAX)
    if held_back:
        more = " or more" if held_back == OTP_CAPPED_SHOWN_MAX else ""
        yield CheckResult(
            "otp unverified",
            "warning",
            f"{held_back}{more} accounts, or countries of an account, are held back: too many"
            " codes are unverified",
            _OTP_REMEDY,
        )
    if blocked:
        yield CheckResult(
            "otp ranges",
            "warning",
            f"{blocked} blocked: codes were not verified there, or an operator has blocked them",
            _OTP_REMEDY,
        )


def processes(kinds: Counter[str]) -> CheckResult:
    """Looks at the processes that are registered: one that died is among them for half a minute
    yet.
    """
    kinds_in_words = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"
    if not any(kinds[kind] for kind in (SERVE, WORKER, CARRIER)):
        return CheckResult(
            "processes",
            "warning",
            f"{kinds_in_words}: nothing sends",
            "start heliograph serve, or heliograph worker",
        )
    if not any(kinds[kind] for kind in (SERVE, WORKER, SCHEDULER)):
        return CheckResult(
            "processes",
            "warning",
            f"{kinds_in_words}: no process handles validity, messages in doubt and the work of dead"
            " processes",
            "start heliograph scheduler, or heliograph worker",
        )
    return CheckResult("processes", "ok", kinds_in_words)
