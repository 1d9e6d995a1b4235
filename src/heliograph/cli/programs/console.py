"""Defines the command `heliograph console`."""

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.values import listen_options

PORT = 8090


def _console(run: CommandRun, host: str, port: int) -> None:
    from heliograph.api.listening import AddressInUse
    from heliograph.processes import console_process, logs

    settings = run.settings
    logs.set_up(settings)
    try:
        console_process.run(settings, host, port)
    except (console_process.AlreadyServed, AddressInUse) as error:
        raise Failure(str(error)) from error


command = Command(
    "console",
    callback=_console,
    prints_record=False,
    collects_later=True,
    params=listen_options(PORT),
    epilog=examples("console", "console --host 10.0.0.5 --port 8090"),
    help=(
        "Serve the operator's console and its sign-in alone, at an address of its own: no API, no"
        " portal, and nothing is sent. HELIOGRAPH_CONSOLE=off hides the console where the API"
        " is. Set HELIOGRAPH_CONSOLE_URL to the console's address for all processes. With SQLite"
        " it runs only while heliograph serve does not. SIGTERM or Ctrl-C stops it."
    ),
)
