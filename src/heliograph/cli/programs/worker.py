"""Runs `heliograph worker`, and holds what it shares with `carrier run` and `scheduler`."""

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.values import WholeNumber


def work(
    run: CommandRun, kind: str, carrier: str | None, metrics_host: str, metrics_port: int | None
) -> None:
    """Runs a process that sends until it is stopped. `kind` is one of those in
    `database/leases.py`. Raises Failure when what it would serve is served already.
    """
    from heliograph.processes import logs, worker

    settings = run.settings
    logs.set_up(settings)
    try:
        worker.run(settings, kind, carrier, metrics_host, metrics_port)
    except worker.AlreadyServed as error:
        raise Failure(str(error)) from error


def metrics_options() -> list[click.Parameter]:
    """Returns the options --metrics-host and --metrics-port."""
    return [
        click.Option(
            ["--metrics-host"],
            default="127.0.0.1",
            show_default=True,
            metavar="ADDRESS",
            help=(
                "Address to serve /metrics on. Other machines can read it only if"
                " HELIOGRAPH_METRICS_TOKEN is set."
            ),
        ),
        click.Option(
            ["--metrics-port"],
            type=WholeNumber(1, 65_535),
            metavar="P",
            help="Port to serve /metrics on. Default: /metrics is not served.",
        ),
    ]


def _worker(run: CommandRun, metrics_host: str, metrics_port: int | None) -> None:
    work(run, "worker", None, metrics_host, metrics_port)


command = Command(
    "worker",
    callback=_worker,
    prints_record=False,
    collects_later=True,
    params=metrics_options(),
    epilog=examples("worker", "worker --metrics-port 9100"),
    help=(
        "Run everything but the API, on PostgreSQL, beside heliograph api. It serves the simulator"
        " and every carrier that has no process of its own (heliograph carrier run), and does the"
        " scheduler's work while no heliograph scheduler runs. Several workers may run: they share"
        " carriers' rates, and take over from each other within 45 s. SIGTERM or Ctrl-C stops it:"
        " it waits for the carriers' outstanding answers."
    ),
)
