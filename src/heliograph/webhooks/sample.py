"""A sample event, to see whether a receiver is there and can check what it gets."""

from typing import Any, Final

from heliograph.base import ids
from heliograph.base.clock import rfc3339
from heliograph.webhooks.attempt import Failed
from heliograph.webhooks.endpoints import Endpoint
from heliograph.webhooks.events import EVENT_PREFIX, Event, body_of
from heliograph.webhooks.guard import Openings
from heliograph.webhooks.post import Poster
from heliograph.webhooks.sign import headers
from heliograph.webhooks.tables import LOW_BALANCE, MESSAGE_DELIVERED

_ID: Final = "00000000000070008000000000000000"  # of nothing that is stored


async def send_sample(endpoint: Endpoint, account_id: str, secrets: tuple[str, str | None], allow: Openings, now_ms: int) -> dict[str, Any]:
    """One attempt, signed like any other. What was answered; `reason`: why it counts as a failure, None: it does not."""
    event = _sample(endpoint, account_id, now_ms)
    event_id = ids.new(EVENT_PREFIX)
    body = body_of(event_id, event, account_id).encode()
    poster = Poster(allow, connections=1)
    try:
        outcome = await poster.post(endpoint.url, headers(event_id, event.kind, body, now_ms // 1_000, *secrets), body)
    finally:
        await poster.close()
    answered = {"event_id": event_id, "event": event.kind, "took_ms": round(outcome.seconds * 1_000)}
    if isinstance(outcome, Failed):
        return answered | {"status": None, "reason": outcome.reason, "answer": outcome.detail}
    return answered | {"status": outcome.status, "reason": None if outcome.ok else "status", "answer": outcome.text}


def _sample(endpoint: Endpoint, account_id: str, now_ms: int) -> Event:
    kind = MESSAGE_DELIVERED if MESSAGE_DELIVERED in endpoint.kinds else endpoint.kinds[0]
    if kind == LOW_BALANCE:
        data: dict[str, Any] = {"account_id": account_id, "kind": "credits", "sms_credits": 99, "wallet": {"balance": 0, "currency": "GHS"},
                                "threshold": 100}
    else:
        at = rfc3339(now_ms)
        data = {
            "id": ids.text_of_raw("msg", _ID), "send_id": ids.text_of_raw("snd", _ID), "campaign_id": None, "type": "sms", "sender": "SAMPLE",
            "recipient": "233201234567", "country_code": "GH", "message": "A sample of heliograph webhook test.", "encoding": "GSM-7", "segments": 1,
            "credits": 0, "credits_refunded": 0, "status": kind.removeprefix("message."), "error": None, "reference": None,
            "sandbox": endpoint.sandbox, "created_at": at, "sent_at": at, "delivered_at": at, "failed_at": None,
        }  # fmt: skip
    return Event(endpoint.account_id, endpoint.sandbox, kind, now_ms, data)
