"""Defines the command `heliograph api`."""

import sys

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.values import WholeNumber, listen_options

WORKERS_MAX = 64


def _api(run: CommandRun, host: str, port: int, workers: int) -> None:
    from heliograph.api.listening import AddressInUse
    from heliograph.processes import api_processes, logs

    settings = run.settings
    logs.set_up(settings)
    try:
        sys.exit(api_processes.run(settings, host, port, workers))
    except AddressInUse as error:
        raise Failure(str(error)) from error


command = Command(
    "api",
    callback=_api,
    prints_record=False,
    params=[
        *listen_options(),
        click.Option(
            ["--workers"],
            default=1,
            show_default=True,
            type=WholeNumber(1, WORKERS_MAX),
            metavar="N",
            help="Processes that share the port.",
        ),
    ],
    epilog=examples("api --workers 2", "api --host 0.0.0.0 --port 8080 --workers 4"),
    help=(
        "Answer the API in processes of its own, on PostgreSQL. heliograph worker runs beside "
        "them and sends what they accept. More than one API process needs REDIS_URL. A "
        "process that ends is started again. SIGTERM stops all of them: for "
        "HELIOGRAPH_DRAIN_S seconds (5 unless set) they still answer requests, while /readyz "
        "answers 503. A second SIGTERM, or Ctrl-C, ends this time early."
    ),
)
