"""Reads which mode a page is asked for. Live and sandbox have opt-outs, keywords and texts of their
own.
"""

from collections.abc import Mapping
from typing import Final

from heliograph.portal.visit import MODES

SANDBOX: Final = "sandbox"


def mode_asked(fields: Mapping[str, str]) -> str:
    """Returns the mode that is asked for: live, unless it is the sandbox."""
    return MODES[fields.get("mode") == SANDBOX]
