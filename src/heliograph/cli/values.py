"""Defines the kinds of values that options take, beyond click's own."""

import re
import sys
from collections.abc import Callable
from decimal import Decimal
from math import isfinite, nan
from typing import Any, Final

import click

from heliograph.cli import checked_values

LISTED_MAX: Final = 1_000  # rows that one list prints; --before goes on from there


class WholeNumber(click.ParamType[int]):
    """Reads a whole number within bounds."""

    name = "integer"

    def __init__(self, least: int | None = None, most: int | None = None) -> None:
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(value) if re.fullmatch(r"[+-]?[0-9]{1,30}", str(value), re.ASCII) else None
        if (
            number is None
            or (self._least is not None and number < self._least)
            or (self._most is not None and number > self._most)
        ):
            self.fail(
                f"{str(value)!r} is not a whole number{_between(self._least, self._most)}.",
                param,
                ctx,
            )
        return number


class Number(click.FloatRange):
    """Reads a finite number of this or more. NaN is refused; click's range takes it, because it is
    beyond no bound.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # float reads other scripts' digits too
        is_plain = isinstance(value, int | float) or (value.isascii() and "_" not in value)
        number = super().convert(value, param, ctx) if is_plain else nan
        if not isfinite(number):
            self.fail(f"{str(value)!r} is not a number of {self.min:g} or more.", param, ctx)
        return number


_AMOUNT: Final = re.compile(r"[+-]?[0-9]{1,20}(?:\.[0-9]{1,20})?", re.ASCII)


class Money(click.ParamType[Decimal]):
    """Reads a decimal number. The wallet's currency decides how many decimals it may have."""

    name = "amount"

    def __init__(self, least: int | None = None) -> None:
        self._least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        # Decimal alone reads `1_0` and other scripts' digits too
        amount = Decimal(value) if _AMOUNT.fullmatch(str(value)) else None
        if amount is None or (self._least is not None and amount < self._least):
            self.fail(f"{str(value)!r} is not a number{_between(self._least, None)}.", param, ctx)
        return amount


def _between(least: int | None, most: int | None) -> str:
    if least is None:
        return ""
    return f" from {least} to {most}" if most is not None else f" of {least} or more"


NOTHING: Final = object()  # what OrWord makes of its word; None is an option that was not given


class OrWord(click.ParamType[Any]):
    """Reads what another type takes, or a word that means nothing at all (no cap, no threshold),
    which becomes NOTHING.
    """

    def __init__(self, inner: click.ParamType[Any], word: str) -> None:
        self.inner = inner
        self.word = word
        self.name = f"{inner.name}|{word}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == self.word:
            return NOTHING
        try:
            return self.inner.convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}, or {self.word}.", param, ctx)


class Moment(click.ParamType[int]):
    """Reads a time in the future, as milliseconds since 1970: RFC 3339, a date (its first moment
    in UTC), or from now on in days or hours.
    """

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from heliograph.base import clock
        from heliograph.base.forms import read_moment_ms

        if ahead := re.fullmatch(r"([0-9]{1,6})([dh])", value, re.ASCII):
            return clock.now_ms() + int(ahead[1]) * (86_400_000 if ahead[2] == "d" else 3_600_000)
        try:
            return read_moment_ms(
                f"{value}T00:00:00Z" if re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII) else value
            )
        except ValueError:
            self.fail(
                f"{value!r} is not a time such as 2027-01-31, 2027-01-31T09:30:00Z, 90d or 12h.",
                param,
                ctx,
            )


class Past(click.ParamType[int]):
    """Reads a time in the past, as milliseconds since 1970: RFC 3339, a date (its first moment
    in UTC), or so many days, hours or minutes ago.
    """

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from heliograph.base import clock
        from heliograph.base.forms import read_moment_ms

        if isinstance(value, int):
            return value
        if ago := re.fullmatch(r"([0-9]{1,6})([dhm])", value, re.ASCII):
            return (
                clock.now_ms()
                - int(ago[1]) * {"d": 86_400_000, "h": 3_600_000, "m": 60_000}[ago[2]]
            )
        try:
            return read_moment_ms(
                f"{value}T00:00:00Z" if re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII) else value
            )
        except ValueError:
            self.fail(
                f"{value!r} is not a time such as 2027-01-31, 2027-01-31T09:30:00Z, 7d, 2h or 30m"
                " ago.",
                param,
                ctx,
            )


class Duration(click.ParamType[int]):
    """Reads a length of time, in milliseconds."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9]{1,6})([smhd])", value, re.ASCII)
        if found is None:
            self.fail(f"{value!r} is not a length of time such as 30s, 10m, 2h or 1d.", param, ctx)
        return int(found[1]) * {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}[found[2]]


class FailedBy(click.ParamType[Any]):
    """Reads why a message failed: an error code, or a carrier's command_status as a hexadecimal
    number.
    """

    name = "error"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | int:
        from heliograph.messages.states import ERROR_MESSAGES

        if isinstance(value, int):
            return value
        text = str(value)
        if text in ERROR_MESSAGES:
            return text
        status = re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}", text, re.ASCII)
        if status is None:
            self.fail(
                f"{value!r} is not one of {', '.join(ERROR_MESSAGES)}, nor a carrier's status such"
                " as 0x0B.",
                param,
                ctx,
            )
        return int(status[0], 16)


def given_options(**options: Any) -> dict[str, Any]:
    """Returns the options that were given, with None for NOTHING."""
    return {
        name: None if value is NOTHING else value
        for name, value in options.items()
        if value is not None
    }


def account_option(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the option --account ACC."""
    return click.option("--account", required=True, metavar="ACC", help="Its id or unique name.")(
        command
    )


def month_option(*, required: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds --month."""
    return click.option(
        "--month",
        required=required,
        metavar="MONTH",
        help=f"A month in UTC, such as 2026-10.{'' if required else ' Default: all times.'}",
    )


def mode_option(of: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds --mode, which gives `sandbox` as True or False. `of` says what depends on it."""
    return click.option(
        "--mode",
        "sandbox",
        type=click.Choice(["live", "sandbox"]),
        default="live",
        show_default=True,
        help=of,
        callback=lambda ctx, param, mode: mode == "sandbox",
    )


def country_code(given_options: str | None) -> str | None:
    """Returns the --country that phones are read by, or None without the option. Raises
    BadParameter.
    """
    from heliograph.text import read_country

    try:
        return None if given_options is None else read_country(given_options)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint="--country") from error


def reference_option(command: Callable[..., None]) -> Callable[..., None]:
    """Adds --reference."""
    return click.option(
        "--reference",
        type=checked_values.REFERENCE,
        metavar="REF",
        help=(
            "Your own reference, such as an invoice's number. A change with the same reference is"
            " made only once."
        ),
    )(command)


def entry_reason_option(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the option --reason of ledger entries."""
    return click.option(
        "--reason",
        required=True,
        type=checked_values.ENTRY_REASON,
        metavar="TEXT",
        help="The account's list of transactions shows it.",
    )(command)


def reference_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds --reason and --reference of a ledger entry."""
    return entry_reason_option(reference_option(command))


def _login_name() -> str:
    """Returns the name that whoever typed the command signed in with at this machine, also where
    sudo made them another one.
    """
    import getpass
    import os

    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def by_option(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the option --by WHO."""
    return click.option(
        "--by",
        type=checked_values.BY,
        default=_login_name,
        metavar="WHO",
        help="Who decided. Default: the user who is signed in on this machine.",
    )(command)


def decision_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds --reason and --by of a decision that is kept."""
    command = by_option(command)
    return click.option(
        "--reason",
        required=True,
        type=checked_values.REASON,
        metavar="TEXT",
        help="Such as what the carrier said. Kept with the message.",
    )(command)


def page_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds --limit and --before of a list."""
    command = click.option(
        "--before", metavar="ID", help="Show only those made before the one with this id."
    )(command)
    return click.option(
        "--limit",
        type=WholeNumber(1, LISTED_MAX),
        default=100,
        show_default=True,
        help="The most to show, newest first.",
    )(command)


def span_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds --since and --until of a list."""
    command = click.option(
        "--until", type=Past(), metavar="T", help="Show only those made before this time."
    )(command)
    return click.option(
        "--since",
        type=Past(),
        metavar="T",
        help="Show only those made from this time on: a time, a date, or 7d, 2h, 30m ago.",
    )(command)


def listen_options(port: int = 8080) -> list[click.Parameter]:
    """Adds --host and --port of a server, which listens on this port unless told otherwise."""
    return [
        click.Option(
            ["--host"], default="127.0.0.1", show_default=True, help="Address to listen on."
        ),
        click.Option(
            ["--port"],
            default=port,
            show_default=True,
            type=WholeNumber(0, 65_535),
            metavar="P",
            help="Port to listen on; 0: any free one.",
        ),
    ]


def read_password(file: str | None, *, of: str) -> str:
    """Reads a password from a file's first line (`-` is standard input), or else asks for it: it is
    never an argument, which every user of the machine sees.

    Raises UsageError where nobody can be asked, BadParameter for a file that cannot be read or
    begins with an empty line.
    """
    if file is None:
        if not sys.stdin.isatty():
            raise click.UsageError("Give --password-file FILE, or - for standard input.")
        return str(click.prompt(f"Password of {of}", hide_input=True))
    try:
        with click.open_file(file, encoding="utf-8") as opened:
            first_line: str = opened.readline()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise click.BadParameter(
            f"{file} cannot be read: {reason}", param_hint="--password-file"
        ) from error
    password = first_line.rstrip("\r\n")
    if not password:
        raise click.BadParameter("the first line is empty", param_hint="--password-file")
    return password
