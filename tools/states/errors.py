"""Why a message has failed."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from heliograph.messages.states import ERROR_MESSAGES, FAILED_BY_RECEIPT
from tools.states.markdown import table

NEVER_YET: Final = "not used in this version"
ERROR_CAUSES: Final = {
    "carrier_rejected": (
        "the carrier refused it at submit, or a temporary fault lasted longer than the tries"
    ),
    "undeliverable": "",
    "expired": "or it was still queued when its validity ended",
    "rejected": "",
    "unknown": "or it was in doubt until its validity ended",
    "canceled": (
        "its campaign was canceled; or all queued messages of its account were canceled (`message"
        " cancel`); or it was in doubt, and an operator decided that it is not to be sent again"
        " (`message settle --as canceled`)"
    ),
    "blocked": "its recipient opted out while it was queued",
    "no_route": NEVER_YET,
}


def errors() -> Iterator[str]:
    """Yields the section about error.code. Raises AssertionError when this file and the code do not
    know the same codes.
    """
    differing = ERROR_CAUSES.keys() ^ ERROR_MESSAGES.keys()
    assert not differing, f"told here or there in the code, but not both: {differing}"
    yield "## error.code of a failed message\n"
    by_code: dict[str, list[str]] = defaultdict(list)
    for state, code in FAILED_BY_RECEIPT.items():
        by_code[code].append(state.value)
    yield from table(
        ("code", "message", "comes from"),
        (
            (f"`{code}`", message, _causes(by_code[code], ERROR_CAUSES[code]))
            for code, message in ERROR_MESSAGES.items()
        ),
    )


def _causes(receipts: list[str], others: str) -> str:
    told = [f"receipt {', '.join(receipts)}"] if receipts else []
    return "; ".join([*told, others] if others else told)
