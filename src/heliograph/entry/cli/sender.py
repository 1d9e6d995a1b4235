"""`heliograph sender …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.entry.cli.command import Noun, Session, examples
from heliograph.entry.cli.output import show, show_list
from heliograph.entry.cli.values import account_option, page_options

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.senders import Sender

command = Noun("sender", help="Sender IDs: what texts may come from. Accounts register them, you approve them.")

_STATUSES = ("submitted", "approved", "rejected", "suspended")


def _record(tx: "Connection", sender: "Sender") -> dict[str, Any]:
    from heliograph import accounts, senders

    account = accounts.by_id(tx, sender.account_id)
    account_id = accounts.text_id(account)
    record = senders.as_record(sender, account_id if account.parent_id is not None else None)
    return {"id": record.pop("id"), "account_id": account_id, **record}


@command.command("list", epilog=examples("sender list --status submitted"))
@click.option("--status", type=click.Choice(_STATUSES))
@click.option("--account", metavar="ACC", help="Only this account's.")
@page_options
def list_(session: Session, status: str | None, account: str | None, limit: int, before: str | None) -> None:
    """List sender IDs, newest first."""
    from heliograph import accounts, senders

    with session.read() as tx:
        account_id = accounts.find(tx, account).id if account is not None else None
        before_id = senders.find(tx, before).id if before is not None else None
        found = senders.page(tx, limit=limit, account_id=account_id, status=status, before_id=before_id)
        records = [_record(tx, sender) for sender in found]
    show_list(session, records, ("id", "account_id", "sender", "status", "country_code", "purpose", "sandbox"), limit=limit)


@command.command("approve", epilog=examples("sender approve sid_01k5…"))
@click.argument("sender_id", metavar="ID")
def approve(session: Session, sender_id: str) -> None:
    """Approve a sender ID. Within a second the account can send from it."""
    from heliograph import senders
    from heliograph.base import clock

    with session.write() as tx:
        record = _record(tx, senders.approve(tx, senders.find(tx, sender_id).id, now_ms=clock.now_ms()))
    show(session, record)


@command.command("reject", epilog=examples("sender reject sid_01k5… --reason 'Send us a letter from the trademark owner'"))
@click.argument("sender_id", metavar="ID")
@click.option("--reason", required=True, metavar="TEXT", help="The account sees it.")
def reject(session: Session, sender_id: str, reason: str) -> None:
    """Reject a submitted sender ID."""
    from heliograph import senders
    from heliograph.base import clock

    with session.write() as tx:
        record = _record(tx, senders.reject(tx, senders.find(tx, sender_id).id, reason, now_ms=clock.now_ms()))
    show(session, record)


@command.command("suspend", epilog=examples("sender suspend sid_01k5… --reason 'Complaints from the network'"))
@click.argument("sender_id", metavar="ID")
@click.option("--reason", required=True, metavar="TEXT", help="The account sees it.")
def suspend(session: Session, sender_id: str, reason: str) -> None:
    """Withdraw the approval of a sender ID."""
    from heliograph import senders
    from heliograph.base import clock

    with session.write() as tx:
        record = _record(tx, senders.suspend(tx, senders.find(tx, sender_id).id, reason, now_ms=clock.now_ms()))
    show(session, record)


@command.command("register", epilog=examples("sender register AMINA --account 'Amina Foods' --approve --default"))
@click.argument("sender")
@account_option
@click.option("--mode", type=click.Choice(["live", "sandbox"]), default="live", show_default=True, help="In sandbox it is approved at once.")
@click.option("--country", metavar="GH", help="Where it is to be used: for whoever approves it.")
@click.option("--purpose", metavar="TEXT", help="What it is for: likewise.")
@click.option("--default", "set_default", is_flag=True, help="What the account sends from when it names none.")
@click.option("--approve", "approve_at_once", is_flag=True, help="Approve it at once.")
def register(session: Session, sender: str, account: str, mode: str, country: str | None, purpose: str | None, set_default: bool,
             approve_at_once: bool) -> None:
    """Register a sender ID for an account."""
    from heliograph import accounts, senders
    from heliograph.base import clock

    now_ms = clock.now_ms()
    with session.write() as tx:
        registered = senders.register(tx, accounts.find(tx, account).id, sender, sandbox=mode == "sandbox", country_code=country, purpose=purpose,
                                      set_default=set_default, now_ms=now_ms)
        if approve_at_once:
            registered = senders.approve(tx, registered.id, now_ms=now_ms)
        record = _record(tx, registered)
    show(session, record)
