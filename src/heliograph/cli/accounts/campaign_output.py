"""Prints campaigns for commands."""

from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli.command import CommandRun
from heliograph.cli.output import printable, show

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.campaigns import Campaign, FileResult, Quote, previews

BAD_ROWS_SHOWN_MAX: Final = 20  # on a terminal; --json has a hundred
_TIMES: Final = ("scheduled_at", "started_at", "completed_at", "created_at")


def show_campaign(run: CommandRun, campaign: "Campaign", **more: Any) -> None:
    """Prints one campaign as it stands. For people its times are those of the account's time
    zone.
    """
    from heliograph import accounts

    with run.read() as tx:
        record = {**full_record(tx, campaign), **more}
        zone = accounts.by_id(tx, campaign.account_id).time_zone
    if not run.as_json:
        at_ms = (
            campaign.scheduled_at_ms,
            campaign.started_at_ms,
            campaign.completed_at_ms,
            campaign.created_at_ms,
        )
        record |= {name: _local(moment, zone) for name, moment in zip(_TIMES, at_ms, strict=True)}
    show(run, record)


def full_record(tx: "Connection", campaign: "Campaign") -> dict[str, Any]:
    """Returns what the API shows, and what the operator knows beside."""
    from heliograph import accounts, campaigns
    from heliograph.messages.groups import tally_of

    account = accounts.by_id(tx, campaign.account_id)
    audience = campaign.audience
    return {
        **campaigns.as_record(campaign, tally_of(tx, campaign.group_id)),
        "account_id": accounts.text_id(account),
        "audience": {"kind": audience.kind, "tags": list(audience.tags)},
        "validity_s": campaign.validity_s,
        "rate": campaign.rate,
        "as_far_as_credits_reach": campaign.as_far_as_credits_reach,
        "credits_estimated": campaign.credits_estimated,
        "left_out": {"opted_out": campaign.opted_out, "refused": campaign.refused},
    }


def quote_record(quote: "Quote") -> dict[str, Any]:
    """Returns a quote. `refused` and `without_value` name only what there is."""
    return {
        "recipients": quote.recipients,
        "opted_out": quote.opted_out,
        "refused": quote.refused,
        "without_value": quote.lacking,
        "segments": quote.segments,
        "credits": quote.credits,
        "credits_available": quote.credits_available,
        "credits_reach": quote.credits <= quote.credits_available,
    }


def print_bad_rows(result: "FileResult") -> None:
    """Tells the first bad rows, on standard error."""
    for row in result.bad_rows[:BAD_ROWS_SHOWN_MAX]:
        click.echo(f"heliograph: line {row.line} is left out: it {row.why}", err=True)
    if result.bad > BAD_ROWS_SHOWN_MAX:
        click.echo(
            f"heliograph: {result.bad - BAD_ROWS_SHOWN_MAX} more lines are left out.", err=True
        )


def print_unfilled(unfilled: "previews.UnfilledPlaceholders") -> None:
    """Prints a warning on standard error. For an audience without people there is none."""
    for name in unfilled.names if unfilled.people else ():
        click.echo(
            f"heliograph: none of the {unfilled.people} contacts of the audience has a value for"
            f" {{{printable(name)}}}: is it misspelled? Upper and lower case differ.",
            err=True,
        )


def _local(at_ms: int | None, zone: str) -> str | None:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return (
        None
        if at_ms is None
        else f"{datetime.fromtimestamp(at_ms / 1_000, ZoneInfo(zone)):%Y-%m-%d %H:%M:%S %Z}"
    )
