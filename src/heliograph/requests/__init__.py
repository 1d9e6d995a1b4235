"""What is kept of requests: their idempotency keys."""

from heliograph.requests.idempotency import KEPT, KEPT_MS, InProgress, refuse_used_key, replay_or_run

__all__ = ["KEPT", "KEPT_MS", "InProgress", "refuse_used_key", "replay_or_run"]
