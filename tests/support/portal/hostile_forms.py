"""Fills in all forms of some pages with texts that somebody could do harm with."""

import secrets
from collections.abc import Iterable, Iterator

import httpx

from tests.support.portal.hostile import (
    HOSTILE,
    Form,
    active_parts_of,
    assert_inert,
    forms_of,
)
from tests.support.portal.visitor import Visitor

# what makes a form be read at all: with anything else, each of them answers the same
OF_SESSION = ("form_token", "once")
SIGN_OUT = "/portal/sign-out"
MARKUP = HOSTILE[1]
ADDRESS_HAS_ROOM = 4_000  # for each of its values


def fill_all(visitor: Visitor, paths: Iterable[str], others: Iterable[Form] = ()) -> set[str]:
    """Sends each form of these pages, and `others` that none of them has: once with each hostile
    text in all of its fields, and once with markup in the hidden ones, too. Sees that every answer
    is inert, and so is the page that it leads to. Returns where the forms go.
    """
    forms: dict[tuple[str, str, str], Form] = {}
    active: set[str] = set()
    for path in paths:
        page = visitor.get(path)
        if page.status_code == 200:
            active |= active_parts_of(page.text)
            for form in forms_of(page.text):
                key = (form.method, form.action or path, " ".join(sorted(form.filled)))
                forms.setdefault(key, form._replace(action=form.action or path))
    sent = [form for form in forms.values() if form.action != SIGN_OUT] + list(others)
    for form in sent:
        for text, fields in _filled(form):
            answer = _send(visitor, form, fields)
            about = (form.action, text[:100])
            assert answer.status_code < 500, about
            assert_inert(answer, active, about)
            if answer.status_code == 303:
                assert answer.headers["location"].startswith("/"), about
                assert_inert(visitor.get(answer.headers["location"]), active, about)
    return {form.action.partition("?")[0] for form in sent}


def _filled(form: Form) -> Iterator[tuple[str, dict[str, str]]]:
    for text in HOSTILE if form.filled else ():
        yield text, form.hidden | dict.fromkeys(form.filled, text)
    hidden = [name for name in form.hidden if name not in OF_SESSION]
    yield MARKUP, form.hidden | dict.fromkeys([*form.filled, *hidden], MARKUP)


def _send(visitor: Visitor, form: Form, fields: dict[str, str]) -> httpx.Response:
    if form.method == "get":
        fitting = {name: text[:ADDRESS_HAS_ROOM] for name, text in fields.items()}
        return visitor.get(form.action, params=fitting)
    fields = fields | ({"once": secrets.token_urlsafe()} if "once" in fields else {})
    files = {"file": ("list.csv", b"phone\n12\n", "text/csv")} if form.takes_files else None
    return visitor.post_as_it_is(form.action, data=fields, files=files)
