"""Finds accounts, shows one, and suspends and resumes it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, campaigns, keys, plugin, senders, users, wallet
from heliograph.accounts import Account, notices, status_history
from heliograph.base.errors import FieldError
from heliograph.base.forms import Query
from heliograph.base.paging import PageWanted, read_page
from heliograph.console.account_history import history_of
from heliograph.console.account_pages.account_days import days_of
from heliograph.console.account_pages.account_search import (
    address_of_search,
    place_of_key,
)
from heliograph.console.navigation import ACCOUNTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.jobs import find_accounts
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.list_page import list_page, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect
from heliograph.users import members
from heliograph.wallet import Wallet, money
from heliograph.webhooks import endpoints

SHOWN_MAX: Final = 50
BELOW_MAX: Final = 20  # keys, sender IDs, sites and the like on the page of one account
CHANGES: Final = ("suspend", "resume")


class ListedAccount(NamedTuple):
    """Holds an account with its wallet and its id in text form."""

    account: Account
    text_id: str
    wallet: Wallet


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the accounts that were looked for, newest first. A whole API key is taken out of the
    address. Raises InvalidRequest.
    """
    query = Query(request.sent.query)
    looked_for = (query.text("q") or "").strip()
    if (place := place_of_key(tx, looked_for)) is not None:
        return redirect(place)
    wanted = read_page(query, most=SHOWN_MAX)
    query.finish()
    wanted = wanted._replace(limit=min(wanted.limit, SHOWN_MAX))
    found = find_accounts.find(tx, looked_for, with_one_more_row(wanted))
    displayed = list_page(request, wanted, found, lambda account: account.id)
    return page(
        "accounts.html",
        request,
        visit,
        status=400 if errors else 200,
        accounts=_with_wallets(tx, displayed.rows),
        older=displayed.older,
        typed={"q": looked_for},
        errors={error.field: error.message for error in errors},
    )


def search(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Leads to the list of what a form looks for. It is sent as a form and not in an address,
    because it may be a whole API key, which leads to the page of the key.
    """
    looked_for = body_of(request).get("q", "")
    return redirect(place_of_key(tx, looked_for) or address_of_search(looked_for))


def show_account(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows one account, and the form that suspends or resumes it. Raises NotFound."""
    account = accounts.with_text_id(tx, request.path["account"])
    held = wallet.wallet_of(tx, account.id)
    partner = None if account.parent_id is None else accounts.by_id(tx, account.parent_id)
    below = BELOW_MAX + 1
    return page(
        "account.html",
        request,
        visit,
        status=400 if errors else 200,
        past=history_of(tx, account, request.now_ms),
        by_day=days_of(tx, account.id, request.now_ms),
        account=account,
        wallet=held,
        money=money.to_text(held.visible_figures.balance_minor, held.currency),
        last=status_history.last(tx, account.id),
        partner=partner and ListedAccount(partner, accounts.text_id(partner), held),
        members=[
            (users.text_id(member.user), member)
            for member in members.page(tx, account.id, PageWanted(below, None))
        ],
        notices=notices.of_account(tx, account.id, below),
        keys=[
            (key, keys.text_id(key)) for key in keys.page(tx, limit=below, account_id=account.id)
        ],
        senders=[
            (sender, senders.text_id(sender))
            for sender in senders.page(tx, limit=below, account_id=account.id)
        ],
        endpoints=[
            (endpoint, endpoints.text_id(endpoint.id))
            for endpoint in endpoints.all_endpoints(tx, account.id, limit=below)
        ],
        campaigns=[
            (campaign, campaigns.text_id(campaign))
            for campaign in campaigns.page(tx, limit=below, account_id=account.id)
        ],
        sites=plugin.sites_page(tx, limit=below, account_id=account.id),
        customers=_with_wallets(tx, accounts.page(tx, limit=below, parent_id=account.id)),
        below_max=BELOW_MAX,
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Suspends or resumes an account, as the commands do. Raises NotFound, AccountClosed."""
    wanted = choice_of("do", request.sent.form.get("do", ""), CHANGES)
    reason = reason_of(request)
    found = accounts.with_text_id(tx, request.path["account"])
    before = accounts.lock(tx, found.id)  # nobody else changes it between the two
    if wanted == "suspend":
        after, action = accounts.suspend(tx, before.id), "account.suspend"
    else:
        after, action = accounts.resume(tx, before.id), "account.resume"
    if after.status != before.status:
        status_change = status_history.StatusChange(after.status, reason, visit.by, request.now_ms)
        status_history.record(tx, before.id, status_change)
        visit.audit(
            tx,
            before.id,
            action,
            accounts.text_id(before),
            before=before.status,
            after=after.status,
            reason=reason,
        )
    return redirect(f"{ACCOUNTS}/{accounts.text_id(before)}", DoneNotice.SAVED)


def _with_wallets(tx: Connection, found: Sequence[Account]) -> list[ListedAccount]:
    wallets = wallet.wallets_of(tx, [account.id for account in found])
    return [
        ListedAccount(account, accounts.text_id(account), wallets[account.id]) for account in found
    ]
