"""Checks before a process starts, and what `doctor` and `restore-check` find out."""

__all__ = [
    "carrier_findings",
    "doctor",
    "restore_check",
    "sealed_secrets",
    "secret_key",
]
