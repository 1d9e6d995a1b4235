"""Defines the commands `heliograph carrier …`."""

from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli.carriers.carrier_options import carrier_options
from heliograph.cli.command import Command, CommandRun, Noun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.output import show, show_list
from heliograph.cli.programs.worker import metrics_options, work
from heliograph.cli.values import given_options, read_password

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.carriers import Carrier

command = Noun(
    "carrier",
    help=(
        "Carriers: connections to mobile networks over SMPP 3.4. A route sends messages to a"
        " carrier; `simulator` is built in."
    ),
)

# The settings that the options below set, with their defaults shown in JSON and help; what they
# mean and may be, carriers/ checks.
_SHOWN: Final = (
    "host",
    "port",
    "system_id",
    "tls",
    "binds",
    "window",
    "tps",
    "bind",
    "system_type",
    "source_ton_npi",
    "dest_ton_npi",
    "alphabet",
    "long",
    "receipts",
    "id_format",
    "in_doubt",
    "unmatched_max",
)


def _record(carrier: "Carrier") -> dict[str, Any]:
    from heliograph.base.clock import rfc3339, rfc3339_or_none
    from heliograph.carriers import setting

    settings = {name: setting(carrier, name) for name in _SHOWN} if carrier.type == "smpp" else {}
    if carrier.type == "smpp":
        settings["status_overrides"] = carrier.settings.get("status_overrides", {})
    return {
        "name": carrier.name,
        "type": carrier.type,
        "state": carrier.state,
        "state_detail": carrier.state_detail,
        "down_since": rfc3339_or_none(carrier.down_since_ms),
        "draining": carrier.draining,
        "paused": carrier.paused,
        **settings,
        "learnt_id_format": carrier.id_format,
        "created_at": rfc3339(carrier.created_at_ms),
    }


def _record_with_counts(tx: "Connection", carrier: "Carrier") -> dict[str, Any]:
    """Returns what is shown of a carrier, and how many messages it has not answered."""
    from heliograph.messages.queue import messages_of_carrier

    counts = messages_of_carrier(tx, carrier.id)
    return {
        **_record(carrier),
        **{f"messages_{name}": count for name, count in counts._asdict().items()},
    }


@command.command(
    "add",
    epilog=examples(
        "carrier add gh-main --host smpp.example.net --port 2775 --system-id amina --password-file"
        " gh.txt",
        "route set 233 gh-main",
    ),
)
@click.argument("name")
@click.option(
    "--type",
    "kind",
    type=click.Choice(["smpp"]),
    default="smpp",
    show_default=True,
    help="The protocol that it speaks.",
)
@click.option(
    "--host", required=True, metavar="H", help="Where the carrier listens: a name or an address."
)
@carrier_options
def add(run: CommandRun, name: str, kind: str, password_file: str | None, **options: Any) -> None:
    """Add an SMPP carrier. A running server connects to it within a second."""
    from heliograph.base import clock
    from heliograph.carriers import add_carrier

    settings = {
        name: value for name, value in given_options(**options).items() if value is not None
    }
    if overrides := settings.get("status_overrides"):
        settings["status_overrides"] = {
            status: meaning for status, meaning in overrides.items() if meaning is not None
        }
    if missing := [option for option in ("port", "system_id") if option not in settings]:
        raise click.UsageError(f"Missing option '--{missing[0].replace('_', '-')}'.")
    password = read_password(password_file, of=f"{settings['system_id']} at {settings['host']}")
    with run.write() as tx:
        record = _record(
            add_carrier(
                tx,
                name,
                settings,
                password,
                secret_key=run.secret_keys(tx),
                now_ms=clock.now_ms(),
            )
        )
    show(run, record)


@command.command(
    "set",
    epilog=examples(
        "carrier set gh-main --tps 50 --window 20",
        "carrier set gh-main --password-file new.txt",
        "carrier set gh-main --status 0x45=retry --status 0x400=refused",
    ),
)
@click.argument("name")
@click.option("--host", metavar="H", help="Where the carrier listens: a name or an address.")
@carrier_options
def set_(run: CommandRun, name: str, password_file: str | None, **options: Any) -> None:
    """Change settings of a carrier. A running server then connects again."""
    from heliograph.carriers import set_carrier

    settings = given_options(**options)
    if not settings and password_file is None:
        raise click.UsageError("Say what to set: give at least one option.")
    password = read_password(password_file, of=name) if password_file is not None else None
    with run.write() as tx:
        record = _record(set_carrier(tx, name, settings, password, secret_key=run.secret_keys(tx)))
    show(run, record)


@command.command("list", epilog=examples("carrier list"))
def list_(run: CommandRun) -> None:
    """List carriers, with their connections and what waits. While a server runs, what waits for
    each is counted every ten seconds.
    """
    from heliograph.carriers import all_carriers
    from heliograph.monitoring import last_waiting

    with run.read() as tx:
        waiting = last_waiting(tx)
        records = [
            {**_record(carrier), "messages_waiting": waiting.get(carrier.id)}
            for carrier in all_carriers(tx)
        ]
    columns = ("name", "type", "state", "state_detail", "draining", "paused", "messages_waiting")
    show_list(run, records, columns)


@command.command("show", epilog=examples("carrier show gh-main", "carrier show gh-main --json"))
@click.argument("name")
def show_(run: CommandRun, name: str) -> None:
    """Show a carrier's settings and connections. The state of the connections is shown with the
    reason, and so is what the service has learned about the carrier: the base in which its receipts
    print ids. It also shows how many messages wait for it, how many are held, and how many were
    handed to it and not answered.
    """
    from heliograph.carriers import carrier_named

    with run.read() as tx:
        record = _record_with_counts(tx, carrier_named(tx, name))
    show(run, record)


@command.command("drain", epilog=examples("carrier drain gh-main", "carrier drain gh-main --stop"))
@click.argument("name")
@click.option("--stop", is_flag=True, help="Give it new messages again.")
def drain(run: CommandRun, name: str, stop: bool) -> None:
    """Give a carrier no new messages. What it already has is sent."""
    from heliograph.carriers import drain_carrier

    with run.write() as tx:
        record = _record_with_counts(tx, drain_carrier(tx, name, draining=not stop))
    show(run, record)


@command.command("pause", epilog=examples("carrier pause gh-main", "carrier resume gh-main"))
@click.argument("name")
def pause(run: CommandRun, name: str) -> None:
    """Stop giving messages to a carrier. Its binds stay connected. Messages that wait for it go to
    the next carrier of their route, or go on waiting.
    """
    from heliograph.carriers import pause_carrier

    with run.write() as tx:
        record = _record_with_counts(tx, pause_carrier(tx, name))
    show(run, record)


@command.command("resume", epilog=examples("carrier resume gh-main"))
@click.argument("name")
def resume(run: CommandRun, name: str) -> None:
    """Give messages again to a draining or paused carrier."""
    from heliograph.carriers import resume_carrier

    with run.write() as tx:
        record = _record(resume_carrier(tx, name))
    show(run, record)


@command.command("remove", epilog=examples("carrier remove gh-main"))
@click.argument("name")
def remove(run: CommandRun, name: str) -> None:
    """Remove a carrier and its numbers. It is refused while a route leads to it, or a message waits
    for it."""
    from heliograph.base import clock
    from heliograph.carriers import carrier_named
    from heliograph.inbound import remove_carrier_and_numbers
    from heliograph.messages.queue import messages_of_carrier

    with run.write() as tx:
        waiting = messages_of_carrier(tx, carrier_named(tx, name).id).total
        remove_carrier_and_numbers(tx, name, messages_waiting=waiting, now_ms=clock.now_ms())
    show(run, {"name": name, "removed": True})


@command.command("test", epilog=examples("carrier test gh-main"))
@click.argument("name")
def test(run: CommandRun, name: str) -> None:
    """Bind to an SMPP carrier with its settings, and unbind again. The exit status is 1 if it
    refuses the bind or cannot be reached.
    """
    import logging

    from heliograph.carriers import LinkState, carrier_named, connection_settings
    from heliograph.carriers.smpp.trial_bind import run_trial_bind

    with run.read() as tx:
        carrier = carrier_named(tx, name)
        if carrier.type != "smpp":
            raise Failure(f"The carrier {name} is built in: there is nothing to bind to.")
        connection = connection_settings(tx, carrier, run.settings.secret_keys)
    logging.disable(logging.WARNING)  # the link's own notes say the same as the one line below
    state, detail = run_trial_bind(connection)
    if state is not LinkState.BOUND:
        raise Failure(f"{name} at {connection.host}:{connection.port} cannot be bound: {detail}")
    show(run, {"name": name, "state": state.value, "detail": detail})


def _run(run: CommandRun, name: str, metrics_host: str, metrics_port: int | None) -> None:
    work(run, "carrier", name, metrics_host, metrics_port)


command.add_command(
    Command(
        "run",
        callback=_run,
        prints_record=False,
        collects_later=True,
        params=[click.Argument(["name"]), *metrics_options()],
        epilog=examples("carrier run gh-main", "carrier run gh-main --metrics-port 9101"),
        help=(
            "Serve one carrier in a process of its own. It needs PostgreSQL. Workers then leave the"
            " carrier alone. Several may run for one carrier: each opens all of its binds, and they"
            " share its rate. SIGTERM or Ctrl-C stops it: it waits for the carrier's outstanding"
            " answers."
        ),
    )
)
