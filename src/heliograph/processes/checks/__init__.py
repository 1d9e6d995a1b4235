"""Makes the checks before a process starts, and those of `doctor` and `restore-check`."""

__all__ = [
    "doctor",
    "restore_check",
    "sealed_secrets",
    "secret_key",
]
