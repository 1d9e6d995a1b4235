"""Defines the commands `heliograph campaign …`."""

from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli import checked_values
from heliograph.cli.accounts.campaign_create import create
from heliograph.cli.accounts.campaign_output import (
    full_record,
    print_unfilled,
    quote_record,
    show_campaign,
)
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.progress import progress
from heliograph.cli.values import (
    country_code,
    page_options,
)

if TYPE_CHECKING:
    from heliograph.database.database import Database
    from heliograph.text import Phone

STATUSES = ("draft", "scheduled", "sending", "paused", "completed", "canceled", "failed")
# of the answer to a send
_SHOWN_OF_TEST: Final = (
    "status",
    "encoding",
    "segments",
    "credits_used",
    "credits_remaining",
    "sandbox",
)

command = Noun(
    "campaign",
    help="Campaigns: one text for many recipients, which is stored, priced, and sent in parts.",
)
command.add_command(create)
as_far_option = click.option(
    "--as-far-as-credits-reach/--no-as-far-as-credits-reach",
    "as_far",
    default=None,
    help=(
        "Launch it even if there are not enough credits for all recipients: it pauses when they"
        " are spent, and continues after a top-up. Default: what was set when it was scheduled;"
        " otherwise no."
    ),
)


@command.command(
    "list",
    epilog=examples(
        "campaign list", "campaign list --account 'Amina Foods' --status sending --json"
    ),
)
@click.option("--account", "acc", metavar="ACC", help="Show only campaigns of this account.")
@click.option("--status", type=click.Choice(STATUSES), help="Show only campaigns in this state.")
@page_options
def list_(
    run: CommandRun, acc: str | None, status: str | None, limit: int, before: str | None
) -> None:
    """List campaigns, newest first."""
    from heliograph import accounts, campaigns

    with run.read() as tx:
        account_id = accounts.find(tx, acc).id if acc is not None else None
        before_id = campaigns.find(tx, before).id if before is not None else None
        found = campaigns.page(
            tx, limit=limit, account_id=account_id, status=status, before_id=before_id
        )
        records = [full_record(tx, campaign) for campaign in found]
    show_list(
        run,
        records,
        ("id", "name", "status", "status_reason", "recipients_total", "sandbox", "created_at"),
        limit=limit,
    )


@command.command("show", epilog=examples("campaign show cmp_01m7xjf7d0e0096sn80kyqrthc"))
@click.argument("campaign_id", metavar="ID")
def show_(run: CommandRun, campaign_id: str) -> None:
    """Show a campaign's progress and results. The results are those of its messages. Who was left
    out is shown, too.
    """
    from heliograph import campaigns

    with run.read() as tx:
        campaign = campaigns.find(tx, campaign_id)
    show_campaign(run, campaign)


@command.command("estimate", epilog=examples("campaign estimate cmp_01m7xjf7d0e0096sn80kyqrthc"))
@click.argument("campaign_id", metavar="ID")
def estimate(run: CommandRun, campaign_id: str) -> None:
    """Show what a campaign would cost now. The command also shows which contacts it would not
    reach. Nothing is stored.
    """
    from heliograph import campaigns
    from heliograph.campaigns import previews

    with run.read() as tx:
        campaign = campaigns.find(tx, campaign_id)
    with progress("Looking at the audience", lambda: _size(run, campaign)) as tell:
        quote = campaigns.estimate(run.database, campaign, tell)
    print_unfilled(previews.unfilled_of(quote))
    show(run, {"id": campaign_id, **quote_record(quote)})


@command.command(
    "test", epilog=examples("campaign test cmp_01m7xjf7d0e0096sn80kyqrthc --to 233201234567")
)
@click.argument("campaign_id", metavar="ID")
@click.option(
    "--to",
    required=True,
    metavar="PHONE",
    help="A number such as your own. The message is charged like any other.",
)
@click.option(
    "--country",
    metavar="GH",
    help=(
        "Read PHONE as it is dialled in this country. Default: a number with a leading 0 is of the"
        " account's country."
    ),
)
def test(run: CommandRun, campaign_id: str, to: str, country: str | None) -> None:
    """Send a campaign's text once, as an ordinary message. The text is filled in for PHONE, if that
    is a contact or one of the campaign's numbers, and else for the first of the audience.

    It is also sent to a number that has opted out, because you have named it. In this case the
    command says so.
    """
    from heliograph import accounts, campaigns, contacts
    from heliograph.campaigns import previews
    from heliograph.messages.accept import response_of_send

    code = country_code(country)
    _read_phone(to, code, checked_values.home_country_of_phone(to))
    with run.read() as tx:
        campaign = campaigns.find(tx, campaign_id)
        phone = _read_phone(to, code, accounts.by_id(tx, campaign.account_id).country_code)
        text = previews.sample(tx, campaign, int(phone.digits))
        known = contacts.by_phone(
            tx, contacts.ContactOwner(campaign.account_id, campaign.sandbox), phone.digits
        )
    body = {
        "sender": campaign.sender,
        "message": text,
        "recipients": [phone.digits],
        "validity_s": campaign.validity_s,
        "reference": campaign_id,
    }
    send = run.run_hot(lambda db: _send(db, campaign.account_id, body, sandbox=campaign.sandbox))
    answer = response_of_send(send, dry_run=False)
    opted_out = known is not None and known.opted_out
    if opted_out:
        click.echo(
            f"heliograph: {phone.digits} has opted out; the campaign itself will leave it out.",
            err=True,
        )
    details = {name: answer[name] for name in _SHOWN_OF_TEST}
    show(
        run,
        {"message_id": answer["message_id"], "message": text, "opted_out": opted_out, **details},
    )


def _read_phone(to: str, country: str | None, home_country: str | None) -> "Phone":
    """Returns the phone of --to, read as it is dialled in `country`, else in `home_country`. Raises
    BadParameter.
    """
    from heliograph.text import parse_phone

    phone = parse_phone(to, country, home_country)
    if phone is None:
        raise click.BadParameter(
            f"{to!r} is not a number in international form, such as 233201234567; with --country"
            " GH, say, it may be written as it is dialled there.",
            param_hint="--to",
        )
    return phone


async def _send(db: "Database", account_id: str, body: dict[str, Any], *, sandbox: bool) -> Any:
    """Accepts the text in this process. The carriers of other processes look for it every 250
    ms.
    """
    from heliograph.base import ids
    from heliograph.database.cache import ConfigCache
    from heliograph.messages.accept import Acceptor, read_send_request
    from heliograph.messages.queue import FairQueue

    cache = ConfigCache(db)
    await cache.refresh()
    acceptor = Acceptor(db, cache, lambda carriers: None, FairQueue())
    request = read_send_request(body, ids.new_number(), account_id, sandbox=sandbox)
    request.passes_opt_outs = True  # whoever tests a text on a handset asks for it
    return (await acceptor.accept(request)).send


@command.command(
    "schedule",
    epilog=examples("campaign schedule cmp_01m7xjf7d0e0096sn80kyqrthc --at 2027-01-31T09:30"),
)
@click.argument("campaign_id", metavar="ID")
@click.option(
    "--at",
    required=True,
    type=checked_values.WHEN,
    metavar="TIME",
    help="Such as 2027-01-31T09:30 in the account's time zone; or with an offset, such as +01:00.",
)
@as_far_option
def schedule(run: CommandRun, campaign_id: str, at: str, as_far: bool | None) -> None:
    """Let a campaign start by itself at a set time. Its audience is chosen at that time. Schedule
    it again to change the time.
    """
    from heliograph import accounts, campaigns
    from heliograph.base import clock

    with run.write() as tx:
        campaign = campaigns.find(tx, campaign_id)
        when = campaigns.read_start_time(
            at, accounts.by_id(tx, campaign.account_id).time_zone, clock.now_ms()
        )
        campaign = campaigns.schedule(tx, campaign.id, when.at_ms, as_far_as_credits_reach=as_far)
    if when.note is not None:
        click.echo(f"heliograph: {when.note}", err=True)
    show_campaign(run, campaign)


@command.command(
    "launch",
    epilog=examples(
        "campaign launch cmp_01m7xjf7d0e0096sn80kyqrthc",
        "campaign launch cmp_01m7xjf7d0e0096sn80kyqrthc --as-far-as-credits-reach",
    ),
)
@click.argument("campaign_id", metavar="ID")
@as_far_option
def launch(run: CommandRun, campaign_id: str, as_far: bool | None) -> None:
    """Freeze a campaign's audience, price it, and let it be sent. It is refused if there are not
    enough credits for all recipients.
    """
    from heliograph import campaigns
    from heliograph.campaigns import previews

    with run.read() as tx:
        campaign = campaigns.find(tx, campaign_id)
    with progress("Freezing the audience", lambda: _size(run, campaign)) as tell:
        launched = campaigns.launch(
            run.database, campaign.id, as_far_as_credits_reach=as_far, tell=tell
        )
    print_unfilled(previews.unfilled_of(launched.quote))
    show_campaign(run, launched.campaign, quote=quote_record(launched.quote))


def _size(run: CommandRun, campaign: Any) -> int:
    from heliograph import campaigns

    with run.read() as tx:
        return campaigns.audience_size(tx, campaign)


@command.command("pause", epilog=examples("campaign pause cmp_01m7xjf7d0e0096sn80kyqrthc"))
@click.argument("campaign_id", metavar="ID")
def pause(run: CommandRun, campaign_id: str) -> None:
    """Hold a campaign's queued messages until it is resumed."""
    from heliograph import campaigns

    with run.write() as tx:
        campaign = campaigns.pause(tx, campaigns.find(tx, campaign_id).id)
    show_campaign(run, campaign)


@command.command("resume", epilog=examples("campaign resume cmp_01m7xjf7d0e0096sn80kyqrthc"))
@click.argument("campaign_id", metavar="ID")
def resume(run: CommandRun, campaign_id: str) -> None:
    """Continue a paused campaign. One that lacks credits continues by itself after a top-up."""
    from heliograph import campaigns

    with run.write() as tx:
        campaign = campaigns.resume(tx, campaigns.find(tx, campaign_id).id)
    show_campaign(run, campaign)


@command.command("cancel", epilog=examples("campaign cancel cmp_01m7xjf7d0e0096sn80kyqrthc"))
@click.argument("campaign_id", metavar="ID")
def cancel(run: CommandRun, campaign_id: str) -> None:
    """End a campaign for good. Its queued messages fail, and are refunded; what a carrier already
    has cannot be taken back.
    """
    from heliograph import campaigns
    from heliograph.base import clock

    with run.write() as tx:
        campaign = campaigns.cancel(tx, campaigns.find(tx, campaign_id).id, now_ms=clock.now_ms())
    show_campaign(run, campaign)
