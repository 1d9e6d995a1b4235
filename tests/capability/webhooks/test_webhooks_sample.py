"""The sample that `webhook test` sends is a record of its kind, as real events have it."""

import asyncio
import json
from datetime import datetime
from typing import Any

import pytest

from heliograph.base import ids
from heliograph.inbound import InboundText, as_inbound_record
from heliograph.messages.read.message import Message, as_record
from heliograph.messages.states import ERROR_MESSAGES
from tests.support.api.service import contract
from tests.support.capability.commands import Run, typed
from tests.support.capability.sending import House
from tests.support.factories import awaited
from tests.support.wire.webhook_receiver import OK, receiving, says

OF_CAMPAIGN = (
    "id name status status_reason sender message recipients_total scheduled_at started_at"
    " completed_at created_at sandbox statistics"
)
OF_STATISTICS = "queued sent delivered failed segments credits_used delivery_rate"


@pytest.mark.parametrize(
    "kind",
    [
        "message.sent",
        "message.delivered",
        "message.failed",
        "message.received",
        "contact.opted_out",
        "contact.opted_in",
        "wallet.low_balance",
        "campaign.completed",
    ],
)
@awaited
async def test_a_sample_is_a_record_of_its_kind(
    house: House, run: Run, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("HELIOGRAPH_WEBHOOKS_ALLOW_LOOPBACK", "1")
    async with receiving(says(OK)) as receiver:
        added = typed(f"webhook add {receiver.url()} --account amina --events {kind} --json")
        made = (await asyncio.to_thread(run, *added)).json
        assert (await asyncio.to_thread(run, "webhook", "test", made["id"])).status == 0
    event = json.loads(receiver.bodies[-1])
    assert event["event"] == kind
    contract().check_webhook(event)
    data, at = event["data"], event["timestamp"]
    if kind == "wallet.low_balance":
        assert data == {
            "account_id": made["account_id"],
            "kind": "credits",
            "sms_credits": 99,
            "wallet": {"balance": 0, "currency": "GHS"},
            "threshold": 100,
        }
    elif kind == "message.received":
        assert data == inbound_text(data, at)
    elif kind.startswith("contact."):
        assert data["keyword"] == {"contact.opted_out": "stop", "contact.opted_in": "start"}[kind]
    elif kind == "campaign.completed":
        assert list(data) == OF_CAMPAIGN.split()
        assert list(data["statistics"]) == OF_STATISTICS.split()
        assert (data["id"][:4], data["status"], data["completed_at"]) == ("cmp_", "completed", at)
    else:
        assert data == message(data, kind.removeprefix("message."), at)


def inbound_text(data: dict[str, Any], at: str) -> dict[str, Any]:
    """Returns a text that came in, as it is shown anywhere else."""
    at_ms = round(datetime.fromisoformat(at).timestamp() * 1_000)
    raw = ids.raw_of_text("inb", data["id"]) or ""
    text = "A sample of heliograph webhook test."
    return as_inbound_record(
        InboundText(
            id=raw,
            carrier_id=1,
            account_id=None,
            sandbox=False,
            sender="233201234567",
            recipient="4567",
            text=text,
            encoding="GSM-7",
            parts=1,
            parts_received=1,
            repeats=0,
            received_at_ms=at_ms,
            keyword=None,
            opt_out_suspected=False,
            in_reply_to=None,
        )
    )


def message(data: dict[str, Any], status: str, at: str) -> dict[str, Any]:
    """Returns a message of this status, as it is shown anywhere else."""
    at_ms = round(datetime.fromisoformat(at).timestamp() * 1_000)
    failed = "undeliverable" if status == "failed" else None
    return as_record(
        Message(
            id=ids.raw_of_text("msg", data["id"]) or "",
            send_id=ids.raw_of_text("snd", data["send_id"]) or "",
            type="sms",
            sender="SAMPLE",
            recipient=233201234567,
            country_code="GH",
            text="A sample of heliograph webhook test.",
            encoding="GSM-7",
            segments=1,
            credits=0,
            refunded=0,
            status=status,
            error_code=failed,
            error_message=failed and ERROR_MESSAGES[failed],
            reference=None,
            sandbox=False,
            created_at_ms=at_ms,
            sent_at_ms=at_ms,
            delivered_at_ms=at_ms if status == "delivered" else None,
            failed_at_ms=at_ms if failed else None,
            campaign_id=None,
        )
    )
