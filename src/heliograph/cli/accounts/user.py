"""Defines the commands `heliograph user …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli import checked_values
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import account_option, page_options

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.users import User

command = Noun(
    "user",
    help="People who sign in to the portal. A user belongs to one or more accounts, with a role in"
    " each.",
)


def _record(tx: "Connection", user: "User") -> dict[str, Any]:
    from heliograph import accounts, users
    from heliograph.base.clock import rfc3339, rfc3339_or_none

    return {
        "id": users.text_id(user),
        "email": user.email,
        "roles": [
            f"{member.role.value} of {accounts.by_id(tx, member.account_id).name}"
            for member in users.memberships(tx, user.id)
        ],
        "signed_in_at": rfc3339_or_none(user.signed_in_at_ms),
        "created_at": rfc3339(user.created_at_ms),
    }


def _link(session: CommandRun, secret: str) -> str:
    return f"{session.settings.base_url or 'http://127.0.0.1:8080'}/portal/sign-in/{secret}"


@command.command(
    "add", epilog=examples("user add ama@example.com --account 'Amina Foods' --role owner")
)
@click.argument("email", metavar="E-MAIL", type=checked_values.EMAIL)
@account_option
@click.option(
    "--role",
    required=True,
    type=click.Choice(["owner", "developer", "marketer", "viewer"]),
    help="Owner: all. Developer: keys, webhooks, sending. Marketer: campaigns, contacts, senders,"
    " sending. Viewer: looks at all of it.",
)
def add(session: CommandRun, email: str, account: str, role: str) -> None:
    """Give a user a role in an account, and show a link that signs in.

    A user whom there is gets the new role, in place of the one before in that account. The link is
    valid once, for a day."""
    from heliograph import accounts, users
    from heliograph.base import clock

    now_ms = clock.now_ms()
    with session.write() as tx:
        account_id = accounts.find(tx, account).id
        user = users.add(tx, email, now_ms=now_ms)
        users.set_role(tx, user.id, account_id, users.Role(role), now_ms=now_ms)
        secret = users.make_link(tx, user.id, now_ms=now_ms)
        record = _record(tx, user)
    show(session, {"id": record.pop("id"), "link": _link(session, secret), **record})


command.add_command(add, "create")  # the name that other nouns have for it


@command.command("link", epilog=examples("user link ama@example.com"))
@click.argument("user", metavar="USER")
def link(session: CommandRun, user: str) -> None:
    """Show a new link that signs a user in. It is valid once, for a day."""
    from heliograph import users
    from heliograph.base import clock

    with session.write() as tx:
        found = users.find(tx, user)
        secret = users.make_link(tx, found.id, now_ms=clock.now_ms())
        record = _record(tx, found)
    show(session, {"id": record.pop("id"), "link": _link(session, secret), **record})


@command.command("list", epilog=examples("user list", "user list --json"))
@page_options
def list_(session: CommandRun, limit: int, before: str | None) -> None:
    """List users, newest first."""
    from heliograph import users

    with session.read() as tx:
        before_id = users.find(tx, before).id if before is not None else None
        records = [_record(tx, user) for user in users.page(tx, limit=limit, before_id=before_id)]
    show_list(session, records, ("id", "email", "roles", "signed_in_at"), limit=limit)


@command.command("two-step-off", epilog=examples("user two-step-off ama@example.com"))
@click.argument("user", metavar="USER")
def two_step_off(session: CommandRun, user: str) -> None:
    """Ask a user for no code of an authenticator app any more, nor for a recovery code.

    It is for somebody who has lost the phone and the recovery codes. Make sure who asks for it."""
    from heliograph import users

    with session.write() as tx:
        found = users.find(tx, user)
        users.two_step.turn_off(tx, found.id)
        record = _record(tx, found)
    show(session, record)


@command.command("remove", epilog=examples("user remove ama@example.com --account 'Amina Foods'"))
@click.argument("user", metavar="USER")
@account_option
def remove(session: CommandRun, user: str, account: str) -> None:
    """Take a user's role in an account away. What the user has open in a browser ends at once."""
    from heliograph import accounts, users

    with session.write() as tx:
        found = users.find(tx, user)
        users.remove_member(tx, found.id, accounts.find(tx, account).id)
        record = _record(tx, found)
    show(session, record)


@command.command("disable", epilog=examples("user disable ama@example.com"))
@click.argument("user", metavar="USER")
def disable(session: CommandRun, user: str) -> None:
    """Take all roles of a user away. What the user has open in a browser ends at once.

    `user add` gives a role again."""
    from heliograph import users

    with session.write() as tx:
        found = users.find(tx, user)
        users.disable(tx, found.id)
        record = _record(tx, found)
    show(session, record)
