"""`heliograph campaign …`."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli import checked_values
from heliograph.cli.accounts.campaign_output import (
    full_record,
    quoted,
    show_campaign,
    tell_bad_rows,
    tell_unfilled,
    unfilled_of,
)
from heliograph.cli.command import Noun, Session, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.progress import progress
from heliograph.cli.values import (
    Span,
    Whole,
    account_option,
    country_code,
    mode_option,
    page_options,
)

if TYPE_CHECKING:
    from heliograph.database.database import Database
    from heliograph.text import Phone

STATUSES = ("draft", "scheduled", "sending", "paused", "completed", "canceled", "failed")
TEXT_FILE_MAX = 1_000_000  # characters that are read of it; a text has 4,000 at most

command = Noun(
    "campaign", help="Campaigns: one text for many, written down, priced, and sent chunk by chunk."
)
as_far_option = click.option(
    "--as-far-as-credits-reach/--no-as-far-as-credits-reach",
    "as_far",
    default=None,
    help=(
        "Launch it even if the credits are too few for all: it pauses when they are spent, and goes"
        " on after a top-up. Default: as it was scheduled before, else not."
    ),
)


@command.command(
    "create",
    epilog=examples(
        "campaign create Spring --account 'Amina Foods' --sender AMINA --message 'Hi {name|friend},"
        " mangoes are back.' --all",
        "campaign create Owed --account 'Amina Foods' --sender AMINA --message '{name}, you owe"
        " {amount}.' --numbers owed.csv --country GH",
    ),
)
@click.argument("name")
@account_option
@click.option("--sender", required=True, help="An approved sender ID of the account.")
@click.option(
    "--message",
    metavar="TEXT",
    help=(
        "Placeholders: {name}, {phone}, a contact's custom fields or the file's columns;"
        " {name|friend} for those who have none. A brace is doubled: {{."
    ),
)
@click.option(
    "--message-file",
    type=click.File(encoding="utf-8-sig"),
    metavar="FILE",
    help="The text, from a file; - for standard input.",
)
@click.option("--all", "everybody", is_flag=True, help="To all contacts.")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="To contacts with this tag. Repeat it for contacts with any of several tags.",
)
@click.option(
    "--numbers",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="To the numbers of a file: one a line, or CSV.",
)
@click.option(
    "--country",
    metavar="GH",
    help=(
        "Read the file's numbers as they are dialled in this country. "
        "Default: a number with a leading 0 is of the account's country."
    ),
)
@mode_option("In sandbox nothing is really sent or charged, and contacts are separate.")
@click.option(
    "--validity",
    type=Span(),
    metavar="12h",
    help="Each message is tried so long, from 1m (60 seconds) to 2d (172800). Default: 1d.",
)
@click.option(
    "--rate",
    type=Whole(1),
    metavar="N",
    help="Messages a second at most. Default: as fast as carriers take them.",
)
def create(
    session: Session,
    name: str,
    account: str,
    sandbox: bool,
    numbers: Any,
    country: str | None,
    **asked: Any,
) -> None:
    """Write a campaign down. Nothing is sent before it is launched."""
    from heliograph import accounts, campaigns
    from heliograph.base import clock

    if country is not None and numbers is None:
        raise click.UsageError("--country is of the numbers of a file: give --numbers.")
    wish = campaigns.read_wish(_body(name, numbers is not None, **asked))
    with session.read() as tx:
        owner = accounts.find(tx, account)
    if numbers is None:
        with session.write() as tx:
            campaign = campaigns.create(tx, owner.id, wish, sandbox=sandbox, now_ms=clock.now_ms())
        with session.read() as tx:
            tell_unfilled(campaigns.unfilled(tx, campaign))
        return show_campaign(session, campaign)
    file = campaigns.Numbers(numbers, country_code(country), owner.country_code)
    with progress("Reading the numbers", lambda: _lines_of(numbers)) as tell:
        listed = campaigns.create_listed(
            session.database, owner.id, wish, file, sandbox=sandbox, tell=tell
        )
    tell_bad_rows(listed)
    return show_campaign(
        session,
        listed.campaign,
        file={
            "columns": list(file.columns),
            "rows": listed.rows,
            "recipients": listed.recipients,
            "duplicates": listed.duplicates,
            "bad": listed.bad,
            "without_value": listed.lacking,
            **({"bad_rows": [row._asdict() for row in listed.told]} if session.as_json else {}),
        },
    )


def _body(
    name: str,
    from_file: bool,
    *,
    sender: str,
    message: str | None,
    message_file: Any,
    everybody: bool,
    tags: tuple[str, ...],
    validity: int | None,
    rate: int | None,
) -> dict[str, Any]:
    """What `campaigns.read_wish` reads."""
    if (message is None) == (message_file is None):
        raise click.UsageError(
            f"Give the text{'' if message is None else ' once'}: --message or --message-file."
        )
    if (audiences := everybody + bool(tags) + from_file) != 1:
        raise click.UsageError(
            "Say whom it is for: one of --all, --tag and"
            f" --numbers{', not several' if audiences else ''}."
        )
    text = message if message is not None else _text_of(message_file)
    audience = "all" if everybody else "tags" if tags else "numbers"
    return {
        "name": name,
        "sender": sender,
        "message": text,
        "audience": audience,
        "tags": list(tags) or None,
        "rate": rate,
        "validity_s": None if validity is None else validity // 1_000,
    }


def _text_of(file: Any) -> str:
    """Without a byte order mark, and without the end of its last line."""
    from heliograph.base.errors import InvalidRequest

    try:
        return str(file.read(TEXT_FILE_MAX)).removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"--message-file is not UTF-8: the octet {error.object[error.start]:02X} cannot stand"
            " where it does."
        ) from error


def _lines_of(file: Any) -> int:
    """About how many, by its size."""
    import os

    return os.fstat(file.fileno()).st_size // 16 if file.seekable() else 0


@command.command(
    "list",
    epilog=examples(
        "campaign list", "campaign list --account 'Amina Foods' --status sending --json"
    ),
)
@click.option("--account", "acc", metavar="ACC", help="Only this account's.")
@click.option("--status", type=click.Choice(STATUSES), help="Only those in this state.")
@page_options
def list_(
    session: Session, acc: str | None, status: str | None, limit: int, before: str | None
) -> None:
    """List campaigns, newest first."""
    from heliograph import accounts, campaigns

    with session.read() as tx:
        account_id = accounts.find(tx, acc).id if acc is not None else None
        before_id = campaigns.find(tx, before).id if before is not None else None
        found = campaigns.page(
            tx, limit=limit, account_id=account_id, status=status, before_id=before_id
        )
        records = [full_record(tx, campaign) for campaign in found]
    show_list(
        session,
        records,
        ("id", "name", "status", "status_reason", "recipients_total", "sandbox", "created_at"),
        limit=limit,
    )


@command.command("show", epilog=examples("campaign show cmp_01m7xjf7d0e0096sn80kyqrthc"))
@click.argument("campaign_id", metavar="ID")
def show_(session: Session, campaign_id: str) -> None:
    """Show one campaign: how far it is, what became of its messages, and who was left out."""
    from heliograph import campaigns

    with session.read() as tx:
        campaign = campaigns.find(tx, campaign_id)
    show_campaign(session, campaign)


@command.command("estimate", epilog=examples("campaign estimate cmp_01m7xjf7d0e0096sn80kyqrthc"))
@click.argument("campaign_id", metavar="ID")
def estimate(session: Session, campaign_id: str) -> None:
    """Tell what a campaign would cost now, and whom it would not reach. Nothing is stored."""
    from heliograph import campaigns

    with session.read() as tx:
        campaign = campaigns.find(tx, campaign_id)
    with progress("Looking at the audience", lambda: _size(session, campaign)) as tell:
        quote = campaigns.estimate(session.database, campaign, tell)
    tell_unfilled(unfilled_of(quote))
    show(session, {"id": campaign_id, **quoted(quote)})


@command.command(
    "test", epilog=examples("campaign test cmp_01m7xjf7d0e0096sn80kyqrthc --to 233201234567")
)
@click.argument("campaign_id", metavar="ID")
@click.option(
    "--to", required=True, metavar="PHONE", help="Your own, say: it is charged as any message."
)
@click.option(
    "--country",
    metavar="GH",
    help=(
        "Read PHONE as it is dialled in this country. Default: a number with a leading 0 is of the"
        " account's country."
    ),
)
def test(session: Session, campaign_id: str, to: str, country: str | None) -> None:
    """Send a campaign's text once, as an ordinary message: as PHONE would get it, or else as the
    first of its audience would.

    It is sent to a number that has opted out, too, for you have named it; that is told.
    """
    from heliograph import accounts, campaigns, contacts
    from heliograph.messages import send_answer
    from heliograph.text import parse_phone

    code = country_code(country)

    def read(home: str | None) -> "Phone":
        phone = parse_phone(to, code, home)
        if phone is None:
            raise click.BadParameter(
                f"{to!r} is no number in international form, such as 233201234567; with --country"
                " GH, say, it may be written as it is dialled there.",
                param_hint="--to",
            )
        return phone

    read(checked_values.home_of_phone(to))
    with session.read() as tx:
        campaign = campaigns.find(tx, campaign_id)
        phone = read(accounts.by_id(tx, campaign.account_id).country_code)
        text = campaigns.sample(tx, campaign, int(phone.digits))
        known = contacts.by_phone(
            tx, contacts.World(campaign.account_id, campaign.sandbox), phone.digits
        )
    body = {
        "sender": campaign.sender,
        "message": text,
        "recipients": [phone.digits],
        "validity_s": campaign.validity_s,
        "reference": campaign_id,
    }
    send = session.awaited(
        lambda db: _send(db, campaign.account_id, body, sandbox=campaign.sandbox)
    )
    answer = send_answer(send, dry_run=False)
    opted_out = known is not None and known.opted_out
    if opted_out:
        click.echo(
            f"heliograph: {phone.digits} has opted out; the campaign itself will leave it out.",
            err=True,
        )
    show(
        session,
        {
            "message_id": answer["message_id"],
            "message": text,
            "opted_out": opted_out,
            **{
                name: answer[name]
                for name in (
                    "status",
                    "encoding",
                    "segments",
                    "credits_used",
                    "credits_remaining",
                    "sandbox",
                )
            },
        },
    )


async def _send(db: "Database", account_id: str, body: dict[str, Any], *, sandbox: bool) -> Any:
    """Accepts it in this process; carriers of others find by looking, every 250 ms."""
    from heliograph.base import ids
    from heliograph.database.cache import ConfigCache
    from heliograph.messages import Acceptor, FairQueue, read_send

    cache = ConfigCache(db)
    await cache.refresh()
    acceptor = Acceptor(db, cache, lambda carriers: None, FairQueue())
    return (
        await acceptor.accept(read_send(body, ids.new_number(), account_id, sandbox=sandbox))
    ).send


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
def schedule(session: Session, campaign_id: str, at: str, as_far: bool | None) -> None:
    """Let a campaign start by itself at a time; its audience is that of then. Again, to move it."""
    from heliograph import accounts, campaigns
    from heliograph.base import clock

    with session.write() as tx:
        campaign = campaigns.find(tx, campaign_id)
        when = campaigns.read_when(
            at, accounts.by_id(tx, campaign.account_id).time_zone, clock.now_ms()
        )
        campaign = campaigns.schedule(tx, campaign.id, when.at_ms, as_far_as_credits_reach=as_far)
    if when.note is not None:
        click.echo(f"heliograph: {when.note}", err=True)
    show_campaign(session, campaign)


@command.command(
    "launch",
    epilog=examples(
        "campaign launch cmp_01m7xjf7d0e0096sn80kyqrthc",
        "campaign launch cmp_01m7xjf7d0e0096sn80kyqrthc --as-far-as-credits-reach",
    ),
)
@click.argument("campaign_id", metavar="ID")
@as_far_option
def launch(session: Session, campaign_id: str, as_far: bool | None) -> None:
    """Freeze a campaign's audience, price it, and let it be sent. Refused when the credits do not
    reach for all.
    """
    from heliograph import campaigns

    with session.read() as tx:
        campaign = campaigns.find(tx, campaign_id)
    with progress("Freezing the audience", lambda: _size(session, campaign)) as tell:
        launched = campaigns.launch(
            session.database, campaign.id, as_far_as_credits_reach=as_far, tell=tell
        )
    tell_unfilled(unfilled_of(launched.quote))
    show_campaign(session, launched.campaign, quote=quoted(launched.quote))


def _size(session: Session, campaign: Any) -> int:
    from heliograph import campaigns

    with session.read() as tx:
        return campaigns.audience_size(tx, campaign)


@command.command("pause", epilog=examples("campaign pause cmp_01m7xjf7d0e0096sn80kyqrthc"))
@click.argument("campaign_id", metavar="ID")
def pause(session: Session, campaign_id: str) -> None:
    """Let what is queued of a campaign wait, until it is resumed."""
    from heliograph import campaigns

    with session.write() as tx:
        campaign = campaigns.pause(tx, campaigns.find(tx, campaign_id).id)
    show_campaign(session, campaign)


@command.command("resume", epilog=examples("campaign resume cmp_01m7xjf7d0e0096sn80kyqrthc"))
@click.argument("campaign_id", metavar="ID")
def resume(session: Session, campaign_id: str) -> None:
    """Let a paused campaign go on. One that is short of credits goes on by itself after a
    top-up.
    """
    from heliograph import campaigns

    with session.write() as tx:
        campaign = campaigns.resume(tx, campaigns.find(tx, campaign_id).id)
    show_campaign(session, campaign)


@command.command("cancel", epilog=examples("campaign cancel cmp_01m7xjf7d0e0096sn80kyqrthc"))
@click.argument("campaign_id", metavar="ID")
def cancel(session: Session, campaign_id: str) -> None:
    """End a campaign for good. What is queued of it fails, and is refunded; what has left is not
    called back.
    """
    from heliograph import campaigns
    from heliograph.base import clock

    with session.write() as tx:
        campaign = campaigns.cancel(tx, campaigns.find(tx, campaign_id).id, now_ms=clock.now_ms())
    show_campaign(session, campaign)
