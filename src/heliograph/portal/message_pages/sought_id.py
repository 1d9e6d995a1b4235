"""Leads from an id to the page of what it names. Its prefix says what that is."""

from collections.abc import Callable
from typing import Final, TypeAlias
from urllib.parse import urlencode

from sqlalchemy.engine import Connection

from heliograph import accounts, campaigns, connect, contacts, inbound, keys, plugin, senders, users
from heliograph.base import ids
from heliograph.base.errors import NotFound
from heliograph.base.forms import quote_value
from heliograph.base.paging import ALWAYS, PageWanted, cursor_at
from heliograph.contacts import ContactOwner, stored_import
from heliograph.messages import read
from heliograph.otp.code import ID_PREFIX as OTP_PREFIX
from heliograph.portal.visit import Visit
from heliograph.requests import raw_request_id
from heliograph.users import members
from heliograph.wallet import account_ledger, ledger
from heliograph.webhooks import EVENT_PREFIX, endpoints, history

# takes an id and the mode that was chosen; returns a path below the account, or raises NotFound
_Finder: TypeAlias = Callable[[Connection, Visit, str, str], str]


def path_of_id(tx: Connection, visit: Visit, text: str, mode: str) -> str | None:
    """Returns where an id leads, below the account, or None for a text that is no id, and for the
    id of nothing that the account has. `mode` is for what is listed by mode.
    """
    finder = _finder_of(text)
    if finder is None:
        return None
    try:
        return finder(tx, visit, text, mode)
    except NotFound:
        return None


def refusal_of(text: str) -> str:
    """Says what is wrong with a text for which `path_of_id` returns None."""
    if _finder_of(text) is not None:
        return f"must be the id of something that this account has, not {quote_value(text)}"
    return (
        "must be an id such as msg_… of a message, cmp_… of a campaign or con_… of a contact, not"
        f" {quote_value(text)}"
    )


def _finder_of(text: str) -> _Finder | None:
    prefix, _, rest = text.partition("_")
    if not rest or not text.isascii() or not rest.isalnum():
        return None
    if raw_request_id(text) is not None:
        return _request
    return _FINDERS.get(prefix)


def _request(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    return f"/requests?{urlencode({'mode': mode, 'id': text})}"


def _message(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    message_of(tx, visit.account.id, text)
    return f"/messages/{text}"


def message_of(tx: Connection, account_id: str, message_id: str) -> read.Message:
    """Returns a message of either mode. Raises NotFound."""
    try:
        return read.message_of(tx, account_id, message_id, sandbox=False)
    except NotFound:
        return read.message_of(tx, account_id, message_id, sandbox=True)


def _send(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    return f"/messages?{urlencode({'mode': mode, 'send_id': text})}"


def _otp(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    send_id = f"{read.SEND_PREFIX}_{text.partition('_')[2]}"  # it has the id of its send
    return _send(tx, visit, send_id, mode)


def _campaign(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    if campaigns.find(tx, text).account_id != visit.account.id:
        raise NotFound()
    return f"/campaigns/{text}"


def _event(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    """Returns the page of an event at the first endpoint of the account that is told of it."""
    raw_id = ids.raw_of_text(EVENT_PREFIX, text)
    deliveries = history.deliveries_of(tx, visit.account.id, [raw_id]) if raw_id is not None else []
    if not deliveries:
        raise NotFound()
    return f"/webhooks/{endpoints.text_id(deliveries[0].endpoint_id)}/events/{text}"


def _endpoint(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    if endpoints.endpoint_of(tx, text).account_id != visit.account.id:
        raise NotFound()
    return f"/webhooks/{text}"


def _contact(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    try:
        contacts.by_id(tx, ContactOwner(visit.account.id, sandbox=False), text)
    except NotFound:
        contacts.by_id(tx, ContactOwner(visit.account.id, sandbox=True), text)
    return f"/contacts/{text}"


def _import(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    stored_import.import_by_id(tx, visit.account.id, text)
    return f"/contacts/imports/{text}"


def _inbound_text(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    for sandbox in (False, True):
        try:
            found = inbound.inbound_text(tx, visit.account.id, text, sandbox=sandbox)
        except NotFound:
            continue
        if found.sender is not None:  # else it was erased
            query = urlencode({"mode": "sandbox" if sandbox else "live"})
            return f"/conversations/{text}?{query}"
    raise NotFound()


def _key(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    found = keys.find(tx, text)
    if found.account_id != visit.account.id:
        raise NotFound()
    return f"/keys?cursor={_cursor_from(found.id)}#{text}"


def _entry(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    raw_id = ids.raw_of_text(ledger.ID_PREFIX, text) or ""
    wanted = PageWanted(1, _next_id(raw_id) if raw_id else None)
    found = account_ledger.page(tx, visit.account.id, wanted, ALWAYS, None, None)
    if [entry.id for entry in found[:1]] != [raw_id]:
        raise NotFound()
    return f"/money?cursor={_cursor_from(raw_id)}#{text}"


def _customer(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    connect.of_partner(tx, visit.account.id, text)
    return f"/connect/{text}"


def _sender(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    senders.own_sender(tx, visit.account.id, text)
    return f"/senders#{text}"


def _site(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    plugin.site_of(tx, visit.account.id, text)
    return f"/sites/{text}"


def _member(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    if members.role_of(tx, visit.account.id, users.with_text_id(tx, text).id) is None:
        raise NotFound()
    return "/members"


def _account(tx: Connection, visit: Visit, text: str, mode: str) -> str:
    if text != accounts.text_id(visit.account):
        raise NotFound()
    return ""


def _cursor_from(raw_id: str) -> str:
    """Returns the cursor of the page of a list that begins with this id."""
    return cursor_at(_next_id(raw_id))


def _next_id(raw_id: str) -> str:
    return f"{int(raw_id, 16) + 1:032x}"


_FINDERS: Final[dict[str, _Finder]] = {
    read.MESSAGE_PREFIX: _message,
    read.SEND_PREFIX: _send,
    OTP_PREFIX: _otp,
    read.CAMPAIGN_PREFIX: _campaign,
    EVENT_PREFIX: _event,
    "whe": _endpoint,
    "con": _contact,
    "imp": _import,
    inbound.INBOUND_PREFIX: _inbound_text,
    "key": _key,
    ledger.ID_PREFIX: _entry,
    accounts.CUSTOMER_PREFIX: _customer,
    "sid": _sender,
    "site": _site,
    "usr": _member,
    "acc": _account,
}
