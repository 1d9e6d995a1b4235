"""Decides which faults the SMSC makes on purpose: each kind happens with a probability, or when a
script says so. A seed makes the faults repeatable.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

from heliograph.carriers.link import ReceiptState
from heliograph.carriers.smpp.outcomes import STATUS_MAX

T = TypeVar("T")

DURATION_S_MAX: Final = 86_400.0  # nobody waits longer for a test
TIMES_MAX: Final = 10_000  # copies of one receipt
TEXT_TIMES_MAX: Final = 100  # copies of a part of a text, and phones that write at once

MALFORMED: Final = ("length-0", "length-15", "length-2g", "tlv", "command")
DIALECTS: Final = (
    "ids-hex",
    "ids-decimal",
    "ids-padded",
    "dates-12",
    "err-letters",
    "tlvs-only",
    "text-only",
)


class ActPlace(Enum):
    """Lists what a kind of fault can happen to."""

    BIND = "binds"
    SUBMIT = "submits"
    TEXT = "texts"  # of handsets
    PART = "parts"  # of such texts; a short text is one


class Act(NamedTuple):
    """Describes one fault that is about to happen, with its argument."""

    kind: str
    argument: Any = None


class Kind(NamedTuple):
    place: ActPlace
    help: str
    read: Callable[[str], Any] | None = None  # None: it takes no argument
    default: Any = None


class Chance(NamedTuple):
    """Gives the probability with which a fault happens to each submission or bind."""

    probability: float
    act: Act


@dataclass(frozen=True, slots=True)
class Rule:
    """Describes one line of a script: an act that happens to the submissions (or binds) with the
    numbers `first` to `last`, or to every `every`-th.
    """

    place: ActPlace
    act: Act
    first: int = 1
    last: int = 0
    every: int = 0

    def hits(self, number: int) -> bool:
        """Returns whether the act happens to this number. Numbers begin with 1."""
        return number % self.every == 0 if self.every else self.first <= number <= self.last


def read_duration(text: str) -> float:
    """Returns the seconds of `50ms`, `30s` or `2m`. Raises ValueError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)", text, re.ASCII)
    seconds = float(found[1]) * {"ms": 0.001, "s": 1, "m": 60}[found[2]] if found else -1
    if not 0 <= seconds <= DURATION_S_MAX:
        raise ValueError(f"{text!r} is not a time such as 50ms, 30s or 2m, up to a day")
    return seconds


def _read_status(text: str) -> int:
    status = (
        int(text, 16)
        if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text)
        else int(text)
        if re.fullmatch(r"\d{1,10}", text, re.ASCII)
        else 0
    )
    if not 1 <= status <= STATUS_MAX:
        raise ValueError(f"{text!r} is not a command_status such as 0x45")
    return status


def _read_times(text: str, most: int = TIMES_MAX) -> int:
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or not 2 <= int(text) <= most:
        raise ValueError(f"{text!r} is not a number from 2 to {most}")
    return int(text)


def _read_text_times(text: str) -> int:
    return _read_times(text, TEXT_TIMES_MAX)


def _read_state(text: str) -> ReceiptState:
    if text not in ReceiptState.__members__:
        raise ValueError(f"must be one of {', '.join(ReceiptState.__members__)}, not {text!r}")
    return ReceiptState[text]


def _read_form(text: str) -> str:
    if text not in MALFORMED:
        raise ValueError(f"must be one of {', '.join(MALFORMED)}, not {text!r}")
    return text


KINDS: Final = {
    "wrong-password": Kind(ActPlace.BIND, "the bind is answered ESME_RINVPASWD (0x0e)"),
    "already-bound": Kind(ActPlace.BIND, "the bind is answered ESME_RALYBND (0x05)"),
    "throttle": Kind(ActPlace.SUBMIT, "answered ESME_RTHROTTLED (0x58)"),
    "queue-full": Kind(ActPlace.SUBMIT, "answered ESME_RMSGQFUL (0x14)"),
    "refuse": Kind(
        ActPlace.SUBMIT,
        "answered with this command_status, 0x45 unless another is named",
        _read_status,
        0x45,
    ),
    "delay": Kind(
        ActPlace.SUBMIT, "answered later by this time, 1s unless named", read_duration, 1.0
    ),
    "drop": Kind(
        ActPlace.SUBMIT,
        "taken, but the connection breaks before this and other outstanding answers",
    ),
    "half-open": Kind(
        ActPlace.SUBMIT, "taken, but the session answers nothing any more, not even enquire_link"
    ),
    "malformed": Kind(
        ActPlace.SUBMIT,
        f"followed by a malformed PDU: {', '.join(MALFORMED)}",
        _read_form,
        MALFORMED[0],
    ),
    "early": Kind(ActPlace.SUBMIT, "its receipt comes before the answer"),
    "late": Kind(
        ActPlace.SUBMIT,
        "its receipt comes later by this time, 60s unless named",
        read_duration,
        60.0,
    ),
    "duplicate": Kind(
        ActPlace.SUBMIT, "its receipt comes this many times, 2 unless named", _read_times, 2
    ),
    "fail": Kind(
        ActPlace.SUBMIT,
        "its receipt says UNDELIV, or the state that is named",
        _read_state,
        ReceiptState.UNDELIV,
    ),
    "contradict": Kind(
        ActPlace.SUBMIT,
        "after its receipt comes another one, ACCEPTD unless named",
        _read_state,
        ReceiptState.ACCEPTD,
    ),
    "ids-hex": Kind(ActPlace.SUBMIT, "its receipt prints the id in upper-case hexadecimal"),
    "ids-decimal": Kind(ActPlace.SUBMIT, "its receipt prints the id in decimal"),
    "ids-padded": Kind(
        ActPlace.SUBMIT, "its receipt prints the id with zeros in front, 20 characters in all"
    ),
    "dates-12": Kind(ActPlace.SUBMIT, "its receipt prints times with seconds, in 12 digits"),
    "err-letters": Kind(ActPlace.SUBMIT, "its receipt has a letter in err:"),
    "tlvs-only": Kind(
        ActPlace.SUBMIT, "its receipt says id and state in TLVs only, without id: and stat:"
    ),
    "text-only": Kind(ActPlace.SUBMIT, "its receipt has no TLVs"),
    "mo-shuffle": Kind(ActPlace.TEXT, "the parts of a handset's text come in another order"),
    "mo-interleave": Kind(
        ActPlace.TEXT,
        "this many phones write at once, 2 unless named; their parts take turns, with one"
        " reference",
        _read_text_times,
        2,
    ),
    "mo-lose": Kind(ActPlace.PART, "a part of a handset's text, or a short text, never comes"),
    "mo-repeat": Kind(
        ActPlace.PART,
        "a part of a handset's text, or a short text, comes this many times, 2 unless named",
        _read_text_times,
        2,
    ),
}


def read_act(text: str) -> Act:
    """Reads an act such as `drop`, `delay:30s` or `refuse:0x45`. Raises ValueError, which says
    what is allowed.
    """
    name, colon, argument = text.strip().partition(":")
    kind = KINDS.get(name)
    if kind is None:
        raise ValueError(f"{name!r} is not a kind of chaos (there are: {', '.join(KINDS)})")
    if not colon:
        return Act(name, kind.default)
    if kind.read is None:
        raise ValueError(f"{name} takes no argument, not {argument!r}")
    try:
        return Act(name, kind.read(argument))
    except ValueError as wrong:
        raise ValueError(f"{name}: {wrong}") from None


def read_chances(text: str) -> list[Chance]:
    """Reads chances such as `throttle=0.5,refuse:0x0a=0.01`. Raises ValueError, also for a fault
    that is named twice, for one probability would add to the other.
    """
    chances: list[Chance] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, number = item.partition("=")
        if (
            not equals
            or not re.fullmatch(r"\d*\.?\d+", number.strip(), re.ASCII)
            or not 0 <= float(number) <= 1
        ):
            raise ValueError(f"{item!r} is not KIND=PROBABILITY, with a probability from 0 to 1")
        act = read_act(name)
        if any(act == chance.act for chance in chances):
            raise ValueError(
                f"{name.strip()!r} is named twice (allowed: each KIND once, or with another"
                " ARGUMENT)"
            )
        chances.append(Chance(float(number), act))
    return chances


class Chaos:
    """Decides, for each bind, submission, and text of a handset with its parts, in the order in
    which they come, what goes wrong with it.
    """

    def __init__(
        self, chances: Sequence[Chance] = (), rules: Sequence[Rule] = (), seed: int = 0
    ) -> None:
        client, handsets = Random(seed), Random(seed)  # noqa: S311  # repeatable on purpose
        # handsets draw for themselves, so that when a client submits changes nothing for them
        self._random = {
            place: handsets if place in (ActPlace.TEXT, ActPlace.PART) else client
            for place in ActPlace
        }
        self._chances = {
            place: [chance for chance in chances if KINDS[chance.act.kind].place is place]
            for place in ActPlace
        }
        self._rules = {place: [rule for rule in rules if rule.place is place] for place in ActPlace}
        self._counts = dict.fromkeys(ActPlace, 0)

    def acts(self, place: ActPlace) -> tuple[Act, ...]:
        """Returns what happens to the next bind, submission or text. The acts of the script come
        first; of two that exclude each other, the first counts. It is hot.
        """
        chances, rules = self._chances[place], self._rules[place]
        if not chances and not rules:
            return ()
        number = self._counts[place] = self._counts[place] + 1
        draw = self._random[place].random
        return (
            *[rule.act for rule in rules if rule.hits(number)],
            *[chance.act for chance in chances if draw() < chance.probability],
        )

    def shuffle(self, parts: list[T]) -> None:
        """Brings the parts of a text into an order that is another one, if there are several."""
        before = parts[:]
        self._random[ActPlace.TEXT].shuffle(parts)
        if parts == before:
            parts.reverse()
