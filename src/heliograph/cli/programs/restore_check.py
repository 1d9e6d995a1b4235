"""Defines the command `heliograph restore-check`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.values import Past

if TYPE_CHECKING:
    from heliograph.messages.sweeps.restored import KeptMessages

_COLUMNS = ("account_id", "carrier", "type", "mode", "messages", "segments", "expires_at")


def _restore_check(
    run: CommandRun,
    decision: str | None,
    since: int | None,
    leave_later: bool,
    account: str | None,
    carrier: str | None,
) -> None:
    if decision is not None and (since is not None or leave_later):
        raise click.UsageError(
            f"--since and --leave-later say what to keep, and {decision} says what becomes of it:"
            " give them in two commands."
        )
    if leave_later and since is None:
        raise click.UsageError(
            "--leave-later is about what was accepted after a time: give --since."
        )
    if decision is not None:
        return _decide(run, decision, account, carrier)
    if account is not None or carrier is not None:
        raise click.UsageError(
            "--account and --carrier say what to decide about: give send or cancel with them."
            " --since always keeps everything."
        )
    return _keep(run, since, leave_later) if since is not None else _show(run, _kept_messages(run))


def _keep(run: CommandRun, since: int, leave_later: bool) -> None:
    from heliograph.base import clock
    from heliograph.base.short_texts import invalid_field
    from heliograph.database import processes
    from heliograph.processes.checks import restore_check

    if since > clock.now_ms():
        raise invalid_field("since", "must not be in the future")
    processes.set_process_kind("restore-check")
    done = run.run_hot(
        lambda db: restore_check.keep_from_carriers(
            db, run.settings, since, leave_later=leave_later
        )
    )
    _show(run, done.kept_messages, [campaign._asdict() for campaign in done.campaigns])


def _kept_messages(run: CommandRun) -> "list[KeptMessages]":
    from heliograph.messages.sweeps import restored

    with run.read() as tx:
        return restored.kept_messages(tx)


def _show(
    run: CommandRun, found: "list[KeptMessages]", campaigns: list[dict[str, str]] | None = None
) -> None:
    from heliograph import accounts
    from heliograph.base.clock import rfc3339
    from heliograph.carriers import all_carriers
    from heliograph.cli.output import print_table, show

    with run.read() as tx:
        names = {carrier.id: carrier.name for carrier in all_carriers(tx)}
        rows: list[dict[str, Any]] = [
            {
                "account_id": accounts.text_id(accounts.by_id(tx, row.account_id)),
                "carrier": names.get(row.carrier_id),
                "type": row.type,
                "mode": "sandbox" if row.sandbox else "live",
                "messages": row.messages,
                "segments": row.segments,
                "expires_at": rfc3339(row.last_expires_at_ms),
            }
            for row in found
        ]
    if run.as_json:
        return show(
            run, {"kept": rows, **({"campaigns": campaigns} if campaigns is not None else {})}
        )
    if campaigns:
        print_table(campaigns, ("id", "status"))
        click.echo()
    if rows:
        print_table(rows, _COLUMNS)
        click.echo(
            "None of this goes out until you decide: heliograph restore-check send, or cancel."
            " --account and --carrier limit that to a part of it.",
            err=True,
        )
    else:
        click.echo("Nothing is kept back.")
    return None


def _decide(run: CommandRun, decision: str, account: str | None, carrier: str | None) -> None:
    from heliograph import accounts
    from heliograph.carriers import carrier_named
    from heliograph.cli.output import show
    from heliograph.messages.sweeps.restored import Selection
    from heliograph.processes.checks import restore_check

    with run.read() as tx:
        which = Selection(
            accounts.find(tx, account).id if account is not None else None,
            carrier_named(tx, carrier).id if carrier is not None else None,
        )
    decided = run.run_hot(lambda db: restore_check.decide(db, which, send=decision == "send"))
    show(
        run,
        {
            "sent" if decision == "send" else "canceled": decided,
            "kept": sum(row.messages for row in _kept_messages(run)),
        },
    )


command = Command(
    "restore-check",
    callback=_restore_check,
    params=[
        click.Argument(["decision"], type=click.Choice(["send", "cancel"]), required=False),
        click.Option(
            ["--since"],
            type=Past(),
            metavar="T",
            help=(
                "The time of the backup: keep back what was accepted until then and not yet sent."
                " A time, a date, or 7d, 2h, 30m ago. It is refused while processes run."
            ),
        ),
        click.Option(
            ["--leave-later"],
            is_flag=True,
            help=(
                "With --since: allow it although processes have run since the restore. What they"
                " accepted after that time is not from the backup, and stays as it is."
            ),
        ),
        click.Option(
            ["--account"], metavar="ACC", help="Decide only about this account's messages."
        ),
        click.Option(
            ["--carrier"], metavar="NAME", help="Decide only about this carrier's messages."
        ),
    ],
    epilog=examples(
        "restore-check --since 2027-01-31T09:30:00Z",
        "restore-check",
        "restore-check send --carrier gh-main",
        "restore-check cancel --account 'Amina Foods'",
    ),
    help=(
        "Run this after a restore from a backup, before you start processes. It keeps back the"
        " messages that were queued in the backup, because they may have been sent since, and"
        " pauses its campaigns. Then start the processes, and decide: send lets the messages go"
        " out, cancel makes them fail and refunds them. Without a decision and without --since,"
        " the command shows what is kept back."
    ),
)
