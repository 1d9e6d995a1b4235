"""Defines the commands `heliograph user …`."""

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from heliograph.cli import checked_values
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import LISTED_MAX, Past, WholeNumber, page_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

    from heliograph.users import User

command = Noun(
    "user",
    help="People who sign in to the portal or the operator's console. A user has a role in one or"
    " more accounts, or in the console.",
)


_account_option = click.option(
    "--account", metavar="ACC", help="The account, by its id or its unique name."
)


def _require_either(account: str | None, operator: object) -> None:
    """Raises UsageError unless one of them is given, and not both."""
    if (account is None) == (operator is None):
        raise click.UsageError(
            "Say where the role is: give --account, or --operator for the operator's console, and"
            " not both."
        )


@contextmanager
def _refused_at_operator() -> "Iterator[None]":
    """Says of a role in the console that is refused that it is that of --operator."""
    from heliograph.base.errors import InvalidRequest
    from heliograph.base.short_texts import invalid_field

    try:
        yield
    except InvalidRequest as refused:
        raise invalid_field("operator", refused.fields[0].message) from refused


def _record(tx: "Connection", user: "User") -> dict[str, Any]:
    from heliograph import accounts, users
    from heliograph.base.clock import rfc3339, rfc3339_or_none
    from heliograph.users import operators

    return {
        "id": users.text_id(user),
        "email": user.email,
        "roles": [
            f"{member.role.value} of {accounts.by_id(tx, member.account_id).name}"
            for member in users.memberships(tx, user.id)
        ],
        "operator": operators.role_of(tx, user.id),
        "signed_in_at": rfc3339_or_none(user.signed_in_at_ms),
        "created_at": rfc3339(user.created_at_ms),
    }


def _link(run: CommandRun, secret: str) -> str:
    return f"{run.settings.base_url or 'http://127.0.0.1:8080'}/portal/sign-in/{secret}"


@command.command(
    "add",
    epilog=examples(
        "user add ama@example.com --account 'Amina Foods' --role owner",
        "user add kofi@example.com --operator support",
    ),
)
@click.argument("email", metavar="E-MAIL", type=checked_values.EMAIL)
@_account_option
@click.option(
    "--role",
    type=click.Choice(["owner", "developer", "marketer", "viewer"]),
    help=(
        "Owner: everything. Developer: keys, webhooks, sending. Marketer: campaigns, contacts,"
        " senders, sending. Viewer: reads everything, changes nothing."
    ),
)
@click.option(
    "--operator",
    type=click.Choice(["admin", "support", "finance", "auditor"]),
    help=(
        "A role in the operator's console, instead of one in an account. Admin: everything."
        " Support: approvals, accounts, messages. Finance: money. Auditor: reads everything,"
        " changes nothing."
    ),
)
def add(
    run: CommandRun, email: str, account: str | None, role: str | None, operator: str | None
) -> None:
    """Give a user a role, and show a link that signs in. The role is one in an account, or in the
    operator's console.

    If the user has a role there already, the new role replaces it. The link is valid once, for a
    day. The console also asks for a passkey or an authenticator app, which an operator sets up
    after the first sign-in.
    """
    from heliograph import accounts, users
    from heliograph.base import clock
    from heliograph.users import operators, sign_ins

    _require_either(account, operator)
    if (role is None) == (account is not None):
        raise click.UsageError("--role is the role in the account of --account: give both.")
    now_ms = clock.now_ms()
    with run.write() as tx:
        account_id = None if account is None else accounts.find(tx, account).id
        user = users.add(tx, email, now_ms=now_ms)
        if account_id is not None and role is not None:
            users.set_role(tx, user.id, account_id, users.Role(role), now_ms=now_ms)
        elif operator is not None:
            with _refused_at_operator():
                operators.set_role(tx, user.id, users.OperatorRole(operator), now_ms=now_ms)
        secret = sign_ins.make_link(tx, user.id, now_ms=now_ms)
        record = _record(tx, user)
    show(run, {"id": record.pop("id"), "link": _link(run, secret), **record})


command.add_command(add, "create")  # the name that other nouns have for it


@command.command("link", epilog=examples("user link ama@example.com"))
@click.argument("user", metavar="USER")
def link(run: CommandRun, user: str) -> None:
    """Show a new link that signs a user in. It is valid once, for a day."""
    from heliograph import users
    from heliograph.base import clock
    from heliograph.users import sign_ins

    with run.write() as tx:
        found = users.find(tx, user)
        secret = sign_ins.make_link(tx, found.id, now_ms=clock.now_ms())
        record = _record(tx, found)
    show(run, {"id": record.pop("id"), "link": _link(run, secret), **record})


@command.command("list", epilog=examples("user list", "user list --json"))
@page_options
def list_(run: CommandRun, limit: int, before: str | None) -> None:
    """List users, newest first."""
    from heliograph import users

    with run.read() as tx:
        before_id = users.find(tx, before).id if before is not None else None
        records = [_record(tx, user) for user in users.page(tx, limit=limit, before_id=before_id)]
    show_list(run, records, ("id", "email", "roles", "operator", "signed_in_at"), limit=limit)


@command.command(
    "two-step-off",
    epilog=examples(
        "user two-step-off ama@example.com",
        "user two-step-off kofi@example.com --passkeys",
    ),
)
@click.argument("user", metavar="USER")
@click.option(
    "--passkeys",
    "without_passkeys",
    is_flag=True,
    help="Also remove all passkeys, and end the user's sessions.",
)
def two_step_off(run: CommandRun, user: str, without_passkeys: bool) -> None:
    """Turn off two-step sign-in for a user. The authenticator app and the recovery codes are no
    longer used.

    Use it for somebody who has lost the phone and the recovery codes or, with --passkeys, for an
    operator who has lost the device with a passkey. First make sure that this person really is the
    user.
    """
    from heliograph import users
    from heliograph.users import passkeys, two_step

    with run.write() as tx:
        found = users.find(tx, user)
        two_step.turn_off(tx, found.id)
        if without_passkeys:
            passkeys.remove_all(tx, found.id)
        record = _record(tx, found)
    show(run, record)


@command.command(
    "remove",
    epilog=examples(
        "user remove ama@example.com --account 'Amina Foods'",
        "user remove kofi@example.com --operator",
    ),
)
@click.argument("user", metavar="USER")
@_account_option
@click.option("--operator", is_flag=True, help="The role in the operator's console.")
def remove(run: CommandRun, user: str, account: str | None, operator: bool) -> None:
    """Remove a user's role in an account or in the console. The user's sessions end at once."""
    from heliograph import accounts, users
    from heliograph.users import operators

    _require_either(account, operator or None)
    with run.write() as tx:
        found = users.find(tx, user)
        if account is not None:
            users.remove_member(tx, found.id, accounts.find(tx, account).id)
        else:
            with _refused_at_operator():
                operators.remove(tx, found.id)
        record = _record(tx, found)
    show(run, record)


@command.command("disable", epilog=examples("user disable ama@example.com"))
@click.argument("user", metavar="USER")
def disable(run: CommandRun, user: str) -> None:
    """Remove all roles of a user, also the one in the console. The user's sessions end at once.

    `user add` gives a role again."""
    from heliograph import users

    with run.write() as tx:
        found = users.find(tx, user)
        users.disable(tx, found.id)
        record = _record(tx, found)
    show(run, record)


@command.command(
    "log",
    epilog=examples(
        "user log", "user log --account 'Amina Foods' --by kofi@example.com --until 7d --json"
    ),
)
@click.option("--account", "acc", metavar="ACC", help="Show only changes of this account.")
@click.option(
    "--by",
    type=checked_values.EMAIL,
    metavar="E-MAIL",
    help="Show only changes that this user made.",
)
@click.option(
    "--until",
    type=Past(),
    metavar="T",
    help="Show only those made before this time: a time, a date, or 7d, 2h, 30m ago.",
)
@click.option(
    "--limit",
    type=WholeNumber(1, LISTED_MAX),
    default=100,
    show_default=True,
    help="The most to show, newest first.",
)
def log(run: CommandRun, acc: str | None, by: str | None, until: int | None, limit: int) -> None:
    """List what operators have changed in the console.

    The newest change comes first, with its reason. Changes that commands make are not in it.
    """
    from heliograph import accounts, users
    from heliograph.base.clock import rfc3339
    from heliograph.base.paging import PageWanted, first_id_of

    with run.read() as tx:
        account_id = None if acc is None else accounts.find(tx, acc).id
        before = None if until is None else first_id_of(until)
        found = users.operator_entries(
            tx,
            PageWanted(limit, before),
            account_id=account_id,
            email=by and users.fold_email(by),
        )
    records = [
        {
            "time": rfc3339(each.at_ms),
            "by": each.email,
            "action": each.entry.action,
            "account_id": each.account,
            "record": each.entry.record,
            "before": each.entry.before,
            "after": each.entry.after,
            "reason": each.entry.reason,
        }
        for each in found
    ]
    columns = ("time", "by", "action", "account_id", "record", "before", "after", "reason")
    show_list(run, records, columns)
