"""Defines the error with which a wrong setting stops the start."""


class SettingError(Exception):
    """A setting is wrong; the text names it, what was found and what is allowed."""

    def __init__(self, name: str, found: str, allowed: str) -> None:
        super().__init__(f"{name}: found {found}; allowed: {allowed}")
