"""Checks before a process starts, and what `doctor` and `restore-check` find out."""
