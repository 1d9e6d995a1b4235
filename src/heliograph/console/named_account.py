"""Finds the account that somebody has named in a field of a form, and names accounts in rows."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection

from heliograph import accounts
from heliograph.accounts import Account
from heliograph.base.errors import FieldError, InvalidRequest, NotFound
from heliograph.base.forms import Query
from heliograph.base.paging import PageWanted, paging_fields, read_page
from heliograph.base.short_texts import invalid_field
from heliograph.portal.page_request import PageRequest

ACCOUNT: Final = "account"  # the field that names it


class OwnerOfRow(NamedTuple):
    """Names an account, for a link to its page."""

    text_id: str
    name: str


def account_named(tx: Connection, field: str, text: str) -> Account:
    """Returns the account that a field names by its id or its name. Raises InvalidRequest."""
    try:
        return accounts.find(tx, text)
    except (NotFound, InvalidRequest) as none:
        raise invalid_field(field, f"was not found: {none}") from none


class AccountList(NamedTuple):
    """Says of which account a list is asked for, if one is named, which page of it, and what is
    wrong with that.
    """

    account: Account | None
    wanted: PageWanted
    errors: list[FieldError]


def account_asked(tx: Connection, fields: Mapping[str, str]) -> Account | None:
    """Returns the account that is named, or None if none is. Raises InvalidRequest."""
    named = fields.get(ACCOUNT, "").strip()
    return account_named(tx, ACCOUNT, named) if named else None


def account_required(tx: Connection, fields: Mapping[str, str]) -> Account:
    """Returns the account that is named. Raises InvalidRequest, also if none is."""
    account = account_asked(tx, fields)
    if account is None:
        raise invalid_field(ACCOUNT, "is required")
    return account


def read_account_list(
    tx: Connection, request: PageRequest, errors: Sequence[FieldError], *, most: int
) -> AccountList:
    """Reads which page of `most` rows a list of an account is asked for. `errors` are those of the
    form that is shown with it.
    """
    query = Query(paging_fields(request.sent.query))
    wanted = read_page(query, most=most)
    try:
        query.finish()
        return AccountList(account_asked(tx, request.sent.all_fields), wanted, list(errors))
    except InvalidRequest as refused:
        wrong = [*errors, *(each for each in refused.fields if each not in errors)]
        return AccountList(None, PageWanted(most, None), wrong)


def owners_of_rows(tx: Connection, account_ids: Collection[str]) -> dict[str, OwnerOfRow]:
    """Returns how rows name these accounts, by their raw ids."""
    found = accounts.by_ids(tx, account_ids)
    return {
        account_id: OwnerOfRow(accounts.text_id(account), account.name)
        for account_id, account in found.items()
    }
