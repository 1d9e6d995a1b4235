"""Reads how much memory a process has taken."""

from pathlib import Path


def peak_mb(process_id: int) -> float:
    """Returns the most memory that a process has ever had."""
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
