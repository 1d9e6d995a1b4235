"""Adds a tag to many contacts, or removes it: those that were selected in the list, or all that a
search finds. A page says first how many it will change.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from starlette.responses import Response

from heliograph.base.errors import FieldError, InvalidRequest, ServiceError
from heliograph.base.forms import Query
from heliograph.base.short_texts import invalid_field
from heliograph.contacts import tag_many
from heliograph.contacts.tag_many import ChosenContacts, TagChange, TagCount
from heliograph.portal.contact_pages.contacts import PICKED_MAX, read_contacts_query
from heliograph.portal.filled_form import choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import page
from heliograph.portal.visit import Visit, visit_of
from heliograph.users import Right

PICK: Final = "pick"  # the field of a contact that is selected
BETWEEN: Final = ","  # ids, in the one field of the form that changes them
WAYS: Final = ("add", "remove")
CHOOSING: Final = ("mode", "q", "all", "picked")  # the fields that say which contacts
FIELDS: Final = (*CHOOSING, "tag", "way")


class TagForm(NamedTuple):
    """Says whose tags are changed, and what the form's fields are to say so again. `change` is
    None until a tag is typed.
    """

    chosen: ChosenContacts
    change: TagChange | None
    choosing_fields: list[tuple[str, str]]


def show_form(request: PageRequest, visit: Visit) -> Response:
    """Shows which contacts were chosen, takes a tag, and says how many it would change."""
    fields = request.sent.query
    with request.db.read() as tx:
        visit.require(tx, Right.CONTACTS)
    picked = [value for name, value in fields if name == PICK]
    others = [(name, value) for name, value in fields if name != PICK]
    return _render(
        request, visit, [*others, *([("picked", BETWEEN.join(picked))] if picked else [])]
    )


def change(request: PageRequest) -> Response:
    """Changes the tags in several transactions, and says what became of it."""
    with request.db.read() as tx:
        visit = visit_of(tx, request)
        visit.require(tx, Right.CONTACTS)
    fields = [(name, value) for name, value in request.sent.form.items() if name in FIELDS]
    try:
        tag_form = _read_form(fields, visit)
        if tag_form.change is None:
            raise invalid_field("tag", "is required")
        matching = tag_many.count(request.db, tag_form.chosen, tag_form.change)
    except InvalidRequest as wrong:
        return _render(request, visit, fields, wrong)
    with request.db.write() as tx:  # before the first of the transactions that change contacts
        way = "added to" if tag_form.change.is_added else "removed from"
        detail = f"{tag_form.change.tag} {way} {matching.changing} contacts"
        visit.audit(tx, request, "contact.tag", detail=detail)
    done, ended_by = TagCount(), None
    try:
        for step in tag_many.apply(
            request.db, tag_form.chosen, tag_form.change, now_ms=request.now_ms
        ):
            done += step
    except ServiceError as error:  # what is committed stays
        ended_by = error
    return page(
        "contacts_tagged.html",
        request,
        status=ended_by.status if ended_by else 200,
        visit=visit,
        change=tag_form.change,
        done=done,
        ended_by=ended_by,
        mode="sandbox" if tag_form.chosen.owner.sandbox else "live",
    )


def _read_form(fields: Sequence[tuple[str, str]], visit: Visit) -> TagForm:
    """Reads the fields of the form that changes tags. Raises InvalidRequest for all that is wrong
    with them.
    """
    typed_fields = dict(fields)
    query = Query([(name, typed_fields.get(name, "")) for name in ("mode", "q")])
    contacts_query = read_contacts_query(query, visit)
    query.finish()
    picked = [each for each in typed_fields.get("picked", "").split(BETWEEN) if each]
    if len(picked) > PICKED_MAX:
        raise invalid_field("picked", f"must be at most {PICKED_MAX} contacts, not {len(picked)}")
    is_all = bool(typed_fields.get("all"))
    if not (is_all or picked):
        raise invalid_field("picked", "must be one at least: select contacts in the list")
    chosen = ChosenContacts(contacts_query.owner, contacts_query.needle, () if is_all else picked)
    tag = typed_fields.get("tag", "").strip()
    choosing_fields = [(name, typed_fields[name]) for name in CHOOSING if typed_fields.get(name)]
    if not tag:
        return TagForm(chosen, None, choosing_fields)
    way = choice_of("way", typed_fields.get("way", "add"), WAYS)
    try:
        return TagForm(
            chosen, tag_many.read_tag_change(tag, is_added=way == "add"), choosing_fields
        )
    except ValueError as error:
        raise invalid_field("tag", str(error)) from error


def _render(
    request: PageRequest,
    visit: Visit,
    fields: Sequence[tuple[str, str]],
    wrong: InvalidRequest | None = None,
) -> Response:
    """Opens transactions, so none may be open."""
    tag_form, counted = None, None
    try:
        tag_form = _read_form(fields, visit)
        if tag_form.change is not None and wrong is None:
            counted = tag_many.count(request.db, tag_form.chosen, tag_form.change)
    except InvalidRequest as error:
        wrong = error
    at_fields = wrong.fields if wrong is not None else []
    typed_fields = dict(fields)
    return page(
        "contact_tags.html",
        request,
        status=wrong.status if wrong else 200,
        visit=visit,
        wanted=tag_form,
        counted=counted,
        typed={"way": "add", **typed_fields},
        again=tag_form.choosing_fields
        if tag_form
        else [(field, value) for field, value in fields if field in CHOOSING],
        ways=WAYS,
        mode=typed_fields.get("mode") or visit.mode,
        errors={error.field: error.message for error in at_fields},
        others=[error for error in at_fields if error.field not in ("tag", "way")]
        or ([] if at_fields or wrong is None else [FieldError("", str(wrong))]),
    )
