"""Shows the API keys of an account: a list, a form that makes one, which is shown once, and a
button that revokes one. Making and revoking take a fresh sign-in.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, keys
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import Conflict, FieldError, NotFound
from heliograph.base.forms import Query, quote_value
from heliograph.base.paging import read_page
from heliograph.base.short_texts import invalid_field
from heliograph.keys import ALL_PERMISSIONS, ApiKey
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.form_idempotency import random_of, record_of, run_path_form_once
from heliograph.portal.languages import marked
from heliograph.portal.list_page import list_page
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, page, redirect
from heliograph.portal.visit import MODES, Visit
from heliograph.requests import ApiResponse
from heliograph.users import Right

CONNECT_PERMISSION: Final = "connect.customers"
PERMISSION_FIELD: Final = "may "  # before the name of each permission, in a form
# what each permission lets a key do, in the words of docs/api.md
LETS: Final = {
    "sms.send": marked("send texts and one-time passwords, and verify them"),
    "sms.read": marked("read messages and reports"),
    "wallet.read": marked("read the balance, transactions and the account's status"),
    "contacts.read": marked("read contacts"),
    "contacts.write": marked("add, change and remove contacts"),
    "campaigns.read": marked("read campaigns"),
    "connect.customers": marked("work with Connect customers, and act for them"),
    "sender_ids.read": marked("read sender IDs"),
    "sender_ids.write": marked("register sender IDs"),
}
EXPIRES: Final = {"never": None, "in 30 days": 30, "in 90 days": 90, "in 365 days": 365}
PURPOSE: Final = "api key of a form"
OF_ANOTHER_SESSION: Final = "This key is shown only to whoever has made it. Make another key."
FIELDS: Final = ("name", "mode", "tier", "expires", "permissions")


def show_list(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the account's keys, newest first, and those that are expired or revoked, too."""
    query = Query(request.sent.query)
    wanted = read_page(query)
    query.finish()
    found = keys.page(
        tx, limit=wanted.limit + 1, account_id=visit.account.id, before_id=wanted.before
    )
    on_page = list_page(request, wanted, found, lambda key: key.id)
    return page(
        "keys.html",
        request,
        visit=visit,
        keys=[(keys.text_id(key), key) for key in on_page.rows],
        older=on_page.older,
        permissions_total=len(ALL_PERMISSIONS),
        may_make=visit.may(Right.KEYS),
    )


def show_form(
    tx: Connection, request: PageRequest, visit: Visit, errors: Sequence[FieldError] = ()
) -> Response:
    """Shows the form that makes a key."""
    visit.require(tx, Right.KEYS)
    visit.require_fresh(request.now_ms)
    typed = {"mode": visit.mode, "tier": "standard", **request.sent.form}
    return page(
        "key_new.html",
        request,
        status=400 if errors else 200,
        visit=visit,
        typed=typed,
        errors={error.field: error.message for error in errors},
        others=[error for error in errors if error.field not in FIELDS],
        modes=visit.modes,
        tiers=keys.tiers_up_to(tx, visit.account.max_tier),
        expires=tuple(EXPIRES),
        permissions=[
            (name, f"{PERMISSION_FIELD}{name}", LETS[name])
            for name in ALL_PERMISSIONS
            if name != CONNECT_PERMISSION or visit.may(Right.CONNECT)
        ],
    )


def make(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Makes a key, and shows it, this once. A form that is sent twice makes one key, and both
    answers show it.
    """
    visit.require_fresh(request.now_ms)
    body = body_of(request)
    mode = choice_of("mode", body.get("mode", visit.mode), MODES)
    allowed = [tier.name for tier in keys.tiers_up_to(tx, visit.account.max_tier)]
    days = EXPIRES[choice_of("expires", body.get("expires", "never"), tuple(EXPIRES))]
    permissions = _permissions(body)
    if CONNECT_PERMISSION in permissions:
        visit.require(tx, Right.CONNECT)  # what an owner may do for customers, such a key may do
    tier = choice_of("tier", body.get("tier", allowed[-1]), allowed)
    random = random_of(request, visit, PURPOSE)[: keys.RANDOM_OCTETS]

    def effect(tx: Connection) -> ApiResponse:
        record = keys.issue(
            tx,
            visit.account.id,
            name=body.get("name", mode),
            sandbox=mode == "sandbox",
            tier=tier,
            permissions=permissions,
            expires_at_ms=None if days is None else request.now_ms + days * DAY_MS,
            random=random,
            now_ms=request.now_ms,
        ).record
        visit.audit(tx, request, "key.make", keys.text_id(record), f"{mode}: {record.name}")
        return ApiResponse({"id": keys.text_id(record)})

    made = record_of(run_path_form_once(tx, request, visit, effect))
    key = key_of_maker(tx, made["id"], keys.make_key(mode == "sandbox", random))
    return page("key_made.html", request, visit=visit, key=key, record=keys.find(tx, made["id"]))


def key_of_maker(tx: Connection, text_id: str, key: str) -> str:
    """Returns the text of the key that a form has made, as it is made of that form. It is that of
    another key if another session has sent the form before: raises Conflict then.
    """
    if not keys.is_text_of(tx, text_id, key):
        raise Conflict(OF_ANOTHER_SESSION)
    return key


def ask_revoke(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Shows the button that revokes a key."""
    visit.require(tx, Right.KEYS)
    visit.require_fresh(request.now_ms)
    key = _of_account(tx, request, visit)
    return page("key_revoke.html", request, visit=visit, key=key, id=keys.text_id(key))


def revoke(tx: Connection, request: PageRequest, visit: Visit) -> Response:
    """Revokes a key, and shows the list."""
    visit.require_fresh(request.now_ms)
    accounts.lock(tx, visit.account.id)  # of two at once, one revokes it
    key = _of_account(tx, request, visit)
    if key.revoked_at_ms is None:
        keys.revoke(tx, key.id, now_ms=request.now_ms)
        visit.audit(tx, request, "key.revoke", keys.text_id(key), key.name)
    return redirect(f"{visit.home}/keys", DoneNotice.REVOKED)


def _of_account(tx: Connection, request: PageRequest, visit: Visit) -> ApiKey:
    """Returns the key that the path names. Raises NotFound for one of another account, too."""
    key = keys.find(tx, request.path["key"])
    if key.account_id != visit.account.id:
        raise NotFound(f"There is no key with the id {quote_value(request.path['key'])}.")
    return key


def _permissions(body: dict[str, str]) -> tuple[str, ...]:
    given = [name for name in ALL_PERMISSIONS if f"{PERMISSION_FIELD}{name}" in body]
    if not given:
        raise invalid_field("permissions", "must be one at least: a key without any opens nothing")
    return tuple(given)
