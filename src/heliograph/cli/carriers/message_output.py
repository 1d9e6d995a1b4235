"""Prints messages for commands: it shows whole numbers, and no text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.messages.doubt.trace import TracedMessage


def carrier_names(tx: "Connection") -> "Callable[[int | None], str | None]":
    """Returns what names a carrier by its number. One that was removed has only the number."""
    from heliograph.carriers import all_carriers

    names: dict[int | None, str | None] = {carrier.id: carrier.name for carrier in all_carriers(tx)}
    names[None] = None
    return lambda carrier_id: names.get(carrier_id, f"removed ({carrier_id})")


def records_of(tx: "Connection", traced_messages: "list[TracedMessage]") -> list[dict[str, Any]]:
    """Returns what a list of messages shows of each."""
    from heliograph import accounts
    from heliograph.base.clock import rfc3339, rfc3339_or_none
    from heliograph.carriers import all_carriers
    from heliograph.messages.doubt import trace
    from heliograph.messages.read import as_record

    names = carrier_names(tx)
    owners = {
        account_id: accounts.text_id(accounts.by_id(tx, account_id))
        for account_id in {traced.account_id for traced in traced_messages}
    }
    resending = frozenset(
        carrier.id
        for carrier in all_carriers(tx)
        if carrier.settings.get("in_doubt", "resend") == "resend"
    )
    records = []
    for traced in traced_messages:
        doubts = traced.doubts
        record = as_record(traced.message)
        record.pop("message")
        record.pop("campaign_id")
        records.append(
            {
                "id": record.pop("id"),
                "account_id": owners[traced.account_id],
                "carrier": names(doubts[0].carrier_id if doubts else traced.carrier_id),
                **record,
                "failure": trace.failure(traced.message),
                "segments_in_doubt": sorted(
                    number for doubt in doubts for number in trace.numbers(doubt.parts)
                ),
                "in_doubt_since": (
                    rfc3339(min(doubt.since_ms for doubt in doubts)) if doubts else None
                ),
                "resend_at": rfc3339_or_none(
                    trace.resend_at_ms(traced, carriers_that_resend=resending)
                ),
                "expires_at": rfc3339(doubts[0].expires_at_ms) if doubts else None,
            }
        )
    return records
