"""Defines the command `heliograph demo`."""

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.values import listen_options

DATA_DIR = "heliograph-demo"


def _demo(run: CommandRun, host: str, port: int, once: bool) -> None:
    from dataclasses import replace

    from heliograph.processes import demo, logs, serve

    settings = run.settings
    if not settings.database_url.startswith(f"sqlite:///{settings.data_dir}/"):
        raise Failure("The demo uses its own database: unset DATABASE_URL.")
    logs.set_up(replace(settings, log_level="warning"))
    try:
        demo.run(settings, host, port, click.echo, once=once)
    except (serve.AlreadyServed, serve.AddressInUse, demo.NotDelivered) as error:
        raise Failure(str(error)) from error


command = Command(
    "demo",
    callback=_demo,
    own_data_dir=DATA_DIR,
    prints_record=False,
    collects_later=True,
    making="always",
    params=[
        *listen_options(),
        click.Option(["--once"], is_flag=True, help="End after the first delivery."),
    ],
    epilog=examples("demo", "demo --once --port 0"),
    help=(
        "Run a server with a ready account, and watch a first text on its way. It has a data"
        " directory and new keys of its own, and its texts go to the built-in simulator: nothing"
        " leaves this machine."
    ),
)
