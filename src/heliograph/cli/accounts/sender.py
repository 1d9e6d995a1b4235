"""Defines the commands `heliograph sender …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli import checked_values
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import print_table, show, show_list
from heliograph.cli.values import account_option, by_option, mode_option, page_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Connection

    from heliograph.senders import Sender, reserved_names

command = Noun(
    "sender",
    help=(
        "Sender IDs: the names and numbers that texts may come from. Accounts register them, you"
        " approve them."
    ),
)

_STATUSES = ("submitted", "approved", "rejected", "suspended")

reason_option = click.option(
    "--reason",
    required=True,
    type=checked_values.REASON,
    metavar="TEXT",
    help="The account sees it.",
)


def _record(tx: "Connection", sender: "Sender") -> dict[str, Any]:
    from heliograph import accounts, senders

    account = accounts.by_id(tx, sender.account_id)
    account_id = accounts.text_id(account)
    record = senders.as_record(sender, account_id if account.parent_id is not None else None)
    return {"id": record.pop("id"), "account_id": account_id, **record}


def _similar_senders(tx: "Connection", found: "list[Sender]") -> dict[str, list[str]]:
    """Returns, by a sender's id, which approved senders of others it may be taken for, and whose
    they are.
    """
    from heliograph import accounts, senders

    return {
        sender_id: [
            f"{other.sender} of {accounts.text_id(accounts.by_id(tx, other.account_id))}"
            for other in others
        ]
        for sender_id, others in senders.look_alikes(tx, found).items()
    }


def _reserved(run: CommandRun, tx: "Connection", sender: "Sender") -> str | None:
    """Returns why accounts may not register it now; in sandbox they may register all."""
    from heliograph.senders import reserved_names

    return (
        None
        if sender.sandbox
        else reserved_names.reason_for(tx, sender.sender, run.settings.otp_sender)
    )


def _warn(run: CommandRun, tx: "Connection", sender: "Sender") -> None:
    if why := _reserved(run, tx, sender):
        click.echo(f"Warning: {sender.sender} is reserved: {why}.", err=True)
    for other in _similar_senders(tx, [sender])[sender.id]:
        click.echo(f"Warning: {sender.sender} looks like {other}, which is approved.", err=True)


@command.command("list", epilog=examples("sender list --status submitted"))
@click.option("--status", type=click.Choice(_STATUSES), help="Show only sender IDs in this state.")
@click.option("--account", metavar="ACC", help="Show only sender IDs of this account.")
@page_options
def list_(
    run: CommandRun, status: str | None, account: str | None, limit: int, before: str | None
) -> None:
    """List sender IDs, newest first."""
    from heliograph import accounts, senders

    with run.read() as tx:
        account_id = accounts.find(tx, account).id if account is not None else None
        before_id = senders.find(tx, before).id if before is not None else None
        found = senders.page(
            tx, limit=limit, account_id=account_id, status=status, before_id=before_id
        )
        similar = _similar_senders(tx, found)
        records = [_record(tx, sender) | {"looks_like": similar[sender.id]} for sender in found]
    show_list(
        run,
        records,
        (
            "id",
            "account_id",
            "sender",
            "status",
            "country_code",
            "purpose",
            "sandbox",
            "looks_like",
        ),
        limit=limit,
    )


@command.command("show", epilog=examples("sender show sid_01k5…"))
@click.argument("sender_id", metavar="ID")
def show_(run: CommandRun, sender_id: str) -> None:
    """Show a sender ID and its history, newest first. The command also shows whether the name is
    reserved, and which approved sender IDs of other accounts it looks like.
    """
    from heliograph import senders

    with run.read() as tx:
        sender = senders.find(tx, sender_id)
        record = _record(tx, sender) | {
            "reserved": _reserved(run, tx, sender),
            "looks_like": _similar_senders(tx, [sender])[sender.id],
        }
        steps = [senders.as_step_record(step) for step in senders.history(tx, sender.id)]
    if run.as_json:
        return show(run, record | {"history": steps})
    show(run, record)
    click.echo()
    return print_table(steps, ("status", "at", "by", "reason"))


@command.command(
    "documents",
    epilog=examples("sender documents sid_01k5…", "sender documents sid_01k5… --save /tmp/shop"),
)
@click.argument("sender_id", metavar="ID")
@click.option(
    "--save", metavar="DIR", help="Save the documents in this directory. It is made if needed."
)
def documents(run: CommandRun, sender_id: str, save: str | None) -> None:
    """List or save the documents of a sender ID. They come from the account: open them as you would
    a stranger's mail.
    """
    from heliograph import senders
    from heliograph.base.clock import rfc3339
    from heliograph.cli.output_files import save_octets
    from heliograph.senders.documents import content_of, of_sender

    records = []
    with run.read() as tx:
        for each in of_sender(tx, senders.find(tx, sender_id)):
            record = {
                "id": each.text_id,
                "name": each.name,
                "media_type": each.media_type,
                "octets": each.octets,
                "attached_at": rfc3339(each.attached_at_ms),
            }
            if save is not None:
                content = content_of(tx, each)
                record["saved"] = save_octets(save, each.file_name, content)
            records.append(record)
    columns = ("id", "name", "media_type", "octets", "attached_at")
    show_list(
        run,
        records,
        columns if save is None else (*columns, "saved"),
    )


@command.command(
    "approve",
    epilog=examples(
        "sender approve sid_01k5…", "sender approve sid_01k5… --reason 'One company, two accounts'"
    ),
)
@click.argument("sender_id", metavar="ID")
@click.option(
    "--reason",
    type=checked_values.REASON,
    metavar="TEXT",
    help="Required if the name looks like another account's. The account does not see it.",
)
@by_option
def approve(run: CommandRun, sender_id: str, reason: str | None, by: str) -> None:
    """Approve a sender ID. Within a second the account can send from it. The command warns if the
    name is reserved, or looks like another account's, for which it asks for a reason.
    """
    from heliograph import senders
    from heliograph.base import clock
    from heliograph.senders.documents import of_sender

    with run.write() as tx:
        before = senders.find(tx, sender_id)
        senders.require_reason(tx, before, reason)
        sender = senders.approve(tx, before.id, reason=reason, by=by, now_ms=clock.now_ms())
        _warn(run, tx, sender)
        record = _record(tx, sender) | {"documents": len(of_sender(tx, sender))}
    show(run, record)


@command.command(
    "reject",
    epilog=examples("sender reject sid_01k5… --reason 'Send us a letter from the trademark owner'"),
)
@click.argument("sender_id", metavar="ID")
@reason_option
@by_option
def reject(run: CommandRun, sender_id: str, reason: str, by: str) -> None:
    """Reject a submitted sender ID."""
    from heliograph import senders

    _decide_against(run, sender_id, senders.reject, reason, by)


@command.command(
    "suspend", epilog=examples("sender suspend sid_01k5… --reason 'Complaints from the network'")
)
@click.argument("sender_id", metavar="ID")
@reason_option
@by_option
def suspend(run: CommandRun, sender_id: str, reason: str, by: str) -> None:
    """Withdraw the approval of a sender ID."""
    from heliograph import senders

    _decide_against(run, sender_id, senders.suspend, reason, by)


def _decide_against(
    run: CommandRun,
    sender_id: str,
    decide: "Callable[..., Sender]",
    reason: str,
    by: str,
) -> None:
    """Rejects or suspends a sender ID, as `decide` does, and shows what became of it."""
    from heliograph import senders
    from heliograph.base import clock

    with run.write() as tx:
        sender_key = senders.find(tx, sender_id).id
        record = _record(tx, decide(tx, sender_key, reason, by=by, now_ms=clock.now_ms()))
    show(run, record)


@command.command(
    "register", epilog=examples("sender register AMINA --account 'Amina Foods' --approve --default")
)
@click.argument("sender", type=checked_values.SENDER)
@account_option
@mode_option("In sandbox it is approved at once.")
@click.option(
    "--country",
    type=checked_values.COUNTRY,
    metavar="GH",
    help="Where it is to be used. Whoever approves it sees this.",
)
@click.option(
    "--purpose",
    type=checked_values.PURPOSE,
    metavar="TEXT",
    help="What it is for. Whoever approves it sees this.",
)
@click.option(
    "--default", "set_default", is_flag=True, help="Make it the sender of requests that name none."
)
@click.option("--approve", "approve_at_once", is_flag=True, help="Approve it at once.")
@by_option
def register(
    run: CommandRun,
    sender: str,
    account: str,
    sandbox: bool,
    country: str | None,
    purpose: str | None,
    set_default: bool,
    approve_at_once: bool,
    by: str,
) -> None:
    """Register a sender ID for an account. It may be a reserved name."""
    from heliograph import accounts, senders
    from heliograph.base import clock

    now_ms = clock.now_ms()
    with run.write() as tx:
        registered = senders.register(
            tx,
            accounts.find(tx, account).id,
            sender,
            sandbox=sandbox,
            country_code=country,
            purpose=purpose,
            set_default=set_default,
            by=by,
            now_ms=now_ms,
        )
        if approve_at_once:
            registered = senders.approve(tx, registered.id, by=by, now_ms=now_ms)
            _warn(run, tx, registered)
        record = _record(tx, registered)
    show(run, record)


@command.command(
    "reserve", epilog=examples("sender reserve MTN --reason 'The operator of the network'")
)
@click.argument("sender")
@click.option(
    "--reason",
    required=True,
    type=checked_values.REASON,
    metavar="TEXT",
    help="A note for operators. Accounts do not see it.",
)
def reserve(run: CommandRun, sender: str, reason: str) -> None:
    """Reserve a name, so that accounts cannot register it. They cannot register a name that looks
    like it, either. An account that has it already keeps it, and you can register it for any
    account.
    """
    from heliograph.base import clock
    from heliograph.senders import reserved_names

    with run.write() as tx:
        record = reserved_names.add(tx, sender, reason, now_ms=clock.now_ms()).after
    show(run, _reserved_record(record))


@command.command("release", epilog=examples("sender release MTN"))
@click.argument("sender")
def release(run: CommandRun, sender: str) -> None:
    """Let accounts register a reserved name again."""
    from heliograph.senders import reserved_names

    with run.write() as tx:
        record = reserved_names.release(tx, sender)
    show(run, _reserved_record(record))


@command.command("reserved", epilog=examples("sender reserved"))
def reserved(run: CommandRun) -> None:
    """List the names that you have reserved. SANDBOX, HELIOGRAPH_OTP_SENDER and emergency numbers
    always are.
    """
    from heliograph.senders import reserved_names

    with run.read() as tx:
        records = [_reserved_record(record) for record in reserved_names.of_operator(tx)]
    show_list(run, records, ("sender", "reason", "created_at"))


def _reserved_record(record: "reserved_names.Reserved") -> dict[str, Any]:
    from heliograph.base.clock import rfc3339

    return {
        "sender": record.sender,
        "reason": record.reason,
        "created_at": rfc3339(record.created_at_ms),
    }
