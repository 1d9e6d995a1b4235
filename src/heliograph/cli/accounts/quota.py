"""Defines the commands `heliograph quota …`."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show_list

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.accounts import Account

command = Noun(
    "quota",
    help=(
        "Quotas: how much an account may store in a day (UTC), of each kind and in each mode. ACC"
        " is an id or a unique name."
    ),
)
KINDS: Final = ("logs", "events", "contacts", "recipients", "answers", "keys", "sends")


class QuotaOption(click.ParamType[tuple[str, int | str | None]]):
    """Reads a kind and its quota in octets a day, such as logs=200MB. The quota is None for no
    limit, and DEFAULT for what every account has.
    """

    name = "kind=size"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int | str | None]:
        from heliograph.accounts import quota_sizes

        kind, _, size = str(value).partition("=")
        with suppress(ValueError):
            if kind in KINDS:
                return kind, quota_sizes.read_size(size)
        return self.fail(
            f"{str(value)!r} is not a kind with its size a day, such as logs=200MB; kinds are"
            f" {', '.join(KINDS)}, sizes are {quota_sizes.SIZES}.",
            param,
            ctx,
        )


@command.command(
    "show", epilog=examples("quota show 'Amina Foods'", "quota show 'Amina Foods' --json")
)
@click.argument("acc")
def show_(run: CommandRun, acc: str) -> None:
    """Show an account's quotas, and what it has stored today.

    Logs and events are what its shops' plugins report. Contacts count when they are created, and
    when they grow. Recipients are those of campaigns. Answers and keys are those of
    Idempotency-Keys. Sends are the sandbox's sends with their messages, and the recipients of any
    send that were rejected or repeated. All figures are octets, and include what a row needs beside
    its texts. Connect customers count with their partner, and its quotas are shown for them too.
    Only the keys that a customer's own API key uses count for the customer.
    """
    from heliograph import accounts

    with run.read() as tx:
        records = _records(tx, accounts.find(tx, acc))
    show_list(run, records, ("kind", "octets_a_day", "used_today", "used_today_sandbox", "default"))


@command.command(
    "set",
    epilog=examples(
        "quota set 'Amina Foods' logs=200MB contacts=5GB",
        "quota set 'Amina Foods' keys=none logs=default",
    ),
)
@click.argument("acc")
@click.argument("quotas", metavar="KIND=SIZE...", type=QuotaOption(), nargs=-1, required=True)
def set_(run: CommandRun, acc: str, quotas: tuple[tuple[str, int | str | None], ...]) -> None:
    """Set how much an account may store in a day.

    KIND is logs, events, contacts, recipients, answers, keys or sends. SIZE is a number of octets,
    or of kB, MB, GB or TB; none sets no limit, and default sets the default quota. The quota holds
    at once. It holds for live and for sandbox separately, and for a partner and its Connect
    customers together.
    """
    from heliograph import accounts
    from heliograph.accounts.quotas import StoredKind, reset_quotas, set_quotas

    with run.write() as tx:
        account = accounts.find(tx, acc)
        own = {StoredKind(kind): octets for kind, octets in quotas if not isinstance(octets, str)}
        set_quotas(tx, account.id, own)
        reset_quotas(
            tx,
            account.id,
            [StoredKind(kind) for kind, octets in quotas if isinstance(octets, str)],
        )
        records = _records(tx, account)
    show_list(run, records, ("kind", "octets_a_day", "used_today", "used_today_sandbox", "default"))


def _records(tx: "Connection", account: "Account") -> list[dict[str, Any]]:
    from heliograph import accounts
    from heliograph.base import clock
    from heliograph.wallet import quota_usage

    return [
        {
            "account_id": accounts.text_id(each.holder),
            "kind": each.quota.kind.value,
            "octets_a_day": each.quota.octets_a_day,
            "used_today": each.live,
            "used_today_sandbox": each.sandbox,
            "default": each.quota.is_default,
        }
        for each in quota_usage.used_quotas(tx, account, clock.now_ms())
    ]
