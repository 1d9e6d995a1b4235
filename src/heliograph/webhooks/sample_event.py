"""Makes a sample event, to see whether a receiver is there and can check what it gets."""

from typing import Any, Final

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.events import EVENT_PREFIX, Event, body_of
from heliograph.webhooks.http.address_guard import AllowedNetworks
from heliograph.webhooks.http.attempt import PostFailure
from heliograph.webhooks.http.post import Poster
from heliograph.webhooks.sign import headers
from heliograph.webhooks.tables import (
    CAMPAIGN_COMPLETED,
    CONTACT_OPTED_IN,
    CONTACT_OPTED_OUT,
    LOW_BALANCE,
    MESSAGE_DELIVERED,
    MESSAGE_FAILED,
    MESSAGE_RECEIVED,
)

_ID: Final = "00000000000070008000000000000000"  # of nothing that is stored
_SENDER: Final = "SAMPLE"
_SAMPLE_PHONE: Final = "233201234567"
_TEXT: Final = "A sample of heliograph webhook test."


async def send_sample(
    endpoint: WebhookEndpoint,
    account_id: str,
    secrets: tuple[str, str | None],
    allow: AllowedNetworks,
    now_ms: int,
    raw_id: str | None = None,
) -> dict[str, Any]:
    """Makes one attempt, signed like any other, and returns what was answered. `reason` is why
    it counts as a failure, or None when it does not. `raw_id` is the event's, if it is given.
    """
    event = _sample(endpoint, account_id, now_ms)
    event_id = ids.new(EVENT_PREFIX) if raw_id is None else ids.text_of_raw(EVENT_PREFIX, raw_id)
    body = body_of(event_id, event, account_id).encode()
    poster = Poster(allow, connections=1)
    try:
        result = await poster.post(
            endpoint.url, headers(event_id, event.kind, body, now_ms // 1_000, *secrets), body
        )
    finally:
        await poster.close()
    answered = {
        "event_id": event_id,
        "event": event.kind,
        "took_ms": round(result.seconds * 1_000),
    }
    if isinstance(result, PostFailure):
        return answered | {"status": None, "reason": result.reason, "answer": result.detail}
    return answered | {
        "status": result.status,
        "reason": None if result.ok else "status",
        "answer": result.text,
    }


def _sample(endpoint: WebhookEndpoint, account_id: str, now_ms: int) -> Event:
    """Returns a sample event of a kind that the endpoint hears. Its record has the shape of that
    kind's events (docs/webhooks.md, "The events").
    """
    event_kind, at = (
        MESSAGE_DELIVERED if MESSAGE_DELIVERED in endpoint.kinds else endpoint.kinds[0],
        rfc3339(now_ms),
    )
    if event_kind == LOW_BALANCE:
        data = _low_balance(account_id)
    elif event_kind == CAMPAIGN_COMPLETED:
        data = _campaign(at, sandbox=endpoint.sandbox)
    elif event_kind == MESSAGE_RECEIVED:
        data = _inbound(at, sandbox=endpoint.sandbox)
    elif event_kind in (CONTACT_OPTED_OUT, CONTACT_OPTED_IN):
        data = _opt_out(is_out=event_kind == CONTACT_OPTED_OUT, sandbox=endpoint.sandbox)
    else:
        data = _message(event_kind, at, sandbox=endpoint.sandbox)
    return Event(endpoint.account_id, endpoint.sandbox, event_kind, now_ms, data)


def _message(kind: str, at: str, *, sandbox: bool) -> dict[str, Any]:
    failed = kind == MESSAGE_FAILED
    return {
        "id": ids.text_of_raw("msg", _ID),
        "send_id": ids.text_of_raw("snd", _ID),
        "campaign_id": None,
        "type": "sms",
        "sender": _SENDER,
        "recipient": _SAMPLE_PHONE,
        "country_code": "GH",
        "message": _TEXT,
        "encoding": "GSM-7",
        "segments": 1,
        "credits": 0,
        "credits_refunded": 0,
        "status": kind.removeprefix("message."),
        "error": {
            "code": "undeliverable",
            "message": "The message could not be delivered to the handset.",
        }
        if failed
        else None,
        "reference": None,
        "sandbox": sandbox,
        "created_at": at,
        "sent_at": at,
        "delivered_at": at if kind == MESSAGE_DELIVERED else None,
        "failed_at": at if failed else None,
    }


def _opt_out(*, is_out: bool, sandbox: bool) -> dict[str, Any]:
    return {
        "phone": _SAMPLE_PHONE,
        "sender": None,
        "source": "keyword",
        "keyword": "stop" if is_out else "start",
        "inbound_id": ids.text_of_raw("inb", _ID),
        "sandbox": sandbox,
    }


def _inbound(at: str, *, sandbox: bool) -> dict[str, Any]:
    return {
        "id": ids.text_of_raw("inb", _ID),
        "from": _SAMPLE_PHONE,
        "to": "4567",
        "text": _TEXT,
        "encoding": "GSM-7",
        "parts": 1,
        "parts_received": 1,
        "complete": True,
        "keyword": None,
        "opt_out_suspected": False,
        "in_reply_to": None,
        "sandbox": sandbox,
        "received_at": at,
    }


def _campaign(at: str, *, sandbox: bool) -> dict[str, Any]:
    return {
        "id": ids.text_of_raw("cmp", _ID),
        "name": "Sample",
        "status": "completed",
        "status_reason": None,
        "sender": _SENDER,
        "message": _TEXT,
        "recipients_total": 4,
        "scheduled_at": None,
        "started_at": at,
        "completed_at": at,
        "created_at": at,
        "sandbox": sandbox,
        "statistics": {
            "queued": 0,
            "sent": 1,
            "delivered": 2,
            "failed": 1,
            "segments": 4,
            "credits_used": 0,
            "delivery_rate": 0.5,
        },
    }


def _low_balance(account_id: str) -> dict[str, Any]:
    return {
        "account_id": account_id,
        "kind": "credits",
        "sms_credits": 99,
        "wallet": {"balance": 0, "currency": "GHS"},
        "threshold": 100,
    }
