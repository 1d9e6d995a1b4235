"""What is kept of requests: their idempotency keys."""

from heliograph.requests.idempotency import InProgress, replay_or_run

__all__ = ["InProgress", "replay_or_run"]
