"""`heliograph otp …`."""

import click

from heliograph.entry.cli.command import Noun, Session, examples
from heliograph.entry.cli.output import show, show_list
from heliograph.entry.cli.values import LISTED_MAX, Whole

command = Noun("otp", help="One-time passwords: ranges of numbers that were blocked because many went there and none was verified.")


@command.command("blocked", epilog=examples("otp blocked", "otp blocked --account 'Amina Foods' --json"))
@click.option("--account", "acc", metavar="ACC", help="Of this account only.")
@click.option("--limit", type=Whole(1, LISTED_MAX), default=100, show_default=True, help="So many at most, those blocked last first.")
def blocked(session: Session, acc: str | None, limit: int) -> None:
    """List the ranges that are blocked, each for 24 hours or until a code of it is verified."""
    from heliograph import accounts, otp
    from heliograph.base import clock

    with session.read() as tx:
        account_id = accounts.find(tx, acc).id if acc is not None else None
        found = otp.blocked(tx, clock.now_ms(), limit=limit, account_id=account_id)
        names = {each.account_id: accounts.text_id(accounts.by_id(tx, each.account_id)) for each in found}
    records = [{"account_id": names[each.account_id], "range": each.digits, "sends": each.sends, "blocked_at": clock.rfc3339(each.blocked_at_ms),
                "until": clock.rfc3339(each.until_ms)} for each in found]
    show_list(session, records, ("account_id", "range", "sends", "blocked_at", "until"))


@command.command("unblock", epilog=examples("otp unblock 23320123 --account 'Amina Foods'"))
@click.argument("range_", metavar="RANGE")
@click.option("--account", "acc", required=True, metavar="ACC", help="Whose sends it blocks.")
def unblock(session: Session, range_: str, acc: str) -> None:
    """Let one-time passwords go to a range again. They are counted anew."""
    from heliograph import accounts, otp
    from heliograph.base import clock

    with session.write() as tx:
        account = accounts.find(tx, acc)
        otp.unblock(tx, account.id, range_, clock.now_ms())
    show(session, {"account_id": accounts.text_id(account), "range": range_, "unblocked": True})
