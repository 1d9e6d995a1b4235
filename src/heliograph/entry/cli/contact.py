"""`heliograph contact …`."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, Final, TextIO

import click

from heliograph.entry.cli.command import Failure, Noun, Session, examples
from heliograph.entry.cli.output import show, show_list
from heliograph.entry.cli.progress import progress
from heliograph.entry.cli.values import account_option, page_options
from heliograph.entry.cli.writing import is_standard_output, open_to_write, refuse_same, whole_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

    from heliograph.contacts import Contact, World
    from heliograph.contacts.importing import Import
    from heliograph.contacts.sheet import Sheet

command = Noun("contact", help="Contacts: whom an account sends to; imported from and exported to files. CONTACT is an id or a phone.")

_COLUMNS: Final = ("id", "phone", "name", "email", "tags", "opted_out", "created_at")
_CLEAR: Final = "none"


def _whose(callback: Callable[..., None]) -> Callable[..., None]:
    """--account and --sandbox."""
    callback = click.option("--sandbox", is_flag=True, help="The account's contacts in sandbox, which are others.")(callback)
    return account_option(callback)


def _country_option(callback: Callable[..., None]) -> Callable[..., None]:
    return click.option("--country", metavar="GH", help="Phones may be written as they are dialled there.")(callback)


def _fields(callback: Callable[..., None]) -> Callable[..., None]:
    """What a contact has beside its phone."""
    for option in (
        click.option("--custom", multiple=True, metavar="NAME=VALUE", help="A field of your own; again for more."),
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="Again for more."),
        click.option("--email"), click.option("--name"),
    ):  # fmt: skip
        callback = option(callback)
    return callback


@command.command("add", epilog=examples("contact add 233201234567 --account 'Amina Foods' --name 'Kofi Mensah' --tag vip --custom city=Accra"))
@click.argument("phone")
@_whose
@_country_option
@_fields
def add(session: Session, phone: str, account: str, sandbox: bool, country: str | None, **fields: Any) -> None:
    """Add a contact, or change what is given of the one that has this phone."""
    from heliograph import contacts

    asked = contacts.read_change({"phone": phone, "country_code": country, **_given(fields)}, phone_required=True)
    _store(session, account, sandbox, lambda tx, world, now_ms: contacts.upsert(tx, world, [asked.change], now_ms=now_ms)[0].contact)


@command.command("list", epilog=examples("contact list --account 'Amina Foods'", "contact list --account 'Amina Foods' --search kofi"))
@_whose
@click.option("--search", metavar="TEXT", help="Only those that have it in name, phone, email or a tag, in any case.")
@page_options
def list_(session: Session, account: str, sandbox: bool, search: str | None, limit: int, before: str | None) -> None:
    """List contacts, newest first."""
    from heliograph import contacts

    with session.read() as tx:
        world = _world(tx, account, sandbox)
        before_id = contacts.by_id(tx, world, before).id if before is not None else None
        found = (contacts.search(tx, world, search, limit=limit, before=before_id) if search
                 else contacts.page(tx, world, limit=limit, before=before_id))
    show_list(session, [contacts.as_record(contact, sandbox=sandbox) for contact in found], _COLUMNS, limit=limit)


@command.command("show", epilog=examples("contact show 233201234567 --account 'Amina Foods'"))
@click.argument("contact")
@_whose
def show_(session: Session, contact: str, account: str, sandbox: bool) -> None:
    """Show one contact."""
    from heliograph import contacts

    with session.read() as tx:
        record = contacts.as_record(_find(tx, _world(tx, account, sandbox), contact), sandbox=sandbox)
    show(session, record)


@command.command("set", epilog=examples("contact set 233201234567 --account 'Amina Foods' --name 'Kofi A. Mensah' --email none"))
@click.argument("contact")
@_whose
@click.option("--phone", help="Another one; its country is told by --country.")
@_country_option
@_fields
def set_(session: Session, contact: str, account: str, sandbox: bool, country: str | None, phone: str | None, **fields: Any) -> None:
    """Change what is given. Tags and custom fields are replaced whole; the word none clears a name, an email or all tags."""
    from heliograph import contacts

    given = _given(fields)
    if phone is None and not given:
        raise click.UsageError("Say what is to change: --phone, --name, --email, --tag or --custom.")
    asked = contacts.read_change({**({"phone": phone, "country_code": country} if phone else {}), **given}, phone_required=False)
    _store(session, account, sandbox, lambda tx, world, now_ms: contacts.update(
        tx, world, contacts.text_id(_find(tx, world, contact)), asked.change, now_ms=now_ms))


@command.command("opt-out", epilog=examples("contact opt-out 233201234567 --account 'Amina Foods'"))
@click.argument("contact")
@_whose
def opt_out(session: Session, contact: str, account: str, sandbox: bool) -> None:
    """No campaign is sent to this contact any more."""
    _set_opted_out(session, contact, account, sandbox, opted_out=True)


@command.command("opt-in", epilog=examples("contact opt-in 233201234567 --account 'Amina Foods'"))
@click.argument("contact")
@_whose
def opt_in(session: Session, contact: str, account: str, sandbox: bool) -> None:
    """Campaigns are sent to this contact again."""
    _set_opted_out(session, contact, account, sandbox, opted_out=False)


@command.command("remove", epilog=examples("contact remove 233201234567 --account 'Amina Foods'"))
@click.argument("contact")
@_whose
def remove(session: Session, contact: str, account: str, sandbox: bool) -> None:
    """Delete a contact for good, with whether it had opted out."""
    from heliograph import contacts

    with session.write() as tx:
        world = _world(tx, account, sandbox)
        found = contacts.text_id(_find(tx, world, contact))
        contacts.delete(tx, world, found)
    show(session, {"id": found, "deleted": True})


@command.command("import", epilog=examples("contact import contacts.csv --account 'Amina Foods' --country GH",
                                           "contact import contacts.csv --account 'Amina Foods' --bad-rows bad.csv"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, readable=True))
@_whose
@_country_option
@click.option("--bad-rows", type=click.Path(dir_okay=False, writable=True), metavar="FILE", help="Write the rows that were left out to this file.")
def import_(session: Session, file: str, account: str, sandbox: bool, country: str | None, bad_rows: str | None) -> None:
    """Add the contacts of a CSV file, or change those there are.

    Its first line names the columns: phone, and any of name, email, tags (separated by |), opted_out (yes or no), country_code; other columns
    become custom fields. Only columns that the file has are changed. Importing a file again does no harm."""
    from heliograph.contacts.importing import Import
    from heliograph.contacts.sheet import Sheet, open_sheet
    from heliograph.text import read_country

    if bad_rows is not None:
        refuse_same(bad_rows, file, option="--bad-rows")
    try:
        code = None if country is None else read_country(country)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--country") from error
    with session.read() as tx:
        world = _world(tx, account, sandbox)
    done = Import(session.database, world)
    with ExitStack() as opened:
        text = opened.enter_context(open_sheet(file))
        sheet = Sheet(text, code)
        rest = opened.enter_context(open_to_write(bad_rows)) if bad_rows is not None else None
        tell = opened.enter_context(progress("Importing", lambda: os.path.getsize(file)))
        with _told_how_far(done):
            _run(done, sheet, text, rest, tell)
    _report(session, done, bad_rows)


def _run(done: "Import", sheet: "Sheet", text: TextIO, rest: IO[str] | None, tell: Callable[[int], object]) -> None:
    import csv

    writer = csv.writer(rest, delimiter=sheet.delimiter) if rest is not None else None
    if writer is not None:
        writer.writerow(["#line", "#why", *sheet.header])
    at = 0
    for bad in done.run(sheet.rows()):
        if writer is not None:
            writer.writerows([row.line, row.why, *row.cells] for row in bad)
        tell(text.buffer.tell() - at)
        at = text.buffer.tell()


@contextmanager
def _told_how_far(done: "Import") -> "Iterator[None]":
    """Whatever ends an import early, it is told how far it came: what is committed stays."""
    from sqlalchemy.exc import DBAPIError

    from heliograph.base.errors import ServiceError

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except (ServiceError, DBAPIError, OSError, KeyboardInterrupt) as error:
        why = "It was interrupted" if isinstance(error, KeyboardInterrupt) else str(error).splitlines()[0].rstrip(".")
        raise Failure(f"{why}. {done.stored} rows are stored, up to line {done.line} of the file; nothing of what follows. "
                      "Import the same file again to go on: rows that are in already do no harm.") from error
    finally:
        signal.signal(signal.SIGTERM, before)


def _report(session: Session, done: "Import", bad_rows: str | None) -> None:
    """The figures on standard output; what is wrong, and what stood twice, on standard error. Exit status 1 when rows were left out."""
    show(session, {"created": done.created, "updated": done.updated, "repeated": done.repeated, "bad": done.bad,
                   **({"bad_rows": [{"line": row.line, "why": row.why} for row in done.bad_rows], "repeated_lines": done.repeated_lines}
                      if session.as_json else {})})
    for row in done.bad_rows:
        click.echo(f"Line {row.line} was left out: {row.why}.", err=True)
    if done.bad > len(done.bad_rows):
        click.echo(f"… and {done.bad - len(done.bad_rows)} more lines.", err=True)
    for line in done.repeated_lines:
        click.echo(f"Line {line} has a phone that stood before; the later row counts.", err=True)
    if done.repeated > len(done.repeated_lines):
        click.echo(f"… and {done.repeated - len(done.repeated_lines)} more lines.", err=True)
    if done.bad:
        where = f"they are in {bad_rows}" if bad_rows else "--bad-rows FILE writes them to a file"
        raise Failure(f"{done.bad} rows were left out; {where}. The other {done.stored} are stored.")


@command.command("export", epilog=examples("contact export contacts.csv --account 'Amina Foods'"))
@click.argument("file", type=click.Path(dir_okay=False, writable=True, allow_dash=True), default="-")
@_whose
@click.option("--force", is_flag=True, help="Also over a file that is there.")
def export(session: Session, file: str, account: str, sandbox: bool, force: bool) -> None:
    """Write all contacts as CSV, to FILE or to standard output. What it writes, import reads back.

    A cell that a spreadsheet would run as a formula gets an apostrophe before it, which import takes away again."""
    from heliograph.contacts.export import count, write

    with session.read() as tx:
        world = _world(tx, account, sandbox)
    if file == "-" or is_standard_output(file):
        write(session.database, world, sys.stdout)
        return
    with whole_file(file, force=force) as opened, progress("Exporting", lambda: 2 * count(session.database, world)) as tell:
        written = write(session.database, world, opened, tell)
    show(session, {"file": file, "contacts": written})


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """A body of what was given of _fields."""
    given: dict[str, Any] = {name: None if fields[name] == _CLEAR else fields[name] for name in ("name", "email") if fields[name] is not None}
    if fields["tags"]:
        given["tags"] = None if fields["tags"] == (_CLEAR,) else list(fields["tags"])
    if fields["custom"]:
        if wrong := [each for each in fields["custom"] if "=" not in each]:
            raise click.BadParameter(f"{wrong[0]!r} is not NAME=VALUE.", param_hint="--custom")
        given["custom"] = dict(each.split("=", 1) for each in fields["custom"])
    return given


def _set_opted_out(session: Session, contact: str, account: str, sandbox: bool, *, opted_out: bool) -> None:
    from heliograph import contacts

    _store(session, account, sandbox, lambda tx, world, now_ms: contacts.update(
        tx, world, contacts.text_id(_find(tx, world, contact)), contacts.Change(None, {"opted_out": opted_out}), now_ms=now_ms))


def _store(session: Session, account: str, sandbox: bool, effect: "Callable[[Connection, World, int], Contact | None]") -> None:
    from heliograph import contacts
    from heliograph.base import clock

    with session.write() as tx:
        stored = effect(tx, _world(tx, account, sandbox), clock.now_ms())
    assert stored is not None
    show(session, contacts.as_record(stored, sandbox=sandbox))


def _world(tx: "Connection", account: str, sandbox: bool) -> "World":
    from heliograph import accounts, contacts

    return contacts.World(accounts.find(tx, account).id, sandbox)


def _find(tx: "Connection", world: "World", contact: str) -> "Contact":
    """By id or phone. Raises NotFound."""
    from heliograph import contacts
    from heliograph.text import parse_phone

    phone = parse_phone(contact)
    found = contacts.by_phone(tx, world, phone.digits) if phone is not None else None
    return found or contacts.by_id(tx, world, contact)
