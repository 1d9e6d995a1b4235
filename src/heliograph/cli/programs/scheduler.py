"""Defines the command `heliograph scheduler`."""

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.programs.worker import metrics_options, work


def _scheduler(run: CommandRun, metrics_host: str, metrics_port: int | None) -> None:
    work(run, "scheduler", None, metrics_host, metrics_port)


command = Command(
    "scheduler",
    callback=_scheduler,
    prints_record=False,
    collects_later=True,
    params=metrics_options(),
    epilog=examples("scheduler", "scheduler --metrics-port 9102"),
    help=(
        "Do the work that all processes share, on PostgreSQL: it ends messages whose validity is"
        " over, handles messages in doubt and carriers that are down, takes over the work of"
        " processes that died, and deletes what has expired. One scheduler is active at a time. If"
        " it stops, another one takes over within 45 s. If there is none, heliograph worker does"
        " the work."
    ),
)
