"""Shows the contacts of an account: a list that can be searched, a form that adds one, and one
contact that is changed, opts out and in, or is removed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import contacts
from heliograph.accounts import quotas
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import Query, quote_value
from heliograph.base.paging import read_page
from heliograph.base.short_texts import invalid_field
from heliograph.contacts import (
    NEEDLE_MAX,
    Changer,
    ChangerKind,
    Contact,
    ContactOwner,
    ContactPatch,
)
from heliograph.portal.contact_pages import contact_form
from heliograph.portal.filled_form import choice_of, with_shown
from heliograph.portal.list_page import ListPage, list_page
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, RemovedAlready, page, redirect
from heliograph.portal.visit import MODES, Visit
from heliograph.users import Right

FIELDS = ("q", "mode")
PICKED_MAX = 50  # contacts that are selected one by one: a query has a field for each


class ContactsQuery(NamedTuple):
    """Says which contacts a page is about: all of this owner, or those that a search finds."""

    owner: ContactOwner
    needle: str | None


class OwnContact(NamedTuple):
    """Holds the contact that a path names, and says whose it is."""

    contact: Contact
    owner: ContactOwner

    @property
    def mode(self) -> str:
        return "sandbox" if self.owner.sandbox else "live"


def read_contacts_query(query: Query, visit: Visit) -> ContactsQuery:
    """Reads `mode` and `q` as GET /contacts does. What is wrong is added to the query's errors."""
    mode = query.choice("mode", MODES) or visit.mode
    needle = query.text("q", most=NEEDLE_MAX)
    return ContactsQuery(ContactOwner(visit.account.id, mode == "sandbox"), needle)


def read_owner(request: PageRequest, visit: Visit) -> ContactOwner:
    """Returns whose contacts a form is about, by its field `mode`. Raises InvalidRequest."""
    mode = choice_of("mode", request.sent.form.get("mode") or visit.mode, visit.modes)
    return ContactOwner(visit.account.id, mode == "sandbox")


def changer_of(visit: Visit) -> Changer:
    """Returns who changes contacts by a form."""
    return Changer(ChangerKind.USER, visit.session.user.email)


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the contacts that the query selects, newest first."""
    typed = dict(request.sent.query)
    typed["mode"] = typed.get("mode") or visit.mode
    contacts_page, errors = ListPage[Contact]([], None), list[FieldError]()
    try:
        contacts_page = _select(tx, request, visit)
    except InvalidRequest as wrong:
        errors = list(wrong.fields)
    return page(
        "contacts.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        contacts=[(contacts.text_id(contact), contact) for contact in contacts_page.rows],
        older=contacts_page.older,
        typed=typed,
        modes=MODES,
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        may_change=visit.may(Right.CONTACTS),
        may_pick=visit.may(Right.CONTACTS) and len(contacts_page.rows) <= PICKED_MAX,
    )


def show_form(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the form that adds a contact."""
    visit.require(tx, Right.CONTACTS)
    query = dict(request.sent.query)
    wrong = contact_form.form_errors_of(errors)
    typed = {"mode": query.get("mode") or visit.mode, **request.sent.form}
    return page(
        "contact_new.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        typed=typed,
        errors=wrong.errors,
        others=wrong.others,
        modes=visit.modes,
        custom_fields=contact_form.custom_fields(typed),
        new_fields=contact_form.NEW_FIELDS,
    )


def add(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Adds a contact, or changes the one with this phone, as POST /contacts does, and shows it."""
    owner = read_owner(request, visit)
    asked = contacts.read_contact_request(
        contact_form.body_of_new(request.sent.form),
        phone_required=True,
        home_country=visit.account.country_code,
    )
    with _quota_as_field_error():
        [stored] = contacts.upsert(
            tx, owner, [asked.change], by=changer_of(visit), now_ms=request.now_ms
        )
    assert stored.contact is not None, (
        "custom fields of a form are replaced whole, so they are never too many"
    )
    visit.audit(tx, request, "contact.save", contacts.text_id(stored.contact))
    return _redirect_to(visit, stored.contact)


def show_contact(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows a contact, and a form that changes it to those who may."""
    own_contact = _of_account(tx, request, visit)
    wrong = contact_form.form_errors_of(errors)
    is_typed = bool(errors) or request.sent.form.get("do") == "change"
    typed = (
        request.sent.form if is_typed else with_shown(contact_form.fields_of(own_contact.contact))
    )
    return page(
        "contact.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        contact=own_contact.contact,
        id=contacts.text_id(own_contact.contact),
        mode=own_contact.mode,
        typed=typed,
        errors=wrong.errors,
        others=wrong.others,
        custom_fields=contact_form.custom_fields(typed),
        new_fields=contact_form.NEW_FIELDS,
        may_change=visit.may(Right.CONTACTS),
        history=contacts.opt_out_history(tx, own_contact.contact),
    )


def change(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Does what a button of a contact's page asks for, as PUT /contacts/{id} does. What was left as
    the form has shown it stays as it is now. Raises NotFound, and InvalidRequest.
    """
    own_contact, form = _of_account(tx, request, visit), request.sent.form
    contacts.lock_contacts(tx, own_contact.owner)
    own_contact = _of_account(tx, request, visit)
    match form.get("do"):
        case "change":
            filled = contact_form.form_of_change(form, own_contact.contact)
            body = contact_form.body_of_change(filled)
            contact_request = contacts.read_contact_request(
                body, phone_required=False, home_country=visit.account.country_code
            )
            patch = contact_request.change
        case "opt_out":
            patch = ContactPatch(None, {"opted_out": True})
        case "opt_in":
            patch = ContactPatch(None, {"opted_out": False})
        case unknown:
            raise invalid_field(
                "do", f"must be one of the buttons of this page, not {quote_value(unknown or '')}"
            )
    contact_id = contacts.text_id(own_contact.contact)
    with _quota_as_field_error():
        after = contacts.update(
            tx, own_contact.owner, contact_id, patch, by=changer_of(visit), now_ms=request.now_ms
        )
    if after != own_contact.contact:
        visit.audit(tx, request, f"contact.{form['do']}", contact_id)
    return _redirect_to(visit, own_contact.contact)


def ask_remove(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the button that removes a contact. Raises RemovedAlready."""
    visit.require(tx, Right.CONTACTS)
    found = _to_remove(tx, request, visit)
    contact_id = contacts.text_id(found.contact)
    return page("contact_remove.html", request, visit=visit, contact=found.contact, id=contact_id)


def remove(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Removes a contact, and shows the list. Raises RemovedAlready."""
    found = _to_remove(tx, request, visit)
    contact_id = contacts.text_id(found.contact)
    contacts.delete(tx, found.owner, contact_id)
    visit.audit(tx, request, "contact.remove", contact_id)
    return redirect(f"{visit.home}/contacts?mode={found.mode}", DoneNotice.REMOVED)


def _select(tx: Connection, request: PageRequest, visit: Visit) -> ListPage[Contact]:
    """Returns the page of contacts that the query asks for. Raises InvalidRequest."""
    query = Query(request.sent.query)
    wanted, page_wanted = read_contacts_query(query, visit), read_page(query)
    query.finish()
    found = contacts.newest(
        tx, wanted.owner, wanted.needle, limit=page_wanted.limit + 1, before=page_wanted.before
    )
    return list_page(request, page_wanted, found, lambda contact: contact.id)


def _of_account(tx: Connection, request: PageRequest, visit: Visit) -> OwnContact:
    """Returns the contact that the path names, of either mode. Raises NotFound for one of another
    account, too.
    """
    live, sandbox = (ContactOwner(visit.account.id, is_sandbox) for is_sandbox in (False, True))
    try:
        return OwnContact(contacts.by_id(tx, live, request.path["contact"]), live)
    except NotFound:
        return OwnContact(contacts.by_id(tx, sandbox, request.path["contact"]), sandbox)


def _to_remove(tx: Connection, request: PageRequest, visit: Visit) -> OwnContact:
    """Returns the contact that the path names. Raises RemovedAlready if there is none."""
    try:
        return _of_account(tx, request, visit)
    except NotFound as gone:
        raise RemovedAlready(list_path=f"{visit.home}/contacts") from gone


@contextmanager
def _quota_as_field_error() -> Iterator[None]:
    """Turns the refusal of a quota into an error of the form, so that the form is shown again."""
    try:
        yield
    except quotas.StorageQuotaReached as error:
        raise InvalidRequest(
            str(error), fields=[FieldError("The contact", f"is not stored. {error}")]
        ) from error


def _redirect_to(visit: Visit, contact: Contact) -> Response:
    path = f"{visit.home}/contacts/{contacts.text_id(contact)}"
    return redirect(path, DoneNotice.SAVED)
