"""Defines the options that set a carrier up. What they may be, carriers/ checks."""

from collections.abc import Callable
from typing import Any, Final

import click

from heliograph.cli.checked_values import MaybeEmpty
from heliograph.cli.values import Number, OrWord, WholeNumber


class TonNpi(click.ParamType[list[int]]):
    """Reads a type of number and a numbering plan, such as 5,0."""

    name = "ton,npi"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        from heliograph.carriers import check_settings

        try:
            return check_settings.read_ton_npi(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class StatusMeaning(click.ParamType[tuple[str, str | None]]):
    """Reads what a command_status means to this carrier, such as 0x45=retry. `default` stands for
    what it means to others.
    """

    name = "status=meaning"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str | None]:
        from heliograph.carriers import check_settings

        try:
            return check_settings.read_status_meaning(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _together(
    ctx: click.Context, param: click.Parameter, value: tuple[tuple[str, str | None], ...]
) -> dict[str, str | None] | None:
    return dict(value) or None


_OPTIONS: Final = (
    click.option(
        "--port", type=WholeNumber(1, 65_535), metavar="P", help="Usually 2775, with TLS 3550."
    ),
    click.option("--system-id", metavar="S", help="The name to bind with."),
    click.option(
        "--password-file",
        metavar="FILE|-",
        help=(
            "Its first line is the password; - is standard input. Without it you are asked for "
            "the password."
        ),
    ),
    click.option(
        "--tls/--no-tls",
        default=None,
        help="Use TLS, and check the certificate. Default: no TLS.",
    ),
    click.option(
        "--binds",
        type=WholeNumber(),
        metavar="N",
        help="How many sessions to open; with --bind tx+rx, how many pairs of them. Default: 1.",
    ),
    click.option(
        "--window",
        type=WholeNumber(),
        metavar="W",
        help="How many submit_sm may wait for an answer, per bind. Default: 10.",
    ),
    click.option(
        "--tps",
        type=Number(0),
        metavar="T",
        help=(
            "How many submit_sm are sent per second at most, by all binds together. Default: 0,"
            " which is not a limit."
        ),
    ),
    click.option(
        "--bind",
        type=click.Choice(["trx", "tx+rx"]),
        help="Send and receive in one session (trx), or in a pair of them (tx+rx). Default: trx.",
    ),
    click.option(
        "--system-type",
        type=MaybeEmpty(),
        metavar="TEXT",
        help="The system_type that the carrier asks for. Default: empty.",
    ),
    click.option(
        "--source-ton-npi",
        type=OrWord(TonNpi(), "auto"),
        metavar="T,N|auto",
        help="Type and numbering plan of senders. Default: auto, by the sender's form.",
    ),
    click.option(
        "--dest-ton-npi",
        type=TonNpi(),
        metavar="T,N",
        help="Type and numbering plan of recipients. Default: 1,1.",
    ),
    click.option(
        "--alphabet",
        type=click.Choice(["gsm", "latin1", "ascii"]),
        help=(
            "The alphabet that texts of GSM 7-bit characters are sent in: data_coding 0, 3 or 1."
            " Default: gsm."
        ),
    ),
    click.option(
        "--long",
        type=click.Choice(["udh", "payload", "sar"]),
        help="How texts of several segments are sent. Default: udh.",
    ),
    click.option(
        "--receipts",
        type=click.Choice(["all", "last", "none"]),
        help="Which segments ask for a receipt. Default: all.",
    ),
    click.option(
        "--id-format",
        type=click.Choice(["auto", "hex", "dec"]),
        help=(
            "The base in which receipts print ids, if answers print them in the other one. Default:"
            " auto, which learns it from answers and receipts."
        ),
    ),
    click.option(
        "--in-doubt",
        type=click.Choice(["resend", "never"]),
        help="What is done with bulk messages whose answer never came. Default: resend.",
    ),
    click.option(
        "--unmatched-max",
        type=WholeNumber(),
        metavar="N",
        help=(
            "How many receipts that found no message are kept at most: the newest ones. "
            "Default: 200000."
        ),
    ),
    click.option(
        "--status",
        "status_overrides",
        type=StatusMeaning(),
        multiple=True,
        callback=_together,
        metavar="0xNN=MEANING",
        help=(
            "What a command_status in answer to submit_sm means: throttled (again, slower), retry"
            " (3 tries), refused (failed), or default. Once for each."
        ),
    ),
)


def carrier_options(callback: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options that set a carrier up."""
    for option in reversed(_OPTIONS):
        callback = option(callback)
    return callback
