"""Defines the commands `heliograph account suspend`, `resume`, `go-live`, `pay-out` and `close`."""

from collections.abc import Callable

import click

from heliograph.cli import checked_values
from heliograph.cli.accounts.account_output import full_record
from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import by_option, entry_reason_option


def _change_status(run: CommandRun, acc: str, status: str, reason: str | None, by: str) -> None:
    from heliograph import accounts
    from heliograph.accounts import status_history
    from heliograph.base import clock

    with run.write() as tx:
        account = accounts.find(tx, acc)
        change = accounts.suspend if status == "suspended" else accounts.resume
        account = change(tx, account.id)
        status_history.record(
            tx, account.id, status_history.StatusChange(status, reason, by, clock.now_ms())
        )
        record = full_record(tx, account)
    show(run, record)


def _why_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options --reason and --by of a change of status."""
    return click.option(
        "--reason",
        type=checked_values.REASON,
        metavar="TEXT",
        help="Kept with the account, for operators only.",
    )(by_option(command))


@click.command(
    "suspend",
    cls=Command,
    epilog=examples("account suspend 'Amina Foods' --reason 'invoice 17 is not paid'"),
)
@click.argument("acc")
@_why_options
def suspend(run: CommandRun, acc: str, reason: str | None, by: str) -> None:
    """Suspend an account and its customers. They can still read, but cannot change or send
    anything. Messages that are queued already are still sent.

    The record says who did it, when and why: `heliograph account show` shows the last change.
    """
    _change_status(run, acc, "suspended", reason, by)


@click.command("go-live", cls=Command, epilog=examples("account go-live 'Amina Foods'"))
@click.argument("acc")
def go_live(run: CommandRun, acc: str) -> None:
    """Let an account make live keys and send live texts.

    Until then, an account that has signed up in the portal has only the sandbox. This cannot be
    undone: you can suspend the account instead.
    """
    from heliograph import accounts

    with run.write() as tx:
        account = accounts.go_live(tx, accounts.find(tx, acc).id)
        record = full_record(tx, account)
    show(run, record)


@click.command(
    "resume", cls=Command, epilog=examples("account resume 'Amina Foods' --reason 'paid'")
)
@click.argument("acc")
@_why_options
def resume(run: CommandRun, acc: str, reason: str | None, by: str) -> None:
    """Lift the suspension of an account."""
    _change_status(run, acc, "active", reason, by)


@click.command(
    "pay-out",
    cls=Command,
    epilog=examples("account pay-out 'Amina Foods' --reason 'paid by bank transfer bt-120'"),
)
@click.argument("acc")
@entry_reason_option
def pay_out(run: CommandRun, acc: str, reason: str) -> None:
    """Take all credits and money out of an account's wallet. Ledger entries record it. What
    a Connect customer has goes to its partner's wallet.

    For any other account, the credits go back to where granted credits come from, and the money is
    booked as paid: you pay it yourself. Money in another currency than the partner's cannot go to
    the partner, and is booked as paid too.
    """
    from heliograph import accounts
    from heliograph.wallet import ledger, pay_out

    with run.write() as tx:
        entries = pay_out.pay_out(tx, accounts.find(tx, acc), reason)
    show_list(
        run,
        [ledger.as_record(entry) for entry in entries],
        (
            "id",
            "type",
            "amount",
            "currency",
            "credits",
            "balance_after",
            "credits_after",
            "description",
        ),
    )


@click.command(
    "close", cls=Command, epilog=examples("account close 'Amina Foods' --reason 'contract ended'")
)
@click.argument("acc")
@_why_options
def close(run: CommandRun, acc: str, reason: str | None, by: str) -> None:
    """Close an account for good. Its keys are revoked and its webhook endpoints are disabled. It
    cannot be opened again; its records stay.

    The command is refused while something is still open: credits or money in its wallet, messages
    on their way or in doubt, campaigns that have not ended, webhook events that wait, Connect
    customers that are open. The error names everything at once, each with the command that clears
    it, in the order in which to run the commands.
    """
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.jobs import close_account

    with run.write() as tx:
        account = close_account.close(
            tx, accounts.find(tx, acc).id, reason, by, now_ms=clock.now_ms()
        )
        record = full_record(tx, account)
    show(run, record)
