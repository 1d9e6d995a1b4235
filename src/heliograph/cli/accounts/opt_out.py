"""Defines the commands `heliograph opt-out …`."""

from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli import checked_values
from heliograph.cli.accounts.contact_csv import country_of, country_option
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import account_option, country_code, mode_option, page_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Connection

    from heliograph.opt_outs import OptOutOwner, Suppression

command = Noun(
    "opt-out",
    help=(
        "Opt-outs: phones that want no texts from an account, or from one of its senders. They"
        " hold for every send and campaign, whether the phone is a contact or not."
    ),
)

_COLUMNS: Final = ("id", "phone", "sender", "source", "created_at")


def _whose(callback: "Callable[..., None]") -> "Callable[..., None]":
    """Adds the options --account and --mode."""
    return account_option(mode_option("Live and sandbox have separate opt-outs.")(callback))


def _sender_option(of: str) -> "Callable[[Callable[..., None]], Callable[..., None]]":
    """Adds --sender. `of` says what it means."""
    return click.option("--sender", metavar="SENDER", help=of)


@command.command(
    "add",
    epilog=examples(
        "opt-out add 233201234567 --account 'Amina Foods'",
        "opt-out add 0201234567 --country GH --sender AMINA --account 'Amina Foods'",
    ),
)
@click.argument("phone")
@_whose
@country_option
@_sender_option("Only texts of this sender are unwanted. Default: all of the account's.")
def add(
    run: CommandRun,
    phone: str,
    account: str,
    sandbox: bool,
    country: str | None,
    sender: str | None,
) -> None:
    """Send no more texts to a phone. Its owner cannot undo this by texting a keyword."""
    from heliograph import opt_outs
    from heliograph.base import clock
    from heliograph.messages.sweeps import withdraw

    given = _checked(phone, country, sender)
    now_ms = clock.now_ms()
    with run.write() as tx:
        owner = _owner_of(tx, account, sandbox)
        request = opt_outs.read_opt_out_request(given, country_of(tx, owner.account_id))
        done = opt_outs.opt_phone_out(
            tx, owner, request.phone.digits, request.scope, withdraw, now_ms=now_ms
        )
        _audit(tx, owner, "opt_out.add", now_ms)
    show(run, {**_record(done.opt_out, sandbox), "created": done.is_new})


@command.command(
    "list",
    epilog=examples(
        "opt-out list --account 'Amina Foods'",
        "opt-out list --account 'Amina Foods' --limit 1000 --json",
    ),
)
@_whose
@page_options
def list_(run: CommandRun, account: str, sandbox: bool, limit: int, before: str | None) -> None:
    """List opt-outs, newest first. To read all of them, page by page, give --before the last id of
    the previous page.
    """
    from heliograph import opt_outs
    from heliograph.base import ids
    from heliograph.base.errors import NotFound
    from heliograph.base.forms import quote_value
    from heliograph.base.paging import PageWanted

    before_id = None
    if before is not None:
        before_id = ids.raw_of_text(opt_outs.OPT_OUT_PREFIX, before)
        if before_id is None:
            raise NotFound(f"There is no opt-out {quote_value(before)}.")
    with run.read() as tx:
        owner = _owner_of(tx, account, sandbox)
        found = opt_outs.opt_out_page(tx, owner, PageWanted(limit, before_id))
    show_list(run, [_record(each, sandbox) for each in found[:limit]], _COLUMNS, limit=limit)


@command.command(
    "remove",
    epilog=examples(
        "opt-out remove 233201234567 --account 'Amina Foods'",
        "opt-out remove 233201234567 --sender AMINA --account 'Amina Foods'",
    ),
)
@click.argument("phone")
@_whose
@country_option
@_sender_option("Lift only the opt-out of this sender. Default: all of this phone.")
def remove(
    run: CommandRun,
    phone: str,
    account: str,
    sandbox: bool,
    country: str | None,
    sender: str | None,
) -> None:
    """Lift the opt-outs of a phone, whoever made them."""
    from heliograph import opt_outs
    from heliograph.base import clock
    from heliograph.base.errors import NotFound

    given = _checked(phone, country, sender)
    now_ms = clock.now_ms()
    with run.write() as tx:
        owner = _owner_of(tx, account, sandbox)
        request = opt_outs.read_opt_out_request(given, country_of(tx, owner.account_id))
        scope = request.scope if sender else None
        digits, by = request.phone.digits, opt_outs.OptOutSource.OPERATOR
        if not opt_outs.lift(tx, owner, [digits], by=by, now_ms=now_ms, scope=scope):
            raise NotFound("There is no such opt-out.")
        _audit(tx, owner, "opt_out.remove", now_ms)
    show(run, {"phone": digits, "deleted": True})


def _checked(phone: str, country: str | None, sender: str | None) -> dict[str, str]:
    """Returns what is given, as POST /opt-outs has it. It is checked before the database is asked;
    the account's own country may still be needed to read the phone. Raises InvalidRequest.
    """
    from heliograph import opt_outs

    body = {"phone": phone, "country_code": country_code(country), "sender": sender}
    given = {name: value for name, value in body.items() if value is not None}
    opt_outs.read_opt_out_request(given, checked_values.home_country_of_phone(phone) or "")
    return given


def _owner_of(tx: "Connection", account: str, sandbox: bool) -> "OptOutOwner":
    from heliograph import accounts, opt_outs

    return opt_outs.OptOutOwner(accounts.find(tx, account).id, sandbox)


def _record(found: "Suppression", sandbox: bool) -> dict[str, Any]:
    """Returns an opt-out as its account sees it, and the id that a list goes on from."""
    from heliograph import opt_outs
    from heliograph.base import ids

    id_ = ids.text_of_raw(opt_outs.OPT_OUT_PREFIX, found.id)
    return {"id": id_, **opt_outs.as_suppression_record(found, sandbox=sandbox)}


def _audit(tx: "Connection", owner: "OptOutOwner", action: str, now_ms: int) -> None:
    """Writes into the account's audit log, which names no phone."""
    from heliograph.accounts import audit_log

    author = audit_log.Author(audit_log.AuthorKind.OPERATOR, "0" * 32, audit_log.OPERATOR_NAME)
    audit_log.write(tx, owner.account_id, author, audit_log.AuditEntry(action), now_ms=now_ms)
