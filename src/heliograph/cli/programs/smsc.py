"""Defines the command `heliograph smsc`."""

from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.values import Number, WholeNumber, read_password

if TYPE_CHECKING:
    from heliograph.carriers.smsc import Rule

SEED_MAX: Final = 2**32 - 1
SCRIPT_OCTETS_MAX: Final = 1_048_576  # a thousand lines are far less
T = TypeVar("T")


def _smsc(
    run: CommandRun,
    host: str,
    port: int,
    system_id: str | None,
    password_file: str | None,
    window: int,
    over_window: Literal["throttle", "stop"],
    answer_delay_ms: int,
    receipt_delay_ms: int,
    id_format: Literal["hex", "dec"],
    mo_rate: float,
    mo_to: str,
    mo_text: str,
    mo_long: Literal["udh", "udh16", "sar", "payload", "data_sm"],
    chaos: tuple[str, ...],
    script: Path | None,
    seed: int | None,
    log: Path | None,
    stats: float | None,
) -> None:
    from heliograph.carriers.smsc import Chaos, SmscSettings, read_chances
    from heliograph.processes import smsc

    password = None if password_file is None else read_password(password_file, of="the clients")
    try:
        settings = SmscSettings(
            system_id=system_id,
            password=password,
            window=window,
            over_window=over_window,
            answer_delay_s=answer_delay_ms / 1_000,
            receipt_delay_s=receipt_delay_ms / 1_000,
            id_format=id_format,
            mo_rate=mo_rate,
            mo_to=mo_to.removeprefix("+"),
            mo_text=mo_text,
            mo_long=mo_long,
        )
    except ValueError as wrong:
        name, _, why = str(wrong).partition(": ")
        raise click.BadParameter(why, param_hint=f"--{name.replace('_', '-')}") from wrong
    chances = _read(read_chances, ",".join(chaos), "--chaos")
    seed = SystemRandom().randint(0, SEED_MAX) if seed is None else seed
    options = smsc.SmscRun(
        host,
        port,
        settings,
        chaos=Chaos(chances, _rules(script), seed),
        seed=seed,
        log=log,
        stats_s=stats,
    )
    try:
        smsc.run(options, lambda report: click.echo(smsc.as_line(report, as_json=run.as_json)))
    except smsc.NotRun as error:
        raise Failure(str(error)) from error


def _rules(script: Path | None) -> "list[Rule]":
    from heliograph.carriers.smsc import read_script

    if script is None:
        return []
    try:
        with script.open(encoding="utf-8") as file:
            text = file.read(SCRIPT_OCTETS_MAX)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise click.BadParameter(
            f"{script} cannot be read: {reason}", param_hint="--script"
        ) from error
    return _read(read_script, text, "--script")


def _read(reader: Callable[[str], T], text: str, option: str) -> T:
    try:
        return reader(text)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong), param_hint=option) from wrong


class _SmscCommand(Command):
    """Lists the kinds of chaos in its help."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from heliograph.carriers.smsc import KINDS

        super().format_options(ctx, formatter)
        with formatter.section("Kinds of chaos, with :ARGUMENT where one is named"):
            formatter.write_dl([(name, kind.help) for name, kind in KINDS.items()])


command = _SmscCommand(
    "smsc",
    callback=_smsc,
    prints_record=False,
    params=[
        click.Option(
            ["--host"], default="127.0.0.1", show_default=True, help="Address to listen on."
        ),
        click.Option(
            ["--port"],
            default=2775,
            show_default=True,
            type=WholeNumber(0, 65_535),
            help="Port to listen on; 0: any free one.",
        ),
        click.Option(
            ["--system-id"], metavar="S", help="The only system_id that may bind. Default: any."
        ),
        click.Option(
            ["--password-file"],
            metavar="FILE",
            help="Its first line is the password; - reads standard input. Default: any password.",
        ),
        click.Option(
            ["--window"],
            default=10_000,
            show_default=True,
            type=WholeNumber(1, 10_000),
            help=(
                "How many submit_sm of a session may wait for an answer. It matters only with a "
                "delay."
            ),
        ),
        click.Option(
            ["--over-window"],
            default="throttle",
            show_default=True,
            type=click.Choice(["throttle", "stop"]),
            help="Beyond the window: answer ESME_RTHROTTLED, or stop reading.",
        ),
        click.Option(
            ["--answer-delay-ms"],
            default=0,
            show_default=True,
            type=WholeNumber(0, 3_600_000),
            help="How long answers to submit_sm are delayed.",
        ),
        click.Option(
            ["--receipt-delay-ms"],
            default=50,
            show_default=True,
            type=WholeNumber(0, 3_600_000),
            help="How long after submit_sm its receipt is sent.",
        ),
        click.Option(
            ["--id-format"],
            default="hex",
            show_default=True,
            type=click.Choice(["hex", "dec"]),
            help="How answers print message ids.",
        ),
        click.Option(
            ["--mo-rate"],
            metavar="N",
            default=0.0,
            type=Number(0, 10_000),
            help=(
                "How many texts a second come from handsets, each from a different handset, while a"
                " session receives. Default: none."
            ),
        ),
        click.Option(
            ["--mo-to"],
            metavar="NUMBER",
            default="4567",
            show_default=True,
            help="The number or short code that handsets write to.",
        ),
        click.Option(
            ["--mo-text"],
            metavar="TEXT",
            default="Hello from a handset",
            show_default=True,
            help="What handsets write, up to 10 parts.",
        ),
        click.Option(
            ["--mo-long"],
            default="udh",
            show_default=True,
            type=click.Choice(["udh", "udh16", "sar", "payload", "data_sm"]),
            help=(
                "How a long text from a handset is delivered: in parts, with a user data header"
                " that has an 8-bit or 16-bit reference, or with sar_ parameters; or whole, as the"
                " message_payload of a deliver_sm or data_sm. In the last case short texts are"
                " delivered in this way too."
            ),
        ),
        click.Option(
            ["--chaos"],
            metavar="KIND=P,…",
            multiple=True,
            help="The faults that happen, each with its probability from 0 to 1.",
        ),
        click.Option(
            ["--script"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help=(
                "A file that says what goes wrong and when, in lines such as 'after 100 submits:"
                " drop' or 'every 50 submits: throttle'."
            ),
        ),
        click.Option(
            ["--seed"],
            type=WholeNumber(0, SEED_MAX),
            help="The same seed makes the same chaos. Default: a new one, which is shown.",
        ),
        click.Option(
            ["--log"],
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Append every event as a line of JSON: phone numbers in full, texts as hashes.",
        ),
        click.Option(
            ["--stats"],
            metavar="SECONDS",
            type=Number(0.1),
            help="Seconds between counts. Default: counts are shown only at the end.",
        ),
        click.Option(
            ["--json", "as_json"],
            is_flag=True,
            help="Print one JSON document per line: the address, then counts.",
        ),
    ],
    epilog=examples(
        "smsc",
        "smsc --chaos throttle=0.5,refuse:0x0a=0.01 --seed 7 --log smsc.jsonl",
        "smsc --answer-delay-ms 50 --window 10 --over-window stop",
        "smsc --chaos delay:30s=0.001,duplicate:1000=0.01,ids-decimal=1",
        "smsc --script bad-night.txt --stats 10",
        'smsc --mo-rate 10 --mo-text "$(cat long.txt)" --chaos mo-shuffle=1,mo-lose=0.01',
    ),
    help=(
        "Run the simulator as an SMPP 3.4 server, for your own clients and for other people's. It"
        " is a test tool: it delivers nothing, and its log holds phone numbers in full. As"
        " everywhere in the simulator, the recipient's last digits choose what happens: 000 is not"
        " delivered, 001 is refused, 002 expires, 003 is delivered 30 s later, everything else at"
        " once. SIGTERM or Ctrl-C ends it, with a line of counts."
    ),
)
