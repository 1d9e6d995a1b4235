"""Defines the commands `heliograph account …`."""

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from heliograph.cli import checked_values
from heliograph.cli.accounts.account_output import full_record, listed_record
from heliograph.cli.accounts.account_status import close, go_live, pay_out, resume, suspend
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.failure import Failure
from heliograph.cli.output import show, show_list
from heliograph.cli.values import (
    LISTED_MAX,
    Money,
    OrWord,
    WholeNumber,
    given_options,
    page_options,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.accounts.unique_name import NameTaken


command = Noun(
    "account",
    help=(
        "Accounts: the tenants, each with its own keys, wallet and senders. ACC is an id or a"
        " unique name."
    ),
)
for status_command in (suspend, resume, go_live, pay_out, close):
    command.add_command(status_command)


def _require_unique(
    tx: "Connection", name: str, *, same_name: bool, besides: str | None = None
) -> None:
    """Raises Failure when another account than `besides` has this name, unless that is allowed."""
    from heliograph.accounts import unique_name

    if same_name:
        return
    try:
        unique_name.require_unique_name(tx, name, besides=besides)
    except unique_name.NameTaken as taken:
        raise _taken(taken) from taken


def _taken(taken: "NameTaken") -> Failure:
    from heliograph import accounts

    return Failure(
        f"There is already an account of this name, {accounts.text_id(taken.namesake)}. With"
        " --same-name you make another one; commands then need an id instead of the name."
    )


def _same_name_option(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the option --same-name."""
    return click.option(
        "--same-name",
        is_flag=True,
        help="Allow a name that another account has. Commands then need an id.",
    )(command)


@command.command(
    "create",
    making="in empty directory",
    epilog=examples(
        "account create 'Amina Foods' --country GH --currency GHS --credits 1000",
        "account create test --country KE --currency KES --balance 250.50 --json",
    ),
)
@click.argument("name")
@click.option(
    "--country", required=True, metavar="GH", help="The account's country, in two letters."
)
@click.option(
    "--currency",
    required=True,
    metavar="GHS",
    help="The currency of its wallet, in three letters. It cannot be changed later.",
)
@click.option(
    "--credits",
    "opening_credits",
    type=WholeNumber(0),
    default=0,
    metavar="N",
    help="SMS credits to begin with.",
)
@click.option(
    "--balance",
    "opening_balance",
    type=Money(0),
    default=Decimal(0),
    metavar="X",
    help="Money to begin with.",
)
@click.option(
    "--daily-credits",
    type=OrWord(WholeNumber(0), "none"),
    metavar="N|none",
    help="The most SMS credits that it may spend a day (UTC). Default: 10000.",
)
@_same_name_option
def create(
    run: CommandRun,
    name: str,
    country: str,
    currency: str,
    opening_credits: int,
    opening_balance: Decimal,
    daily_credits: Any,
    same_name: bool,
) -> None:
    """Create an account with its wallet."""
    from heliograph.accounts import account_fields, unique_name
    from heliograph.base import clock
    from heliograph.jobs.open_account import NewAccount, open_account
    from heliograph.wallet import money

    # before a database is made
    name, country = (
        account_fields.read_name("name", name),
        account_fields.known_country("country_code", country),
    )
    currency = money.currency(currency)
    wanted = NewAccount(
        name,
        country,
        currency,
        opening_credits,
        money.to_minor(opening_balance, currency, field="balance"),
        **given_options(daily_credits=daily_credits),
    )
    with run.write() as tx:
        try:
            account = open_account(
                tx, wanted, is_same_name_allowed=same_name, now_ms=clock.now_ms()
            )
        except unique_name.NameTaken as taken:
            raise _taken(taken) from taken
        record = full_record(tx, account)
    show(run, record)


@command.command(
    "list",
    epilog=examples(
        "account list",
        "account list --limit 1000 --json",
        "account list --customers-of 'Amina Foods'",
        "account list --find amina@example.com",
    ),
)
@click.option("--customers-of", metavar="ACC", help="Show only this partner's Connect customers.")
@click.option(
    "--find",
    "looked_for",
    metavar="TEXT",
    help=(
        "Show only those with this in their name, and those that have this as id, member's address,"
        " sender ID, beginning of a key (12 characters), site or external_ref."
    ),
)
@page_options
def list_(
    run: CommandRun,
    customers_of: str | None,
    looked_for: str | None,
    limit: int,
    before: str | None,
) -> None:
    """List accounts, Connect customers among them, newest first."""
    from heliograph import accounts, wallet
    from heliograph.base.paging import PageWanted

    if customers_of is not None and looked_for is not None:
        raise click.UsageError("Give --customers-of or --find, not both.")
    with run.read() as tx:
        before_id = accounts.find(tx, before).id if before is not None else None
        parent_id = accounts.find(tx, customers_of).id if customers_of is not None else None
        if looked_for is not None:
            from heliograph.jobs import find_accounts  # it loads most rooms

            found = list(find_accounts.find(tx, looked_for.strip(), PageWanted(limit, before_id)))
        else:
            found = accounts.page(tx, limit=limit, parent_id=parent_id, before_id=before_id)
        wallets = wallet.wallets_of(tx, [account.id for account in found])
    records = [listed_record(account, wallets[account.id]) for account in found]
    when = ("closed_at",) if any(record["closed_at"] for record in records) else ()
    show_list(
        run,
        records,
        (
            "id",
            "name",
            "country_code",
            "status",
            *when,
            "sms_credits",
            "wallet balance",
            "wallet currency",
        ),
        limit=limit,
    )


@command.command("show", epilog=examples("account show 'Amina Foods'"))
@click.argument("acc")
def show_(run: CommandRun, acc: str) -> None:
    """Show one account with its wallet."""
    from heliograph import accounts

    with run.read() as tx:
        record = full_record(tx, accounts.find(tx, acc))
    show(run, record)


@command.command("rename", epilog=examples("account rename 'Amina Foods' 'Amina Foods Ltd'"))
@click.argument("acc")
@click.argument("name", type=checked_values.ACCOUNT_NAME)
@_same_name_option
def rename(run: CommandRun, acc: str, name: str, same_name: bool) -> None:
    """Give an account another name. Its id, keys, senders and messages stay as they are."""
    from heliograph import accounts

    with run.write() as tx:
        account = accounts.find(tx, acc)
        _require_unique(tx, name, same_name=same_name, besides=account.id)
        record = full_record(tx, accounts.rename(tx, account.id, name))
    show(run, record)


@command.command(
    "set",
    epilog=examples(
        "account set 'Amina Foods' --max-tier enterprise --countries GH,NG",
        "account set 'Amina Foods' --daily-credits none",
        "account set 'Amina Foods' --transactional yes",
    ),
)
@click.argument("acc")
@click.option("--max-tier", metavar="TIER", help="The highest tier that its users may give a key.")
@click.option(
    "--countries",
    type=OrWord(checked_values.COUNTRIES, "all"),
    metavar="GH,NG|all",
    help="The only countries that it may send to.",
)
@click.option(
    "--daily-credits",
    type=OrWord(WholeNumber(0), "none"),
    metavar="N|none",
    help="The most SMS credits that it may spend a day (UTC).",
)
@click.option(
    "--otp-unverified",
    type=OrWord(WholeNumber(1), "default"),
    metavar="N|default",
    help=(
        "How many one-time passwords may stay unverified in any hour, whatever was sent "
        "before. Default: 100."
    ),
)
@click.option(
    "--transactional",
    type=click.Choice(["yes", "no"]),
    help=(
        "Whether it may send texts that also reach people who have opted out (transactional: true)."
    ),
)
@click.option(
    "--low-balance",
    type=OrWord(WholeNumber(0), "none"),
    metavar="N|none",
    help="The event wallet.low_balance is sent below this many SMS credits.",
)
@click.option(
    "--low-balance-amount",
    type=OrWord(Money(), "none"),
    metavar="X|none",
    help="The event wallet.low_balance is sent below this much money.",
)
@click.option(
    "--time-zone",
    type=checked_values.TIME_ZONE,
    metavar="ZONE",
    help="The time zone of its pages and schedules, such as Africa/Accra.",
)
def set_(run: CommandRun, acc: str, **options: Any) -> None:
    """Set what an account may do, and when it is warned."""
    from heliograph import accounts, keys, wallet
    from heliograph.wallet import money

    changes = given_options(**options)
    if not changes:
        raise click.UsageError("Say what to set: give at least one option.")
    with run.write() as tx:
        if "max_tier" in changes:
            keys.tier_named(tx, changes["max_tier"])
        account = accounts.find(tx, acc)
        if "transactional" in changes:
            changes["transactional"] = changes["transactional"] == "yes"
        if changes.get("countries") is not None:
            changes["countries"] = changes["countries"].split(",")
        of_wallet = {
            name: changes.pop(name)
            for name in ("low_balance", "low_balance_amount")
            if name in changes
        }
        # before its wallet: one order of locks
        account = accounts.change(tx, account.id, **changes)
        if of_wallet:
            known = wallet.wallet_of(tx, account.id)
            amount = of_wallet.get("low_balance_amount", known.low_balance_amount_minor)
            if isinstance(amount, Decimal):
                amount = money.to_minor(amount, known.currency, field="low_balance_amount")
            wallet.set_low_balance(
                tx,
                account.id,
                wallet.Thresholds(of_wallet.get("low_balance", known.low_balance_credits), amount),
            )
        record = full_record(tx, account)
    show(run, record)


@command.command(
    "notices",
    epilog=examples(
        "account notices 'Amina Foods'", "account notices 'Amina Foods' --limit 10 --json"
    ),
)
@click.argument("acc")
@click.option(
    "--limit",
    type=WholeNumber(1, LISTED_MAX),
    default=100,
    show_default=True,
    help="The most to show, newest first.",
)
def notices(run: CommandRun, acc: str, limit: int) -> None:
    """List the notices for an account's users, newest first. A notice says, for example, that a
    webhook endpoint was disabled.
    """
    from heliograph import accounts
    from heliograph.accounts.notices import of_account
    from heliograph.base.clock import rfc3339

    with run.read() as tx:
        account = accounts.find(tx, acc)
        found = of_account(tx, account.id, limit)
    records = [
        {
            "account_id": accounts.text_id(account),
            "kind": notice.kind,
            "text": notice.text,
            "created_at": rfc3339(notice.created_at_ms),
        }
        for notice in found
    ]
    show_list(run, records, ("created_at", "kind", "text"))
