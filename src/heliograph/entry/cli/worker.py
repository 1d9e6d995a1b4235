"""`heliograph worker`."""

from heliograph.entry.cli.command import Command, Failure, Session, examples


def _worker(session: Session) -> None:
    from heliograph.entry import logs, worker

    settings = session.settings
    logs.set_up(settings)
    try:
        worker.run(settings)
    except (worker.AlreadyServed, worker.Retired) as error:
        raise Failure(str(error)) from error


command = Command(
    "worker", callback=_worker, prints_record=False,
    epilog=examples("worker"),
    help="Run everything but the API, on PostgreSQL: carriers, simulator, and what is looked after every second. One a database, beside "
         "any number of heliograph api. SIGTERM or Ctrl-C stops it: what is on the wire is waited for.",
)  # fmt: skip
