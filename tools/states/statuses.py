"""Makes the section that says what each command_status of an answer counts as."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from heliograph.carriers import SubmitOutcome
from heliograph.carriers.smpp.outcomes import (
    BIND_REFUSALS,
    CREDENTIAL_FAULTS,
    OUR_FAULTS,
    SESSION_FAULTS,
    outcome_of,
)
from tools.states.markdown import table

# SMPP 3.4, table 5-2
STATUS_NAMES: Final = {
    0x00: "ROK",
    0x01: "RINVMSGLEN",
    0x02: "RINVCMDLEN",
    0x03: "RINVCMDID",
    0x04: "RINVBNDSTS",
    0x05: "RALYBND",
    0x06: "RINVPRTFLG",
    0x07: "RINVREGDLVFLG",
    0x08: "RSYSERR",
    0x0A: "RINVSRCADR",
    0x0B: "RINVDSTADR",
    0x0C: "RINVMSGID",
    0x0D: "RBINDFAIL",
    0x0E: "RINVPASWD",
    0x0F: "RINVSYSID",
    0x11: "RCANCELFAIL",
    0x13: "RREPLACEFAIL",
    0x14: "RMSGQFUL",
    0x15: "RINVSERTYP",
    0x33: "RINVNUMDESTS",
    0x34: "RINVDLNAME",
    0x40: "RINVDESTFLAG",
    0x42: "RINVSUBREP",
    0x43: "RINVESMCLASS",
    0x44: "RCNTSUBDL",
    0x45: "RSUBMITFAIL",
    0x48: "RINVSRCTON",
    0x49: "RINVSRCNPI",
    0x50: "RINVDSTTON",
    0x51: "RINVDSTNPI",
    0x53: "RINVSYSTYP",
    0x54: "RINVREPFLAG",
    0x55: "RINVNUMMSGS",
    0x58: "RTHROTTLED",
    0x61: "RINVSCHED",
    0x62: "RINVEXPIRY",
    0x63: "RINVDFTMSGID",
    0x64: "RX_T_APPN",
    0x65: "RX_P_APPN",
    0x66: "RX_R_APPN",
    0x67: "RQUERYFAIL",
    0xC0: "RINVOPTPARSTREAM",
    0xC1: "ROPTPARNOTALLWD",
    0xC2: "RINVPARLEN",
    0xC3: "RMISSINGOPTPARAM",
    0xC4: "RINVOPTPARAMVAL",
    0xFE: "RDELIVERYFAILURE",
    0xFF: "RUNKNOWNERR",
}
# up to here statuses are asked one by one: SMPP's own, the reserved ones, and vendors' from 0x400
# on
STATUS_MAX: Final = 0x4FF


def statuses() -> Iterator[str]:
    """Yields the section about command_status."""
    yield "## command_status in an answer\n"
    by_outcome: dict[SubmitOutcome, list[int]] = defaultdict(list)
    for status in range(STATUS_MAX + 1):
        by_outcome[outcome_of(status, {})].append(status)
    yield from table(
        ("outcome", "command_status"),
        (
            (f"`{outcome.value}`", _named(outcome, by_outcome[outcome]))
            for outcome in SubmitOutcome
            if outcome in by_outcome
        ),
    )
    yield (
        f"After an answer of {_hex(SESSION_FAULTS)} the service binds the session again. If a bind"
        f" is answered with {_hex(BIND_REFUSALS)},"
    )
    yield (
        f"the carrier is shown as `refused`. After {_hex(CREDENTIAL_FAULTS)} it is tried again"
        " slowly from the first try on."
    )
    yield (
        f"An answer of {_hex(OUR_FAULTS)} is logged as an error, because the service encoded"
        " something that this carrier does not accept."
    )
    yield "The table is `carriers/smpp/outcomes.py`.\n"


def _named(outcome: SubmitOutcome, statuses: list[int]) -> str:
    named = ", ".join(
        f"0x{status:02X} {STATUS_NAMES[status]}" for status in statuses if status in STATUS_NAMES
    )
    unnamed = _hex(status for status in statuses if status not in STATUS_NAMES)
    if outcome is outcome_of(STATUS_MAX, {}):
        return f"every other, among them {named}"
    return f"{named}; {unnamed}, which SMPP 3.4 reserves" if unnamed else named


def _hex(statuses: Iterable[int]) -> str:
    return ", ".join(f"0x{status:02X}" for status in sorted(statuses))
