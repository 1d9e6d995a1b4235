"""Checks before a process starts, and what `doctor` and `restore-check` find out."""

__all__ = [
    "doctor",
    "restore_check",
    "sealed_secrets",
    "secret_key",
]
