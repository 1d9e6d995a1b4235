"""Maps the command_status of an answer to submit_sm to what it means for the message (SMPP 3.4,
table 5-2; docs/answers.md).
"""

from collections.abc import Iterable, Mapping
from typing import Final

from heliograph.carriers.link import SubmitOutcome

ESME_RINVBNDSTS: Final = 0x04
ESME_RALYBND: Final = 0x05
ESME_RBINDFAIL: Final = 0x0D
ESME_RINVPASWD: Final = 0x0E
ESME_RINVSYSID: Final = 0x0F

# The session is at fault, not the message: it is bound anew before anything else is sent.
SESSION_FAULTS: Final = frozenset(
    {ESME_RINVBNDSTS, ESME_RALYBND, ESME_RBINDFAIL, ESME_RINVPASWD, ESME_RINVSYSID}
)
# Only an operator can mend these; trying often gets accounts locked.
CREDENTIAL_FAULTS: Final = frozenset({ESME_RINVPASWD, ESME_RINVSYSID})
# In answer to a bind: the carrier knows us and says no (0x05, 0x0D pass when it drops a session it
# still believes in).
BIND_REFUSALS: Final = CREDENTIAL_FAULTS | {ESME_RALYBND, ESME_RBINDFAIL}
# Message length, command length, command id: our own fault, and sending the same octets again would
# not mend it.
OUR_FAULTS: Final = frozenset({0x01, 0x02, 0x03})


def _table() -> dict[int, SubmitOutcome]:
    table = {
        0x00: SubmitOutcome.ACCEPTED,
        0x14: SubmitOutcome.THROTTLED,
        0x58: SubmitOutcome.THROTTLED,
        0x08: SubmitOutcome.RETRY,
        0x64: SubmitOutcome.RETRY,
    }
    permanent: tuple[Iterable[int], ...] = (
        OUR_FAULTS,
        (0x0A, 0x0B, 0x15, 0x33, 0x65, 0xFE),
        range(0x42, 0x45),
        range(0x48, 0x56),
        range(0x61, 0x64),
        range(0xC0, 0xC5),
    )
    table.update((status, SubmitOutcome.UNSPENT) for status in SESSION_FAULTS)
    table.update((status, SubmitOutcome.REFUSED) for statuses in permanent for status in statuses)
    return table


_OUTCOMES: Final = _table()


# What an operator can say of a status. What ends a session is not the message's affair, and 0 is
# never anything but ACCEPTED.
SAYABLE: Final = (SubmitOutcome.THROTTLED, SubmitOutcome.RETRY, SubmitOutcome.REFUSED)
STATUS_MAX: Final = 0xFFFFFFFF


def read_overrides(settings: Mapping[str, str]) -> dict[int, SubmitOutcome]:
    """Reads overrides such as `{"0x45": "retry"}`, as a carrier's settings keep them. Raises
    ValueError.
    """
    overrides = {}
    for text, meaning in settings.items():
        status = int(text, 16)
        if not 0 < status <= STATUS_MAX or status in SESSION_FAULTS:
            session = ", ".join(f"0x{fault:02X}" for fault in sorted(SESSION_FAULTS))
            raise ValueError(
                f"status: {text} (allowed: 0x01..0x{STATUS_MAX:X}, but for what ends a session:"
                f" {session})"
            )
        if meaning not in [outcome.value for outcome in SAYABLE]:
            raise ValueError(
                f"status: {text}={meaning} (allowed:"
                f" {', '.join(outcome.value for outcome in SAYABLE)})"
            )
        overrides[status] = SubmitOutcome(meaning)
    return overrides


def outcome_of(command_status: int, overrides: Mapping[int, SubmitOutcome]) -> SubmitOutcome:
    """Returns the SubmitOutcome of an answer. `overrides` is the carrier's own reading of some
    statuses. A status in neither table is worth a retry.
    """
    outcome = overrides.get(command_status)
    return outcome if outcome is not None else _OUTCOMES.get(command_status, SubmitOutcome.RETRY)
