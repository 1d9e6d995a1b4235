"""`heliograph worker`."""

import click

from heliograph.entry.cli.command import Command, Failure, Session, examples
from heliograph.entry.cli.values import Whole


def _worker(session: Session, metrics_port: int | None) -> None:
    from heliograph.entry import logs, worker

    settings = session.settings
    logs.set_up(settings)
    try:
        worker.run(settings, metrics_port)
    except (worker.AlreadyServed, worker.Retired) as error:
        raise Failure(str(error)) from error


command = Command(
    "worker", callback=_worker, prints_record=False,
    params=[click.Option(["--metrics-port"], type=Whole(1, 65_535), metavar="P", help="Answer /metrics there, to this machine only.")],
    epilog=examples("worker", "worker --metrics-port 9100"),
    help="Run everything but the API, on PostgreSQL: carriers, simulator, and what is looked after every second. One a database, beside "
         "any number of heliograph api. SIGTERM or Ctrl-C stops it: what is on the wire is waited for.",
)  # fmt: skip
