"""Defines the commands `heliograph key …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli import checked_values
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import Moment, account_option, page_options

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.keys import ApiKey

command = Noun(
    "key", help="API keys. A key itself is shown once, when it is created; only its hash is stored."
)


def _record(tx: "Connection", key: "ApiKey") -> dict[str, Any]:
    from heliograph import accounts, keys
    from heliograph.base.clock import rfc3339, rfc3339_or_none

    return {
        "id": keys.text_id(key),
        "account_id": accounts.text_id(accounts.by_id(tx, key.account_id)),
        "name": key.name,
        "sandbox": key.sandbox,
        "prefix": key.prefix,
        "tier": key.tier,
        "permissions": key.permissions,
        "expires_at": rfc3339_or_none(key.expires_at_ms),
        "revoked_at": rfc3339_or_none(key.revoked_at_ms),
        "last_used_at": rfc3339_or_none(key.last_used_at_ms),
        "created_at": rfc3339(key.created_at_ms),
    }


@command.command(
    "create",
    epilog=examples(
        "key create --account 'Amina Foods' --mode live --permissions all",
        "key create --account 'Amina Foods' --mode sandbox --permissions sms.send,sms.read"
        " --expires 90d",
    ),
)
@account_option
@click.option(
    "--name",
    type=checked_values.KEY_NAME,
    metavar="TEXT",
    help="To tell keys apart. Default: the mode.",
)
@click.option(
    "--mode",
    required=True,
    type=click.Choice(["live", "sandbox"]),
    help="With a sandbox key nothing is charged or really sent.",
)
@click.option(
    "--tier",
    default="standard",
    show_default=True,
    metavar="TIER",
    help="Its rate limit. You may also choose a tier above the account's highest.",
)
@click.option(
    "--permissions",
    required=True,
    type=checked_values.PERMISSIONS,
    metavar="all|a,b",
    help="What the key may do, such as sms.send,wallet.read.",
)
@click.option(
    "--expires",
    type=Moment(),
    metavar="T",
    help="When it expires: a time, or 90d, 12h from now on. Default: never.",
)
def create(
    run: CommandRun,
    account: str,
    name: str | None,
    mode: str,
    tier: str,
    permissions: str,
    expires: int | None,
) -> None:
    """Create a key and show it. It is shown only once."""
    from heliograph import accounts, keys
    from heliograph.base import clock

    with run.write() as tx:
        keys.tier_named(tx, tier)
        issued = keys.issue(
            tx,
            accounts.find(tx, account).id,
            name=name or mode,
            sandbox=mode == "sandbox",
            tier=tier,
            permissions=keys.parse_permissions(permissions),
            expires_at_ms=expires,
            now_ms=clock.now_ms(),
        )
        record = _record(tx, issued.record)
    show(
        run,
        {"id": record.pop("id"), "key": issued.key, **record},
        note="Keep the key now: it cannot be shown again.",
    )


@command.command("list", epilog=examples("key list", "key list --account 'Amina Foods' --json"))
@click.option("--account", metavar="ACC", help="Show only keys of this account.")
@page_options
def list_(run: CommandRun, account: str | None, limit: int, before: str | None) -> None:
    """List keys, newest first; revoked and expired ones too."""
    from heliograph import accounts, keys

    with run.read() as tx:
        account_id = accounts.find(tx, account).id if account is not None else None
        before_id = keys.find(tx, before).id if before is not None else None
        records = [
            _record(tx, key)
            for key in keys.page(tx, limit=limit, account_id=account_id, before_id=before_id)
        ]
    show_list(
        run,
        records,
        ("id", "account_id", "name", "prefix", "tier", "last_used_at", "expires_at", "revoked_at"),
        limit=limit,
    )


@command.command("revoke", epilog=examples("key revoke key_01k5…"))
@click.argument("key_id", metavar="ID")
def revoke(run: CommandRun, key_id: str) -> None:
    """Revoke a key. Within a second it is refused everywhere."""
    from heliograph import keys
    from heliograph.base import clock

    with run.write() as tx:
        record = _record(tx, keys.revoke(tx, keys.find(tx, key_id).id, now_ms=clock.now_ms()))
    show(run, record)
