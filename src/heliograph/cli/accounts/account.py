"""`heliograph account …`."""

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from heliograph.cli import checked_values
from heliograph.cli.command import Noun, Session, examples
from heliograph.cli.failure import Failure
from heliograph.cli.output import show, show_list
from heliograph.cli.values import (
    LISTED_MAX,
    Money,
    OrWord,
    Whole,
    by_option,
    entry_reason_option,
    given,
    page_options,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.accounts import Account
    from heliograph.wallet import Wallet

command = Noun(
    "account",
    help=(
        "Accounts: the tenants, each with its own keys, wallet and senders. ACC is an id or a"
        " unique name."
    ),
)


def _record(account: "Account", wallet: "Wallet") -> dict[str, Any]:
    from heliograph.accounts import text_id, text_of_id
    from heliograph.base.clock import rfc3339, rfc3339_or_none
    from heliograph.wallet import to_number

    low_minor = wallet.low_balance_amount_minor
    return {
        "id": text_id(account),
        "partner_id": account.parent_id and text_of_id(account.parent_id, is_customer=False),
        "name": account.name,
        "country_code": account.country_code,
        "status": account.shown_status,
        "wallet": {
            "balance": to_number(wallet.shown.balance_minor, wallet.currency),
            "currency": wallet.currency,
        },
        "sms_credits": wallet.shown.sms_credits,
        "sandbox": account.sandbox,
        "low_balance_credits": wallet.low_balance_credits,
        "low_balance_amount": None if low_minor is None else to_number(low_minor, wallet.currency),
        "max_tier": account.max_tier,
        "countries": account.countries,
        "daily_credits": account.daily_credits,
        "otp_unverified": account.otp_unverified,
        "time_zone": account.time_zone,
        "created_at": rfc3339(account.created_at_ms),
        "closed_at": rfc3339_or_none(account.closed_at_ms),
    }


def _found(tx: "Connection", account: "Account") -> dict[str, Any]:
    from heliograph.accounts import last_status
    from heliograph.base.clock import rfc3339
    from heliograph.wallet import wallet_of

    last = last_status(tx, account.id)
    why = {
        "status_reason": last and last.reason,
        "status_by": last and last.by,
        "status_since": rfc3339(last.at_ms) if last else None,
    }
    return _record(account, wallet_of(tx, account.id)) | why


def _change_status(session: Session, acc: str, status: str, reason: str | None, by: str) -> None:
    from heliograph import accounts
    from heliograph.base import clock

    with session.write() as tx:
        account = accounts.find(tx, acc)
        change = accounts.suspend if status == "suspended" else accounts.resume
        account = change(tx, account.id)
        accounts.record_status(
            tx, account.id, accounts.StatusChange(status, reason, by, clock.now_ms())
        )
        record = _found(tx, account)
    show(session, record)


def _why_options(command: Callable[..., None]) -> Callable[..., None]:
    """--reason and --by of a change of status."""
    return click.option(
        "--reason",
        type=checked_values.STATUS_REASON,
        metavar="TEXT",
        help="Kept with the account, for operators only.",
    )(by_option(command))


def _require_unique(
    tx: "Connection", name: str, *, same_name: bool, besides: str | None = None
) -> None:
    """Raises Failure when another account than `besides` has this name, for commands take
    a name that is unique.
    """
    from heliograph import accounts

    namesakes = [
        account
        for account in accounts.named(tx, accounts.account_name("name", name))
        if account.id != besides
    ]
    if namesakes and not same_name:
        raise Failure(
            f"There is an account of this name already, {accounts.text_id(namesakes[0])}. With"
            " --same-name there are two, which commands tell apart by their ids only."
        )


def _same_name_option(command: Callable[..., None]) -> Callable[..., None]:
    """--same-name"""
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
@click.option("--country", required=True, metavar="GH", help="Where it is, in two letters.")
@click.option(
    "--currency", required=True, metavar="GHS", help="Of its wallet, in three letters; for good."
)
@click.option(
    "--credits",
    "opening_credits",
    type=Whole(0),
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
    type=OrWord(Whole(0), "none"),
    metavar="N|none",
    help="The most SMS credits that it may spend a day (UTC). Default: 10000.",
)
@_same_name_option
def create(
    session: Session,
    name: str,
    country: str,
    currency: str,
    opening_credits: int,
    opening_balance: Decimal,
    daily_credits: Any,
    same_name: bool,
) -> None:
    """Create an account with its wallet."""
    from heliograph import accounts, wallet
    from heliograph.base import clock

    # before a database is made
    name, country = (
        accounts.account_name("name", name),
        accounts.known_country("country_code", country),
    )
    currency = wallet.currency(currency)
    now_ms = clock.now_ms()
    with session.write() as tx:
        _require_unique(tx, name, same_name=same_name)
        account = accounts.create(
            tx, name, country, now_ms=now_ms, **given(daily_credits=daily_credits)
        )
        wallet.open_wallet(tx, account.id, currency)
        if opening_credits:
            wallet.grant(tx, account.id, opening_credits, "Opening credits", now_ms=now_ms)
        if opening_balance:
            wallet.topup(tx, account.id, opening_balance, "Opening balance", now_ms=now_ms)
        record = _found(tx, account)
    show(session, record)


@command.command(
    "list",
    epilog=examples(
        "account list",
        "account list --limit 1000 --json",
        "account list --customers-of 'Amina Foods'",
    ),
)
@click.option("--customers-of", metavar="ACC", help="Only this partner's Connect customers.")
@page_options
def list_(session: Session, customers_of: str | None, limit: int, before: str | None) -> None:
    """List accounts, Connect customers among them, newest first."""
    from heliograph import accounts, wallet

    with session.read() as tx:
        before_id = accounts.find(tx, before).id if before is not None else None
        parent_id = accounts.find(tx, customers_of).id if customers_of is not None else None
        found = accounts.page(tx, limit=limit, parent_id=parent_id, before_id=before_id)
        wallets = wallet.wallets_of(tx, [account.id for account in found])
    records = [_record(account, wallets[account.id]) for account in found]
    when = ("closed_at",) if any(record["closed_at"] for record in records) else ()
    show_list(
        session,
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
def show_(session: Session, acc: str) -> None:
    """Show one account with its wallet."""
    from heliograph import accounts

    with session.read() as tx:
        record = _found(tx, accounts.find(tx, acc))
    show(session, record)


@command.command("rename", epilog=examples("account rename 'Amina Foods' 'Amina Foods Ltd'"))
@click.argument("acc")
@click.argument("name", type=checked_values.ACCOUNT_NAME)
@_same_name_option
def rename(session: Session, acc: str, name: str, same_name: bool) -> None:
    """Give an account another name. Its id, keys, senders and messages stay as they are."""
    from heliograph import accounts

    with session.write() as tx:
        account = accounts.find(tx, acc)
        _require_unique(tx, name, same_name=same_name, besides=account.id)
        record = _found(tx, accounts.rename(tx, account.id, name))
    show(session, record)


@command.command(
    "suspend", epilog=examples("account suspend 'Amina Foods' --reason 'invoice 17 is not paid'")
)
@click.argument("acc")
@_why_options
def suspend(session: Session, acc: str, reason: str | None, by: str) -> None:
    """Suspend an account and its customers. They can read, and change and send nothing; what is
    queued still goes out.

    Who did it, when and why is kept: `heliograph account show` shows the last change.
    """
    _change_status(session, acc, "suspended", reason, by)


@command.command("resume", epilog=examples("account resume 'Amina Foods' --reason 'paid'"))
@click.argument("acc")
@_why_options
def resume(session: Session, acc: str, reason: str | None, by: str) -> None:
    """Lift the suspension of an account."""
    _change_status(session, acc, "active", reason, by)


@command.command(
    "pay-out",
    epilog=examples("account pay-out 'Amina Foods' --reason 'paid by bank transfer bt-120'"),
)
@click.argument("acc")
@entry_reason_option
def pay_out(session: Session, acc: str, reason: str) -> None:
    """Take all credits and money out of an account's wallet, by ledger entries; of a Connect
    customer to its partner's wallet.

    Otherwise the credits go back to where granted ones come from, and the money is written off as
    paid: it is you who pays it. Money in another currency than the partner's cannot go to it, and
    is written off too.
    """
    from heliograph import accounts
    from heliograph.jobs import close_account as closing
    from heliograph.wallet import as_record

    with session.write() as tx:
        entries = closing.pay_out(tx, accounts.find(tx, acc), reason)
    show_list(
        session,
        [as_record(entry) for entry in entries],
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


@command.command("close", epilog=examples("account close 'Amina Foods' --reason 'contract ended'"))
@click.argument("acc")
@_why_options
def close(session: Session, acc: str, reason: str | None, by: str) -> None:
    """Close an account for good. Its keys are revoked, its webhook endpoints are disabled, and it
    is not opened again; its records stay.

    Refused while anything is owed: credits or money in its wallet, messages on their way or in
    doubt, campaigns that have not ended, webhook events that wait, Connect customers that are open.
    All of it is told at once, each with the command that settles it, in the order in which to run
    them.
    """
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.jobs import close_account as closing

    with session.write() as tx:
        account = closing.close(tx, accounts.find(tx, acc).id, reason, by, now_ms=clock.now_ms())
        record = _found(tx, account)
    show(session, record)


@command.command(
    "set",
    epilog=examples(
        "account set 'Amina Foods' --max-tier enterprise --countries GH,NG",
        "account set 'Amina Foods' --daily-credits none",
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
    type=OrWord(Whole(0), "none"),
    metavar="N|none",
    help="The most SMS credits that it may spend a day (UTC).",
)
@click.option(
    "--otp-unverified",
    type=OrWord(Whole(1), "default"),
    metavar="N|default",
    help=(
        "So many one-time passwords may stay unverified in any hour, whatever it has sent before."
        " Default: 100."
    ),
)
@click.option(
    "--low-balance",
    type=OrWord(Whole(0), "none"),
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
    help="For its pages and schedules, such as Africa/Accra.",
)
def set_(session: Session, acc: str, **options: Any) -> None:
    """Set what an account may do, and when it is warned."""
    from heliograph import accounts, keys, wallet

    changes = given(**options)
    if not changes:
        raise click.UsageError("Say what to set: give at least one option.")
    with session.write() as tx:
        if "max_tier" in changes:
            keys.tier_named(tx, changes["max_tier"])
        account = accounts.find(tx, acc)
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
                amount = wallet.to_minor(amount, known.currency, field="low_balance_amount")
            wallet.set_low_balance(
                tx,
                account.id,
                wallet.Thresholds(of_wallet.get("low_balance", known.low_balance_credits), amount),
            )
        record = _found(tx, account)
    show(session, record)


@command.command(
    "notices",
    epilog=examples(
        "account notices 'Amina Foods'", "account notices 'Amina Foods' --limit 10 --json"
    ),
)
@click.argument("acc")
@click.option(
    "--limit",
    type=Whole(1, LISTED_MAX),
    default=100,
    show_default=True,
    help="The most to show, newest first.",
)
def notices(session: Session, acc: str, limit: int) -> None:
    """Show what an account's users are told of, newest first: such as a webhook endpoint that was
    disabled.
    """
    from heliograph import accounts
    from heliograph.base.clock import rfc3339

    with session.read() as tx:
        account = accounts.find(tx, acc)
        found = accounts.notices_of(tx, account.id, limit)
    records = [
        {
            "account_id": accounts.text_id(account),
            "kind": notice.kind,
            "text": notice.text,
            "created_at": rfc3339(notice.created_at_ms),
        }
        for notice in found
    ]
    show_list(session, records, ("created_at", "kind", "text"))
