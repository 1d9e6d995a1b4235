"""Defines the command `heliograph serve`."""

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.values import listen_options


def _serve(run: CommandRun, host: str, port: int) -> None:
    from heliograph.processes import logs, serve

    settings = run.settings
    logs.set_up(settings)
    try:
        serve.run(settings, host, port)
    except (serve.AlreadyServed, serve.AddressInUse) as error:
        raise Failure(str(error)) from error


command = Command(
    "serve",
    callback=_serve,
    prints_record=False,
    collects_later=True,
    making="always",
    params=listen_options(),
    epilog=examples("serve", "serve --host 0.0.0.0 --port 8080"),
    help=(
        "Run everything in one process: API, carriers, simulator. It uses SQLite in the data "
        "directory unless DATABASE_URL is set. SIGTERM or Ctrl-C stops it: it answers the "
        "requests under way, and waits for the carriers' outstanding answers."
    ),
)
