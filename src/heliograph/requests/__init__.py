"""What is kept of requests: their idempotency keys."""

from heliograph.requests.idempotency import InProgress, refuse_used_key, replay_or_run

__all__ = ["InProgress", "refuse_used_key", "replay_or_run"]
