"""Explains the command_status values of carriers in plain words (SMPP 3.4, table 5-2)."""

import re
from typing import Final

# in the error_message of a message that a carrier refused
COMMAND_STATUS: Final = "command_status 0x"
_WRITTEN: Final = re.compile(COMMAND_STATUS + "([0-9A-F]{8})")
_MEANINGS: Final = {
    0x01: "the message has an invalid length",
    0x02: "the command has an invalid length",
    0x03: "the command is not known",
    0x04: "the connection is not bound for that",
    0x05: "already bound",
    0x06: "invalid priority",
    0x07: "invalid registered_delivery flag",
    0x08: "a fault of its own system",
    0x0A: "invalid sender",
    0x0B: "no such number",
    0x0C: "invalid message id",
    0x0D: "the bind failed",
    0x0E: "wrong password",
    0x0F: "wrong system_id",
    0x11: "the message could not be canceled",
    0x13: "the message could not be replaced",
    0x14: "its queue is full",
    0x15: "invalid service type",
    0x33: "invalid number of destinations",
    0x34: "invalid name of a distribution list",
    0x40: "invalid destination flag",
    0x42: "submitting with replacement is not supported",
    0x43: "invalid esm_class",
    0x44: "cannot submit to a distribution list",
    0x45: "it could not take the message",
    0x48: "invalid type of number (TON) of the sender",
    0x49: "invalid numbering plan (NPI) of the sender",
    0x50: "invalid type of number (TON) of the recipient",
    0x51: "invalid numbering plan (NPI) of the recipient",
    0x53: "invalid system_type",
    0x54: "invalid replace_if_present flag",
    0x55: "invalid number of messages",
    0x58: "too many messages at once (throttled)",
    0x61: "invalid scheduled delivery time",
    0x62: "invalid validity period",
    0x63: "unknown predefined message",
    0x64: "a temporary error of the receiving side",
    0x65: "a permanent error of the receiving side",
    0x66: "the receiving side rejected the message",
    0x67: "query_sm failed",
    0xC0: "error in the optional parameters",
    0xC1: "an optional parameter is not allowed",
    0xC2: "an optional parameter has an invalid length",
    0xC3: "an optional parameter is missing",
    0xC4: "an optional parameter has an invalid value",
    0xFE: "delivery failed",
    0xFF: "an error without a name",
}
# for each carrier's own statuses: their meaning is in its documentation
_RESERVED: Final = range(0x400, 0x500)


def meaning_of(command_status: int) -> str:
    """Returns a phrase such as `no such number, says the carrier`."""
    known = _MEANINGS.get(command_status)
    if known is not None:
        return f"{known}, says the carrier"
    if command_status in _RESERVED:
        return "a status of this carrier's own, which its documentation explains"
    return "a status that SMPP 3.4 does not define; ask the carrier"


def status_in_words(command_status: int) -> str:
    """Returns a command_status as it stands in the error_message of a message, in eight digits."""
    return f"{COMMAND_STATUS}{command_status:08X}"


def status_written_in(error_message: str | None) -> int | None:
    """Returns the command_status that an error_message names, or None if it names none."""
    found = _WRITTEN.search(error_message or "")
    return int(found[1], 16) if found else None
