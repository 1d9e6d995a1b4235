"""Makes rows of messages that a carrier has not answered, without the messages themselves."""

from typing import Any

from heliograph.messages.states import SUBMITTING


def waiting_run(carrier_id: int, rank_us: int, count: int) -> dict[str, Any]:
    """Returns a run of the queue, of so many messages."""
    return {
        "carrier_id": carrier_id,
        "rank_us": rank_us,
        "first_id": "f" * 32,
        "count": count,
        "send_id": "e" * 32,
        "segments": 1,
        "prefix": "",
        "attempt": 1,
        "not_before_ms": 0,
        "expires_at_ms": 0,
    }


def unanswered(carrier_id: int) -> dict[str, Any]:
    """Returns a segment that is in flight."""
    return {
        "message_id": "a" * 32,
        "part": 1,
        "parts": 1,
        "carrier_id": carrier_id,
        "worker": 0,
        "attempt": 1,
        "state": SUBMITTING,
        "prefix": "",
        "expires_at_ms": 0,
        "since_ms": 0,
    }
