"""Defines the commands `heliograph contact …`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.cli import checked_values
from heliograph.cli.accounts.contact_csv import (
    country_of,
    country_option,
    export,
    import_,
    owner_of,
    whose,
)
from heliograph.cli.command import CommandRun, Noun, examples
from heliograph.cli.output import show, show_list
from heliograph.cli.values import country_code, page_options

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from heliograph.contacts import Contact, ContactOwner

command = Noun(
    "contact",
    help=(
        "Contacts: the people that an account sends to. Files can be imported and exported."
        " CONTACT is an id or a phone number."
    ),
)
command.add_command(import_)
command.add_command(export)

_COLUMNS: Final = ("id", "phone", "name", "email", "tags", "opted_out", "created_at")
_CLEAR: Final = "none"


def _named(callback: Callable[..., None]) -> Callable[..., None]:
    """Adds the argument CONTACT, and the option that says what it is found by."""
    return click.argument("contact")(whose(country_option(callback)))


def _fields(callback: Callable[..., None]) -> Callable[..., None]:
    """Adds the options for what a contact has beside its phone."""
    for option in (
        click.option(
            "--custom",
            multiple=True,
            metavar="NAME=VALUE",
            help="A field of your own. Repeat it for several fields.",
        ),
        click.option(
            "--tag", "tags", multiple=True, metavar="TAG", help="Repeat it for several tags."
        ),
        click.option("--email", metavar="EMAIL", help="An email address; the word none clears it."),
        click.option(
            "--name",
            metavar="TEXT",
            help="The name, for {name} in a campaign's text; the word none clears it.",
        ),
    ):
        callback = option(callback)
    return callback


@command.command(
    "add",
    epilog=examples(
        "contact add 233201234567 --account 'Amina Foods' --name 'Kofi Mensah' --tag vip --custom"
        " city=Accra"
    ),
)
@click.argument("phone")
@whose
@country_option
@_fields
def add(
    run: CommandRun, phone: str, account: str, sandbox: bool, country: str | None, **fields: Any
) -> None:
    """Add a contact. If a contact has this phone already, change the fields that are given."""
    from heliograph import contacts

    given = _given(fields)

    def change(home_country: str | None) -> contacts.ContactPatch:
        return contacts.read_contact_request(
            {"phone": phone, "country_code": country, **given},
            phone_required=True,
            home_country=home_country,
        ).change

    change(checked_values.home_country_of_phone(phone))

    _store(
        run,
        account,
        sandbox,
        lambda tx, owner, now_ms: (
            contacts.upsert(
                tx,
                owner,
                [change(country_of(tx, owner.account_id))],
                by=contacts.OPERATOR,
                now_ms=now_ms,
            )[0].contact
        ),
    )


@command.command(
    "list",
    epilog=examples(
        "contact list --account 'Amina Foods'", "contact list --account 'Amina Foods' --search kofi"
    ),
)
@whose
@click.option(
    "--search",
    metavar="TEXT",
    help=(
        "Show only contacts whose name, phone, email or a tag contains this, in upper or lower"
        " case."
    ),
)
@page_options
def list_(
    run: CommandRun,
    account: str,
    sandbox: bool,
    search: str | None,
    limit: int,
    before: str | None,
) -> None:
    """List contacts, newest first."""
    from heliograph import contacts

    with run.read() as tx:
        owner = owner_of(tx, account, sandbox)
        before_id = contacts.by_id(tx, owner, before).id if before is not None else None
        found = contacts.newest(tx, owner, search or None, limit=limit, before=before_id)
    show_list(
        run,
        [contacts.as_record(contact, sandbox=sandbox) for contact in found],
        _COLUMNS,
        limit=limit,
    )


@command.command("show", epilog=examples("contact show 233201234567 --account 'Amina Foods'"))
@_named
def show_(run: CommandRun, contact: str, account: str, sandbox: bool, country: str | None) -> None:
    """Show one contact."""
    from heliograph import contacts

    code = country_code(country)
    with run.read() as tx:
        record = contacts.as_record(
            _find(tx, owner_of(tx, account, sandbox), contact, code), sandbox=sandbox
        )
    show(run, record)


@command.command(
    "set",
    epilog=examples(
        "contact set 233201234567 --account 'Amina Foods' --name 'Kofi A. Mensah' --email none"
    ),
)
@_named
@click.option("--phone", help="Another phone number.")
@_fields
def set_(
    run: CommandRun,
    contact: str,
    account: str,
    sandbox: bool,
    country: str | None,
    phone: str | None,
    **fields: Any,
) -> None:
    """Change fields of a contact. Those that are not given stay as they are. Tags and custom fields
    are replaced whole; the word none clears a name, an email or all tags.
    """
    from heliograph import contacts

    given = _given(fields)
    if phone is None and not given:
        raise click.UsageError(
            "Say what is to change: --phone, --name, --email, --tag or --custom."
        )
    code = country_code(country)

    def change(home_country: str | None) -> contacts.ContactPatch:
        body = {**({"phone": phone, "country_code": code} if phone else {}), **given}
        return contacts.read_contact_request(
            body, phone_required=False, home_country=home_country
        ).change

    change(checked_values.home_country_of_phone(phone or ""))

    _store(
        run,
        account,
        sandbox,
        lambda tx, owner, now_ms: contacts.update(
            tx,
            owner,
            contacts.text_id(_find(tx, owner, contact, code)),
            change(country_of(tx, owner.account_id)),
            by=contacts.OPERATOR,
            now_ms=now_ms,
        ),
    )


@command.command(
    "opt-out",
    epilog=examples(
        "contact opt-out 233201234567 --account 'Amina Foods'",
        "contact opt-out 0201234567 --country GH --account 'Amina Foods'",
    ),
)
@_named
def opt_out(
    run: CommandRun, contact: str, account: str, sandbox: bool, country: str | None
) -> None:
    """Send no more texts to this contact, except one-time passwords. A phone that is not a contact
    yet becomes one.
    """
    from heliograph import contacts
    from heliograph.base import clock
    from heliograph.text import parse_phone

    code, now_ms = country_code(country), clock.now_ms()
    with run.write() as tx:
        owner = owner_of(tx, account, sandbox)
        phone = parse_phone(contact, code, country_of(tx, owner.account_id))
        change = contacts.ContactPatch(phone, {"opted_out": True})
        if phone is None:
            stored, is_new = (
                contacts.update(
                    tx,
                    owner,
                    contacts.text_id(_find(tx, owner, contact, code)),
                    change,
                    by=contacts.OPERATOR,
                    now_ms=now_ms,
                ),
                False,
            )
        else:
            ((result, made, *_),) = contacts.upsert(
                tx, owner, [change], by=contacts.OPERATOR, now_ms=now_ms
            )
            assert made is not None
            stored, is_new = made, result == "created"
    show(
        run,
        {**contacts.as_record(stored, sandbox=sandbox), "created": is_new},
        "This phone was not a contact yet. It is one now, and has opted out." if is_new else None,
    )


@command.command("opt-in", epilog=examples("contact opt-in 233201234567 --account 'Amina Foods'"))
@_named
def opt_in(run: CommandRun, contact: str, account: str, sandbox: bool, country: str | None) -> None:
    """Let campaigns reach this contact again."""
    from heliograph import contacts

    code = country_code(country)
    _store(
        run,
        account,
        sandbox,
        lambda tx, owner, now_ms: contacts.update(
            tx,
            owner,
            contacts.text_id(_find(tx, owner, contact, code)),
            contacts.ContactPatch(None, {"opted_out": False}),
            by=contacts.OPERATOR,
            now_ms=now_ms,
        ),
    )


@command.command("remove", epilog=examples("contact remove 233201234567 --account 'Amina Foods'"))
@_named
def remove(run: CommandRun, contact: str, account: str, sandbox: bool, country: str | None) -> None:
    """Delete a contact for good. A phone that has opted out stays opted out."""
    from heliograph import contacts

    code = country_code(country)
    with run.write() as tx:
        owner = owner_of(tx, account, sandbox)
        found = contacts.text_id(_find(tx, owner, contact, code))
        contacts.delete(tx, owner, found)
    show(run, {"id": found, "deleted": True})


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns a body of what was given of _fields."""
    given: dict[str, Any] = {
        name: None if fields[name] == _CLEAR else fields[name]
        for name in ("name", "email")
        if fields[name] is not None
    }
    if fields["tags"]:
        given["tags"] = None if fields["tags"] == (_CLEAR,) else list(fields["tags"])
    if fields["custom"]:
        if wrong := [each for each in fields["custom"] if "=" not in each]:
            raise click.BadParameter(f"{wrong[0]!r} is not NAME=VALUE.", param_hint="--custom")
        given["custom"] = dict(each.split("=", 1) for each in fields["custom"])
    return given


def _store(
    run: CommandRun,
    account: str,
    sandbox: bool,
    effect: "Callable[[Connection, ContactOwner, int], Contact | None]",
) -> None:
    from heliograph import contacts
    from heliograph.base import clock

    with run.write() as tx:
        stored = effect(tx, owner_of(tx, account, sandbox), clock.now_ms())
    assert stored is not None
    show(run, contacts.as_record(stored, sandbox=sandbox))


def _find(tx: "Connection", owner: "ContactOwner", contact: str, country: str | None) -> "Contact":
    """Finds a contact by id or phone. Raises NotFound."""
    from heliograph import contacts
    from heliograph.base.errors import NotFound
    from heliograph.base.forms import quote_value
    from heliograph.text import parse_phone

    if contact.startswith("con_"):
        return contacts.by_id(tx, owner, contact)
    phone = parse_phone(contact, country, country_of(tx, owner.account_id))
    if phone is None:
        raise NotFound(
            f"There is no contact {quote_value(contact)}, which is neither an id nor a phone in"
            " international digits such as 233201234567; with --country GH, say, it may be written"
            " as it is dialled there."
        )
    found = contacts.by_phone(tx, owner, phone.digits)
    if found is None:
        raise NotFound(f"There is no contact with the phone {phone.digits}.")
    return found
