"""Addresses to listen on, as they are written in a setting: `127.0.0.1:9100`, `[::1]:9100`, `localhost:9100`."""

import re
from typing import Final, NamedTuple

PORT_MAX: Final = 65_535
_FORM: Final = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:\[\]]+)):([0-9]{1,5})", re.ASCII)


class ListenAddress(NamedTuple):
    """`host` is an address or a name of this machine."""

    host: str
    port: int


def listen_address(text: str) -> ListenAddress:
    """Raises ValueError when it is none."""
    found = _FORM.fullmatch(text)
    if found is None or not 0 < int(found[3]) <= PORT_MAX:
        raise ValueError(text)
    return ListenAddress(found[1] or found[2], int(found[3]))
