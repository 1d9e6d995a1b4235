"""Makes the section that says why a message has failed."""

from collections import defaultdict
from collections.abc import Iterator

from heliograph.messages.states import FAILED_BY_RECEIPT, FAILURE_CODES
from tools.states.markdown import table


def errors() -> Iterator[str]:
    """Yields the section about error.code."""
    yield "## error.code of a failed message\n"
    by_code: dict[str, list[str]] = defaultdict(list)
    for state, code in FAILED_BY_RECEIPT.items():
        by_code[code].append(state.value)
    yield from table(
        ("code", "message", "comes from"),
        (
            (f"`{code}`", described.message, _causes(by_code[code], described.cause))
            for code, described in FAILURE_CODES.items()
        ),
    )
    yield "The table is `FAILURE_CODES` in `messages/states.py`.\n"


def _causes(receipts: list[str], other: str) -> str:
    if not receipts:
        return other
    named = f"receipt {', '.join(receipts)}"
    return f"{named}; or {other}" if other else named
