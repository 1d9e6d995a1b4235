"""Defines how the SMSC behaves when no fault is asked for."""

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from heliograph.carriers.simulated_endings import LATE_S
from heliograph.text import SEGMENTS_MAX, count_segments

OverWindow = Literal["throttle", "stop"]
IdFormat = Literal["hex", "dec"]
TextForm = Literal["udh", "udh16", "sar", "payload", "data_sm"]

# answers that one session is owed: what a client may make the server remember
WINDOW_MAX: Final = 10_000
MO_RATE_MAX: Final = 10_000  # texts a second: as many as this program can write
_MO_TO: Final = re.compile(r"[0-9]{3,15}", re.ASCII)  # what a number of ours may be
_CHOICES: Final = {
    "over_window": ("throttle", "stop"),
    "id_format": ("hex", "dec"),
    "mo_long": ("udh", "udh16", "sar", "payload", "data_sm"),
}
_DURATIONS: Final = ("answer_delay_s", "receipt_delay_s", "late_receipt_s", "bind_within_s")
_PAUSES: Final = ("enquire_link_s", "enquire_link_timeout_s")


@dataclass(frozen=True, slots=True)
class SmscSettings:
    """Holds the settings of the SMSC. Times are in seconds. Raises ValueError, which names the
    setting, what was found and what is allowed.
    """

    system_id: str | None = None  # None: any
    password: str | None = field(default=None, repr=False)  # None: any
    window: int = WINDOW_MAX  # submit_sm without an answer, per session
    # what happens past it: ESME_RTHROTTLED, or nothing more is read until there is room
    over_window: OverWindow = "throttle"
    answer_delay_s: float = 0.0
    receipt_delay_s: float = 0.05
    late_receipt_s: float = LATE_S  # on top of it, for the ending that is late
    id_format: IdFormat = "hex"  # how submit_sm_resp prints message ids
    # a connection that has not bound by then is closed: clients bind at once
    bind_within_s: float = 10.0
    enquire_link_s: float = 60.0  # after this much silence the client is asked whether it is there
    enquire_link_timeout_s: float = 30.0
    mo_rate: float = 0.0  # texts a second that handsets write, while a session receives
    mo_to: str = "4567"  # the number that they write to
    mo_text: str = "Hello from a handset"
    # how a long one comes: in parts of a header with 8 or 16 bits or of TLVs, or whole
    mo_long: TextForm = "udh"

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}: {getattr(self, name)!r} (allowed: {', '.join(allowed)})")
        if not 1 <= self.window <= WINDOW_MAX:
            raise ValueError(f"window: {self.window} (allowed: 1..{WINDOW_MAX})")
        for name in _DURATIONS:
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name}: {getattr(self, name)} (allowed: 0 or more)")
        for name in _PAUSES:
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name}: {getattr(self, name)} (allowed: more than 0)")
        self._check_texts()

    def _check_texts(self) -> None:
        if not 0 <= self.mo_rate <= MO_RATE_MAX:
            raise ValueError(f"mo_rate: {self.mo_rate} (allowed: 0..{MO_RATE_MAX})")
        if not _MO_TO.fullmatch(self.mo_to):
            raise ValueError(f"mo_to: {self.mo_to!r} (allowed: 3 to 15 digits)")
        try:
            parts = count_segments(self.mo_text).segments if self.mo_text else 0
        except ValueError as error:  # a lone surrogate
            raise ValueError(f"mo_text: {self.mo_text!r} (allowed: text that is UTF-8)") from error
        if not 1 <= parts <= SEGMENTS_MAX:
            raise ValueError(f"mo_text: {parts} parts (allowed: 1..{SEGMENTS_MAX})")
