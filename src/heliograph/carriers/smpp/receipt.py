"""Reads delivery receipts in the dialects that carriers write them in (SMPP 3.4 appendix B is a
suggestion, and treated as one).

Nothing here raises: a receipt that cannot be read becomes one whose state is None, so that it is
stored, acknowledged, and never stops the ones behind it.
"""

import re
from typing import Final

from heliograph.carriers.link import Receipt, ReceiptState
from heliograph.carriers.smpp import pdu

RAW_OCTETS_MAX: Final = 1_024  # what is kept of a receipt for the operator to look at
REF_CHARACTERS_MAX: Final = 64  # SMPP 3.4, 5.2.23: message_id has at most 65 octets with its NUL
# err: has 3 in SMPP 3.4, appendix B, and is free text at some carriers
ERROR_CHARACTERS_MAX: Final = 32

_NOTE_OCTETS_MAX: Final = 32
UCS2: Final = 8
_NAMES: Final = "id|sub|dlvrd|submit[ _]?date|done[ _]?date|stat|err"
# any name ends the field before it: it may be another for `text`
_KEY: Final = re.compile(rf"(?:^|[\s,;])({_NAMES}|[a-z]\w*)\s?:", re.IGNORECASE)
# A word with just six digits in a row, in place of an error or a state, may be a one-time password:
# no network's error code has six.
_CODE: Final = r"[^\s,;:\0]*?(?<!\d)\d{6}(?!\d)"
# one word: what comes behind it may be the customer's text
_ERROR: Final = rf"(?!{_CODE})[^\s,;:\0]+"
_FIRST_WORD: Final = re.compile(_ERROR)
# Of an error's word anything else is shown as a question mark: it goes to whoever reads the API,
# webhooks, logs and terminals, and no network's code has markup, control characters or signs that
# turn the direction of what follows.
_NOT_SHOWN: Final = re.compile(r"[^0-9A-Za-z!#$%()*+./=?@_{|}~\[\]^-]")
# Fields that are known, with one word each, as many as a receipt begins with.
_PLAIN: Final = re.compile(
    rf"(?:[\s,;]*(?!(?:stat|err)\s?:\s?{_CODE})(?:{_NAMES})\s?:"
    r"(?:\s?(?!\w+\s?:)[!-+\--9<-~]+)?(?![^\s,;\0]))*",
    re.IGNORECASE,
)
# The form nearly all carriers use, read in one step: a fifth of the time that looking for each
# field takes.
_COMMON: Final = re.compile(
    rf"id:(\S+) sub:\S* dlvrd:\S* submit date:\d* done date:\d* stat:(\S+) err:({_ERROR})(?:"
    r" text:|$)",
    re.IGNORECASE,
)

_STATES: Final = {
    name: state
    for state, names in {
        ReceiptState.DELIVRD: "DELIVRD DELIVERED DELIVERD",
        ReceiptState.EXPIRED: "EXPIRED EXPIRD",
        ReceiptState.DELETED: "DELETED DELETD CANCELED CANCELLED",
        ReceiptState.UNDELIV: "UNDELIV UNDELIVERED UNDELIVERABLE UNDELIVRD UNDLVRD",
        ReceiptState.FAILED: "FAILED FAIL",
        ReceiptState.REJECTD: "REJECTD REJECTED",
        ReceiptState.UNKNOWN: "UNKNOWN UNKNOWNN",
        ReceiptState.ACCEPTD: "ACCEPTD ACCEPTED",
        ReceiptState.ENROUTE: "ENROUTE EN_ROUTE BUFFERED BUFFRED SCHEDULED",
    }.items()
    for name in names.split()
}

# message_state, SMPP 3.4 table 5-6 (0 SCHEDULED is version 5.0's)
_MESSAGE_STATES: Final = {
    0: ReceiptState.ENROUTE,
    1: ReceiptState.ENROUTE,
    2: ReceiptState.DELIVRD,
    3: ReceiptState.EXPIRED,
    4: ReceiptState.DELETED,
    5: ReceiptState.UNDELIV,
    6: ReceiptState.ACCEPTD,
    7: ReceiptState.UNKNOWN,
    8: ReceiptState.REJECTD,
}


def is_receipt(message: pdu.ShortMessage) -> bool:
    """Returns whether a deliver_sm is about a message that we sent, and is not from a handset.

    Its esm_class says so (SMPP 3.4, 5.2.12). Some centres leave that 0 and send
    receipted_message_id, which only receipts have.
    """
    kind = message.esm_class & pdu.ESM_TYPE
    return kind in (pdu.ESM_RECEIPT, pdu.ESM_INTERMEDIATE) or (
        kind == 0 and pdu.RECEIPTED_MESSAGE_ID in message.tlvs
    )


def read_receipt(message: pdu.ShortMessage, token: object) -> Receipt:
    """Returns the receipt in a deliver_sm. TLVs are believed before the text, whose fields may
    be missing, long, or in any case.
    """
    tlvs = message.tlvs
    text = _text(message, message.short_message or tlvs.get(pdu.MESSAGE_PAYLOAD, b""))
    fields, plain = _fields(text)
    ref = pdu.decode_string(tlvs.get(pdu.RECEIPTED_MESSAGE_ID, b"")).strip() or fields.get("id")
    state = _MESSAGE_STATES.get(
        int.from_bytes(tlvs.get(pdu.MESSAGE_STATE) or b"\xff", "big")
    ) or _STATES.get(fields.get("stat", "").upper())
    if message.esm_class & pdu.ESM_TYPE == pdu.ESM_INTERMEDIATE and state is not None:
        # an intermediate notification (SMPP 3.4, 2.11) ends nothing, whatever it names
        state = ReceiptState.ENROUTE
    error = fields.get("err") or _network_error(tlvs.get(pdu.NETWORK_ERROR_CODE, b""))
    reference = tlvs.get(pdu.USER_MESSAGE_REFERENCE)
    return Receipt(
        ref[:REF_CHARACTERS_MAX] if ref else None,
        state,
        _NOT_SHOWN.sub("?", error[:ERROR_CHARACTERS_MAX]) if error else None,
        recipient=_digits(message.source_addr),
        sender=message.destination_addr or None,
        user_message_reference=(
            int.from_bytes(reference, "big") if reference and len(reference) <= 2 else None
        ),
        raw=_visible_octets(text, plain),
        token=token,
    )


def _visible_octets(text: str, plain: int) -> bytes:
    """Returns what an operator may see of a receipt: its first `plain` characters, and how many
    there were after them. Those may quote the message, whose text may be a one-time password.
    """
    visible = text[:plain].encode("ascii", "replace")[: RAW_OCTETS_MAX - _NOTE_OCTETS_MAX]
    return (
        visible + b" (%d left out)" % (len(text) - len(visible))
        if len(visible) < len(text)
        else visible
    )


def _text(message: pdu.ShortMessage, raw: bytes) -> str:
    if message.esm_class & pdu.ESM_UDH and raw:
        raw = raw[raw[0] + 1 :]
    # "id:" in UCS-2 with a data_coding that denies it is common enough
    if message.data_coding & 0x0F == UCS2 or raw[:4] == b"\0i\0d":
        return raw.decode("utf-16-be", "replace")
    return raw.decode("latin-1")


def _fields(text: str) -> tuple[dict[str, str], int]:
    """Returns `id`, `stat`, `err` … by lower-case name, and how many characters at the front
    consist of nothing else (`_PLAIN`). The first of a name counts, and nothing after `text:`,
    which quotes the customer.
    """
    common = _COMMON.match(text)
    if common:
        return {"id": common[1], "stat": common[2], "err": common[3]}, common.end(3)
    fields, plain = _find_fields(text), _PLAIN.match(text)
    word = _FIRST_WORD.match(fields.get("err", ""))
    return fields | {"err": word[0] if word else ""}, plain.end() if plain else 0


def _find_fields(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name, start = "", 0
    for key in _KEY.finditer(text):
        if name:
            fields.setdefault(name, text[start : key.start()].strip(" \t\r\n\0"))
        name, start = key[1].lower(), key.end()
        if name == "text":
            return fields
    if name:
        fields.setdefault(name, text[start:].strip(" \t\r\n\0"))
    return fields


def _network_error(value: bytes) -> str | None:
    """Reads network_error_code: it is one octet of network type and two of the code (SMPP 3.4,
    5.3.2.31).
    """
    return str(int.from_bytes(value[1:], "big")) if len(value) == 3 else None


def _digits(address: str) -> str | None:
    if address.isascii() and address.isdigit():
        return address
    return "".join(c for c in address if c in "0123456789") or None
