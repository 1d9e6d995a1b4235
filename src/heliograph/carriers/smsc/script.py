"""Reads scripts of chaos, which say what happens when, in one rule a line.

    # the connection breaks, then a bad quarter of an hour
    after 100 submits: drop
    after 100 submits: throttle for 50
    every 1000 submits: half-open
    after 1 bind: wrong-password for 3
    every 10 parts: mo-lose

`after N submits: ACT` happens to submission N + 1, with `for M` to the M submissions from there on;
`every N submits` to each N-th. Submissions and binds, and handsets' texts and the parts of these,
are counted over all sessions, from the start of the server. An ACT is a kind of chaos, with its
argument if it takes one: `delay:30s`. Several stand on one line with commas between them.
"""

import re
from typing import Final

from heliograph.carriers.smsc.chaos import KINDS, ActPlace, Rule, read_act

LINES_MAX: Final = 1_000  # every submission is held against all of them

_LINE: Final = re.compile(
    r"(after|every)\s+(\d{1,12})\s+(submit|bind|text|part)s?\s*:\s*(.+)", re.ASCII
)
_FOR: Final = re.compile(r"(.+?)\s+for\s+(\d{1,12})", re.ASCII)
_PLACES: Final = {
    "submit": ActPlace.SUBMIT,
    "bind": ActPlace.BIND,
    "text": ActPlace.TEXT,
    "part": ActPlace.PART,
}


def read_script(text: str) -> list[Rule]:
    """Returns the rules of a script. Raises ValueError, which names the line and what is wrong
    with it.
    """
    lines = text.splitlines()
    if len(lines) > LINES_MAX:
        raise ValueError(f"{len(lines)} lines, more than {LINES_MAX}")
    rules: list[Rule] = []
    for number, line in enumerate(lines, 1):
        rule = line.partition("#")[0].strip()
        if rule:
            try:
                rules += _read_line(rule)
            except ValueError as wrong:
                raise ValueError(f"line {number}: {wrong}") from None
    return rules


def _read_line(line: str) -> list[Rule]:
    found = _LINE.fullmatch(line)
    if not found:
        raise ValueError(
            f"{line!r} is not 'after N submits: KIND', 'every N submits: KIND' or the same with"
            " binds, texts or parts"
        )
    how, count, place = found[1], int(found[2]), _PLACES[found[3]]
    return [_read_rule(how, count, place, part) for part in found[4].split(",")]


def _read_rule(how: str, count: int, place: ActPlace, text: str) -> Rule:
    repeated = _FOR.fullmatch(text.strip())
    act = read_act(repeated[1] if repeated else text)
    if KINDS[act.kind].place is not place:
        raise ValueError(
            f"{act.kind} happens to {KINDS[act.kind].place.value}, not to {place.value}"
        )
    if repeated and int(repeated[2]) < 1:
        raise ValueError("'for' takes a number from 1")
    if how == "after":
        return Rule(place, act, first=count + 1, last=count + (int(repeated[2]) if repeated else 1))
    if repeated or count < 1:
        raise ValueError("'every' takes a number from 1 and no 'for'")
    return Rule(place, act, every=count)
