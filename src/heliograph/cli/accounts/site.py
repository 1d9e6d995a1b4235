"""Defines the commands `heliograph site …`."""

import json
from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import printable, show_list
from heliograph.cli.values import page_options

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.plugin import Site

META_SHOWN_MAX: Final = 40  # characters in a table; --json has all of it
_LOG_COLUMNS: Final = (
    "id",
    "site_url",
    "event",
    "recipient",
    "message_type",
    "status",
    "message_id",
    "meta",
    "created_at",
)

command = Noun(
    "site",
    help=(
        "Sites: shops whose plugin is linked to an account, and the plugin's logs of the texts"
        " that they sent."
    ),
)


def _record(tx: "Connection", site: "Site") -> dict[str, Any]:
    from heliograph import accounts, plugin

    record = plugin.as_site_record(site)
    return {
        "id": record.pop("id"),
        "account_id": accounts.text_id(accounts.by_id(tx, site.account_id)),
        **record,
    }


@command.command("list", epilog=examples("site list", "site list --account 'Amina Foods'"))
@click.option("--account", metavar="ACC", help="Show only sites of this account.")
@page_options
def list_(run: CommandRun, account: str | None, limit: int, before: str | None) -> None:
    """List linked sites, newest first."""
    from heliograph import accounts, plugin

    with run.read() as tx:
        account_id = accounts.find(tx, account).id if account is not None else None
        before_id = plugin.find(tx, before).id if before is not None else None
        records = [
            _record(tx, site)
            for site in plugin.sites_page(
                tx, limit=limit, account_id=account_id, before_id=before_id
            )
        ]
    show_list(
        run,
        records,
        (
            "id",
            "account_id",
            "site_url",
            "site_name",
            "platform",
            "plugin_version",
            "sandbox",
            "connected_at",
        ),
        limit=limit,
    )


@command.command("logs", epilog=examples("site logs", "site logs --site site_01k5…"))
@click.option("--site", metavar="ID", help="Show only reports of this site.")
@page_options
def logs(run: CommandRun, site: str | None, limit: int, before: str | None) -> None:
    """List what sites reported of their texts, newest first. The texts themselves are not shown.

    META is what the shop reports beside a text, as the shop wrote it. Only the beginning of a long
    one is shown; --json has all of it.
    """
    from heliograph import plugin

    with run.read() as tx:
        site_id = plugin.find(tx, site).id if site is not None else None
        found = plugin.logs_page(tx, limit=limit, site_id=site_id, before=before)
        sites = {entry.site_id: plugin.by_id(tx, entry.site_id) for entry in found}
        records = [plugin.as_log_record(entry, sites[entry.site_id]) for entry in found]
    if not run.as_json:
        records = [{**record, "meta": _shortened(record["meta"])} for record in records]
    show_list(run, records, _LOG_COLUMNS, limit=limit)


def _shortened(meta: Any) -> str | None:
    """Returns JSON on one line, which a terminal can show: what it would obey or cannot show is
    an escape before it is cut.
    """
    from heliograph.base.short_texts import shorten

    return (
        None
        if meta is None
        else shorten(printable(json.dumps(meta, ensure_ascii=False)), META_SHOWN_MAX)
    )
