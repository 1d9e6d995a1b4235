"""Holds the settings by which an operator sets up an SMPP carrier."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from heliograph.carriers.link import SubmitOutcome

Alphabet = Literal["gsm", "latin1", "ascii"]
LongMessages = Literal["udh", "payload", "sar"]
ReceiptsWanted = Literal["all", "last", "none"]
BindMode = Literal["trx", "tx+rx"]

CHOICES: Final = {
    "alphabet": ("gsm", "latin1", "ascii"),
    "long": ("udh", "payload", "sar"),
    "receipts": ("all", "last", "none"),
    "bind": ("trx", "tx+rx"),
}
_TON_MAX: Final = 6  # SMPP 3.4, 5.2.5; higher ones are reserved
_NPIS: Final = (0, 1, 3, 4, 6, 8, 9, 10, 14, 18)  # 5.2.6
BINDS_MAX: Final = 64  # carriers sell single figures
WINDOW_MAX: Final = 10_000  # everything in a window is in doubt when its connection breaks


@dataclass(frozen=True, slots=True)
class SmppSettings:
    """Holds the settings of one carrier. Times are in seconds. Raises ValueError, which names the
    setting, the value found and the values allowed.
    """

    name: str
    host: str
    port: int
    system_id: str
    password: str = field(repr=False)
    tls: bool = False
    tls_ca_file: str | None = None  # PEM; None: the system's authorities
    binds: int = 1  # sessions; with tx+rx: pairs of them
    window: int = 10  # submit_sm without an answer, per bind
    tps: float | None = None  # submit_sm a second for the whole carrier; None or 0: unlimited
    bind: BindMode = "trx"
    system_type: str = ""
    source_ton_npi: tuple[int, int] | None = None  # None: by the sender's form
    dest_ton_npi: tuple[int, int] = (1, 1)  # international, ISDN: recipients are E.164
    alphabet: Alphabet = "gsm"
    long: LongMessages = "udh"
    receipts: ReceiptsWanted = "all"
    answer_timeout_s: float = 30.0
    enquire_link_s: float = 15.0  # after this much silence the link is tested
    # 15 + 10 and two ticks: a half-open connection is found in 27 s
    enquire_link_timeout_s: float = 10.0
    connect_timeout_s: float = 10.0
    bind_timeout_s: float = 10.0
    unbind_timeout_s: float = 2.0
    backoff_min_s: float = 1.0
    backoff_max_s: float = 60.0
    status_overrides: Mapping[int, SubmitOutcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}: {getattr(self, name)!r} (allowed: {', '.join(allowed)})")
        for name, most in (("port", 65_535), ("binds", BINDS_MAX), ("window", WINDOW_MAX)):
            if not 1 <= getattr(self, name) <= most:
                raise ValueError(f"{name}: {getattr(self, name)} (allowed: 1..{most})")
        if not self.host:
            raise ValueError("host: empty (allowed: a host name or an address)")
        if self.tps is not None and not (math.isfinite(self.tps) and self.tps >= 0):
            raise ValueError(f"tps: {self.tps} (allowed: more than 0, or 0 for unlimited)")
        for name in ("system_id", "password", "system_type"):
            if not _is_octet_string(getattr(self, name)):
                raise ValueError(
                    f"{name}: other characters (allowed: Latin-1 characters, without NUL)"
                )
        for name in ("source_ton_npi", "dest_ton_npi"):
            pair = getattr(self, name)
            if pair is not None and not (0 <= pair[0] <= _TON_MAX and pair[1] in _NPIS):
                raise ValueError(
                    f"{name}: {pair[0]},{pair[1]} (allowed: 0..{_TON_MAX}, and one of"
                    f" {', '.join(map(str, _NPIS))})"
                )


def _is_octet_string(text: str) -> bool:
    return all(0 < ord(character) < 256 for character in text)
