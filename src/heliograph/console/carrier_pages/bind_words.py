"""Says in sentences what a carrier answered when somebody tried to bind. It is pure."""

import re
from typing import Final, NamedTuple

from heliograph.carriers import LinkState
from heliograph.carriers.smpp import SmppSettings

TRIAL_S: Final = 5.0  # who waits at a page wants to know sooner than a command
_NUMBER: Final = re.compile(r"\[Errno -?[0-9]+\] ")  # of an error of the system


class BindTrial(NamedTuple):
    """Says in sentences what the other side answered."""

    is_bound: bool
    sentence: str
    remedy: str


def trial_in_words(connection: SmppSettings, state: LinkState, detail: str) -> BindTrial:
    """Returns what a trial has found, in sentences."""
    address = f"{connection.host}:{connection.port}"
    if state is LinkState.BOUND:
        return BindTrial(
            True,
            f"{address} let {connection.system_id} in.",
            "The trial has unbound again. Nothing was sent.",
        )
    if state is LinkState.REFUSED:
        return BindTrial(
            False,
            f"{address} answered and did not let {connection.system_id} in: {detail}.",
            "Check the system id, the password and the system type. Some carriers let in only the"
            " addresses that they know, or fewer binds than are open already.",
        )
    if state is LinkState.CONNECTING:
        return BindTrial(
            False,
            f"{address} gave no answer within {TRIAL_S:.0f} s.",
            "Check the host and the port, and whether the carrier's firewall lets this machine"
            " through.",
        )
    return BindTrial(
        False,
        f"{address} could not be bound: {_plain(detail)}.",
        "Check the host and the port, whether TLS is as the carrier has it, and whether this"
        " machine reaches it.",
    )


def _plain(detail: str) -> str:
    """Returns why a connection failed, without what only programs read."""
    if "Connect call failed" in detail or "Connection refused" in detail:
        return "nothing listens there, or a firewall refuses us"
    if detail.startswith("framing lost"):
        return "what answers there does not speak SMPP, or speaks it over TLS only"
    if "WRONG_VERSION_NUMBER" in detail:  # OpenSSL's word for octets that are not a TLS record
        return "what answers there does not speak TLS"
    return _NUMBER.sub("", detail.removeprefix("cannot connect: ")).rstrip(".")
