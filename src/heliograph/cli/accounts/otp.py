"""Defines the commands `heliograph otp …`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import LISTED_MAX, WholeNumber

if TYPE_CHECKING:
    from heliograph.otp import BlockedRange, CappedTally

command = Noun(
    "otp",
    help="One-time passwords: where they are refused because too many were sent and not verified.",
)
ALL: Final = "all"  # in place of a country: the account's, wherever they go


@command.command(
    "blocked", epilog=examples("otp blocked", "otp blocked --account 'Amina Foods' --json")
)
@click.option("--account", "acc", metavar="ACC", help="Show only what is blocked for this account.")
@click.option(
    "--limit",
    type=WholeNumber(1, LISTED_MAX),
    default=100,
    show_default=True,
    help="The most to show; those blocked last come first.",
)
def blocked(run: CommandRun, acc: str | None, limit: int) -> None:
    """List where one-time passwords are refused now.

    A range of numbers is blocked for 24 hours, or until one of its codes is verified. A country, or
    an account as a whole (all), is blocked while too many codes are unverified, compared with what
    its users have verified before.
    """
    from heliograph import accounts, otp
    from heliograph.base import clock

    now_ms = clock.now_ms()
    with run.read() as tx:
        account_id = accounts.find(tx, acc).id if acc is not None else None
        ranges = otp.find_blocked(tx, now_ms, limit=limit, account_id=account_id)
        tallies = otp.find_capped(tx, now_ms, limit=limit, account_id=account_id)
        names = {
            account_id: accounts.text_id(accounts.by_id(tx, account_id))
            for account_id in {
                *(each.account_id for each in ranges),
                *(each.key.account_id for each in tallies),
            }
        }
    records = [
        *(_of_range(each, names) for each in ranges),
        *(_of_tally(each, names) for each in tallies),
    ]
    records.sort(key=lambda record: str(record["blocked_at"]), reverse=True)
    show_list(
        run, records[:limit], ("account_id", "range", "country", "sends", "blocked_at", "until")
    )


def _of_range(each: "BlockedRange", names: Mapping[str, str]) -> dict[str, Any]:
    from heliograph.base.clock import rfc3339

    return {
        "account_id": names[each.account_id],
        "range": each.digits,
        "country": None,
        "sends": each.sends,
        "blocked_at": rfc3339(each.blocked_at_ms),
        "until": rfc3339(each.until_ms),
    }


def _of_tally(each: "CappedTally", names: Mapping[str, str]) -> dict[str, Any]:
    from heliograph import otp
    from heliograph.base.clock import rfc3339

    account_id, country_code = each.key
    return {
        "account_id": names[account_id],
        "range": None,
        "country": ALL if country_code == otp.ALL_COUNTRIES else country_code,
        "sends": each.unverified,
        "blocked_at": rfc3339(each.capped_at_ms),
        "until": rfc3339(each.until_ms),
    }


@command.command("block", epilog=examples("otp block 23320123 --account 'Amina Foods'"))
@click.argument("digits", metavar="RANGE")
@click.option(
    "--account", "acc", required=True, metavar="ACC", help="The account whose sends are blocked."
)
def block(run: CommandRun, digits: str, acc: str) -> None:
    """Block one-time passwords to a range of numbers. RANGE is the first eight digits of these
    numbers.

    Like a block that the service makes by itself, it ends after 24 hours, or when a code of the
    range is verified.
    """
    from heliograph import accounts, otp
    from heliograph.base import clock

    with run.write() as tx:
        account = accounts.find(tx, acc)
        made = otp.block(tx, account.id, digits, clock.now_ms())
    show(run, _of_range(made, {account.id: accounts.text_id(account)}))


@command.command(
    "unblock",
    epilog=examples(
        "otp unblock 23320123 --account 'Amina Foods'",
        "otp unblock GH --account 'Amina Foods'",
        "otp unblock all --account 'Amina Foods'",
    ),
)
@click.argument("where", metavar="RANGE|COUNTRY|all")
@click.option(
    "--account", "acc", required=True, metavar="ACC", help="The account whose sends are blocked."
)
def unblock(run: CommandRun, where: str, acc: str) -> None:
    """Let one-time passwords go out again. Name what was blocked: a range of numbers, a country, or
    all for the account as a whole. Counting starts again from zero.
    """
    from heliograph import accounts, otp
    from heliograph.base import clock
    from heliograph.text import country

    is_range = where.isascii() and where.isdigit()
    if not is_range and where != ALL and country(where) is None:
        raise click.BadParameter(
            f"{where!r} is neither a range of digits, nor a country such as GH, nor {ALL}.",
            param_hint="RANGE|COUNTRY|all",
        )
    with run.write() as tx:
        account = accounts.find(tx, acc)
        if is_range:
            otp.unblock(tx, account.id, where, clock.now_ms())
        else:
            otp.lift_cap(
                tx, account.id, otp.ALL_COUNTRIES if where == ALL else where.upper(), clock.now_ms()
            )
    place = where if is_range or where == ALL else where.upper()
    show(
        run,
        {
            "account_id": accounts.text_id(account),
            "range" if is_range else "country": place,
            "unblocked": True,
        },
    )
