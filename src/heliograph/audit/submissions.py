"""Compares a submission that an SMSC has logged with the message that it may belong to.

It shares no code with what encodes submissions (docs/decisions/carriers.md, S14): the text's parts
are made anew, and the reference is taken apart as S1 says.
"""

import re
from functools import lru_cache
from hashlib import sha256
from typing import Final

from heliograph.audit.positions import MessagePosition
from heliograph.audit.smsc_log import Submit, plain_id
from heliograph.messages.read import OTP
from heliograph.text import split_segments

TEXTS_KEPT_MAX: Final = 512


def difference(message: MessagePosition, submit: Submit) -> str:
    """Returns in what a submission differs from the message that it may belong to; it is empty if
    it belongs to it.
    """
    if submit.sender != message.sender:
        return "sender"
    if (
        submit.parts not in (1, message.segments)
        or not 1 <= submit.part <= submit.parts
        or (submit.reference or 0) & 0xF != submit.part
    ):
        return "number of parts"
    if message.type == OTP:
        return ""  # its text is sealed while it is needed, and erased then
    hashes = _hashes(message.text or "", message.encoding or "")
    if submit.text_sha256 != (hashes[0] if submit.parts == 1 else hashes[submit.part]):
        return "text"
    return ""


@lru_cache(TEXTS_KEPT_MAX)
def _hashes(text: str, encoding: str) -> tuple[str, ...]:
    """Returns the hash of the whole text, then of each of its parts."""
    parts = split_segments(text, encoding)
    return tuple(
        sha256(part.encode("utf-8")).hexdigest()
        for part in ([text, *parts] if len(parts) > 1 else [text])
    )


def parts_of(message: MessagePosition, submit: Submit) -> int:
    """Returns the segments that a submission carries: one, or all of them."""
    return message.all_parts if submit.parts == 1 else 1 << (submit.part - 1)


def name_of(submit: Submit) -> str:
    """Returns how a finding names the message, or the part of it, that a submission carries."""
    return "it" if submit.parts == 1 else f"part {submit.part} of {submit.parts}"


def parts_in_words(parts: int, segments: int) -> str:
    """Returns how a finding names these parts of a message: part 1 is the lowest bit of `parts`."""
    if segments == 1:
        return "it"
    return (
        f"part {', '.join(str(part + 1) for part in range(segments) if parts >> part & 1)} of"
        f" {segments}"
    )


def forms_of(message_id: str) -> set[str]:
    """Returns how receipts may print an id: as it is, or the same number in the other base."""
    forms = {plain_id(message_id)}
    if re.fullmatch(r"[0-9a-fA-F]+", message_id):
        forms.add(str(int(message_id, 16)))
    if re.fullmatch(r"[0-9]+", message_id):
        forms.add(f"{int(message_id):x}")
    return forms
