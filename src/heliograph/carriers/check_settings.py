"""Reads and judges the settings of SMPP carriers, and makes of them what a connection needs."""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, NamedTuple

from heliograph.base.forms import quote_value
from heliograph.base.short_texts import invalid_field
from heliograph.carriers.smpp import SmppSettings, read_overrides
from heliograph.carriers.smpp.settings import CHOICES as CHOICES_OF_LINK

# no comma: routes list names
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)


class Count(NamedTuple):
    """Describes a numeric setting of a carrier: its default, its minimum and its maximum."""

    default: int
    least: int
    most: int


# What an SMPP carrier's settings hold beside what its connection needs (docs/operations.md, "A
# carrier"), and their defaults.
_CHOICES: Final = {
    "id_format": ("auto", "hex", "dec"),  # how its receipts print the ids of its answers
    "in_doubt": ("resend", "never"),  # bulk messages whose answer never came
}
# what each setting may be that is one of a few words, its default first
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {**CHOICES_OF_LINK, **_CHOICES}
_COUNTS: Final = {
    # Receipts that found no message, of which the oldest beyond are dropped
    # (messages/retention/unmatched_limit.py): 0.3 kB each, up to 1.5 kB; a thousand times what
    # waits for late answers.
    "unmatched_max": Count(200_000, 1_000, 100_000_000),
}
# What a bind has room for beside the NUL (SMPP 3.4, 4.1.1). Carriers keep to it but for the
# password, of which some give out a longer one.
_LONGEST: Final = {"system_id": 15, "system_type": 12}
PASSWORD_MAX: Final = 64
_OF_CONNECTION: Final = frozenset(field.name for field in fields(SmppSettings)) - {
    "name",
    "password",
}
_DEFAULTS: Final[Mapping[str, Any]] = {
    **{key: allowed[0] for key, allowed in _CHOICES.items()},
    **{key: count.default for key, count in _COUNTS.items()},
    **{field.name: field.default for field in fields(SmppSettings)},
}


def default_of(name: str) -> Any:
    """Returns the value of a setting that was not set."""
    return _DEFAULTS[name]


def check_new(name: str, settings: Mapping[str, Any], password: str) -> None:
    """Refuses a carrier that cannot be added. Raises InvalidRequest."""
    if not _NAME.fullmatch(name):
        raise invalid_field(
            "name", f"must have 1 to 64 of A-Z, a-z, 0-9, _, . and -, not {quote_value(name)}"
        )
    check_given(settings, password)
    check(name, settings, password)


def check_given(settings: Mapping[str, Any], password: str | None) -> None:
    """Refuses settings that are wrong whatever the others are. Raises InvalidRequest."""
    for key, most in _LONGEST.items():
        if len(settings.get(key) or "") > most:
            raise invalid_field(
                key,
                f"must have at most {most} characters (SMPP 3.4, 4.1.1), not {len(settings[key])}",
            )
    if settings.get("system_id") == "":
        raise invalid_field("system_id", "must not be empty")
    if password is not None and len(password) > PASSWORD_MAX:
        raise invalid_field(
            "password", f"must have at most {PASSWORD_MAX} characters, not {len(password)}"
        )
    least = {"host": "localhost", "port": 1, "system_id": "x"}
    # whose None is the default again
    given = {
        key: value
        for key, value in settings.items()
        if value is not None and key != "status_overrides"
    }
    check("x", least | given, password or "")


def check(name: str, settings: Mapping[str, Any], password: str) -> None:
    """Refuses settings that do not fit together, or that nobody knows. Raises InvalidRequest."""
    if unknown := sorted(set(settings) - _OF_CONNECTION - set(_CHOICES) - set(_COUNTS)):
        raise invalid_field(unknown[0], "is not a setting of a carrier")
    for key, allowed in _CHOICES.items():
        if key in settings and settings[key] not in allowed:
            raise invalid_field(
                key, f"must be one of {', '.join(allowed)}, not {quote_value(settings[key])}"
            )
    for key, count in _COUNTS.items():
        if key in settings and not count.least <= settings[key] <= count.most:
            raise invalid_field(
                key, f"must be from {count.least} to {count.most}, not {quote_value(settings[key])}"
            )
    try:
        SmppSettings(name=name, password=password, **of_link(settings))
    except ValueError as error:
        setting, _, found = str(error).partition(": ")
        raise invalid_field(setting, f"cannot be {found}") from error


def of_link(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of the connection. JSON has neither tuples nor numbers as names, so
    these are made anew.
    """
    read = {"status_overrides": read_overrides(settings.get("status_overrides", {}))}
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in settings.items()
        if key in _OF_CONNECTION
    } | read


def read_ton_npi(text: str) -> list[int]:
    """Reads a type of number and a numbering plan (SMPP 3.4, 5.2.5 and 5.2.6), such as 5,0. Raises
    ValueError.
    """
    if not re.fullmatch(r"[0-9]{1,3},[0-9]{1,3}", text, re.ASCII):
        raise ValueError(
            f"{quote_value(text)} is not a type of number and a numbering plan, such as 5,0."
        )
    return [int(number) for number in text.split(",")]


def read_status_meaning(text: str) -> tuple[str, str | None]:
    """Reads what a command_status means to a carrier, such as 0x45=retry: None for `default`, which
    stands for what it means to others. Raises ValueError.
    """
    found = re.fullmatch(r"0x([0-9a-fA-F]{1,8})=(throttled|retry|refused|default)", text, re.ASCII)
    if found is None:
        raise ValueError(
            f"{quote_value(text)} is not a command_status and its meaning, such as 0x45=retry; the"
            " meanings are throttled, retry, refused, and default."
        )
    return f"0x{int(found[1], 16):02X}", None if found[2] == "default" else found[2]
