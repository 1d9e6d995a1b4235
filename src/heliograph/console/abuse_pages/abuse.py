"""Shows where one-time passwords are refused, which accounts send suddenly more, what texts link
to, and which sender IDs that wait look like others; blocks ranges of numbers, and lets them go.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import accounts, otp, senders
from heliograph.accounts import Account
from heliograph.base import ids
from heliograph.base.errors import FieldError, NotFound
from heliograph.console.named_account import OwnerOfRow, account_named, owners_of_rows
from heliograph.console.navigation import ABUSE
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.messages.read import SEND_PREFIX
from heliograph.messages.reports.linked_hosts import LinkedHost, LinkedHosts, linked_hosts
from heliograph.messages.reports.sudden_volume import (
    DAYS_BEFORE,
    LEAST,
    TIMES,
    SuddenVolume,
    sudden_volumes,
)
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER, DoneNotice, redirect

ABUSES_SHOWN_MAX: Final = 100  # of each list
EVERYWHERE: Final = "all"  # in place of a country: the account's, wherever they go


class RefusedDestination(NamedTuple):
    """Says where one-time passwords of an account are refused: a range of numbers, a country, or
    everywhere (EVERYWHERE). `is_range` tells which.
    """

    owner: OwnerOfRow
    destination: str
    is_range: bool
    sends: int
    since_ms: int
    until_ms: int


class NamedVolume(NamedTuple):
    owner: OwnerOfRow
    volume: SuddenVolume


class NamedLink(NamedTuple):
    """Holds a host that an account links to, and the names that it looks like, each with its
    account, or None if the operator has reserved the name. `send` is the newest send, in text form.
    """

    owner: OwnerOfRow
    link: LinkedHost
    send: str
    like: list[tuple[str, OwnerOfRow | None]]

    @property
    def defanged(self) -> str:
        """Returns the host so that nothing makes a link of it."""
        return self.link.host.replace(".", "[.]")


class NamedLookAlike(NamedTuple):
    """Holds a sender ID that waits, and approved ones, each with its account."""

    owner: OwnerOfRow
    sender: str
    text_id: str
    like: list[tuple[str, OwnerOfRow]]


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows all of it, and the form that blocks a range. Hosts are shown to operators who may read
    texts.
    """
    found = linked_hosts(tx, request.now_ms)
    return page(
        "abuse.html",
        request,
        visit,
        status=400 if errors else 200,
        refused=_refused(tx, request.now_ms),
        volumes=_volumes(tx, request.now_ms),
        read=found,
        links=_links(tx, found),
        look_alikes=_look_alikes(tx),
        shown_max=ABUSES_SHOWN_MAX,
        range_digits=otp.RANGE_DIGITS,
        guard_sends=otp.SENDS_MAX,
        days_before=DAYS_BEFORE,
        least=LEAST,
        times=TIMES,
        typed=request.sent.form,
        errors={error.field: error.message for error in errors},
    )


def block(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Makes the guard refuse a range of numbers to an account. Raises InvalidRequest."""
    form = body_of(request)
    account = account_named(tx, "account", form.get("account", ""))
    reason = reason_of(request)
    made = otp.block(tx, account.id, form.get("range", ""), request.now_ms)
    _audit(tx, visit, account, "otp.block", place=made.digits, reason=reason)
    return redirect(ABUSE, DoneNotice.SAVED)


def ask_unblock(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows what is refused, and the form that lets it go. Without an account it leads to the list.
    Raises NotFound.
    """
    asked = request.sent.all_fields
    if not asked.get("account"):
        return RedirectResponse(ABUSE, SEE_OTHER, HEADERS)
    account = accounts.with_text_id(tx, asked.get("account", ""))
    found = [
        each
        for each in _refused(tx, request.now_ms, account_id=account.id)
        if each.destination == asked.get("place", "")
    ]
    if not found:
        raise NotFound("One-time passwords are not refused there any more.")
    return page(
        "unblock.html",
        request,
        visit,
        status=400 if errors else 200,
        each=found[0],
        typed=asked,
        errors={error.field: error.message for error in errors},
    )


def unblock(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Lets one-time passwords go out again, as the command does. Where they do already, it says so.
    Raises InvalidRequest and NotFound.
    """
    form = request.sent.form
    reason = reason_of(request)
    account = account_named(tx, "account", form.get("account", ""))
    place = form.get("place", "")
    refused = _refused(tx, request.now_ms, account_id=account.id)
    if all(each.destination != place for each in refused):
        return redirect(ABUSE, DoneNotice.DONE_ALREADY)
    if place.isdigit():
        otp.unblock(tx, account.id, place, request.now_ms)
    else:
        country_code = otp.ALL_COUNTRIES if place == EVERYWHERE else place
        otp.lift_cap(tx, account.id, country_code, request.now_ms)
    _audit(tx, visit, account, "otp.unblock", place=place, reason=reason)
    return redirect(ABUSE, DoneNotice.SAVED)


def _audit(
    tx: Connection, visit: OperatorVisit, account: Account, action: str, *, place: str, reason: str
) -> None:
    states = ("let through", "refused")
    before, after = states if action == "otp.block" else states[::-1]
    visit.audit(
        tx,
        account.id,
        action,
        accounts.text_id(account),
        before=f"{place}: {before}",
        after=f"{place}: {after}",
        reason=reason,
    )


def _refused(
    tx: Connection, now_ms: int, account_id: str | None = None
) -> list[RefusedDestination]:
    """Returns where one-time passwords are refused, what began last first."""
    ranges = otp.find_blocked(tx, now_ms, limit=ABUSES_SHOWN_MAX, account_id=account_id)
    capped = otp.find_capped(tx, now_ms, limit=ABUSES_SHOWN_MAX, account_id=account_id)
    owners = owners_of_rows(
        tx, {each.account_id for each in ranges} | {each.key.account_id for each in capped}
    )
    refused = [
        RefusedDestination(
            owners[each.account_id],
            each.digits,
            is_range=True,
            sends=each.sends,
            since_ms=each.blocked_at_ms,
            until_ms=each.until_ms,
        )
        for each in ranges
    ]
    refused += [
        RefusedDestination(
            owners[each.key.account_id],
            EVERYWHERE if each.key.country_code == otp.ALL_COUNTRIES else each.key.country_code,
            is_range=False,
            sends=each.unverified,
            since_ms=each.capped_at_ms,
            until_ms=each.until_ms,
        )
        for each in capped
    ]
    return sorted(refused, key=lambda each: -each.since_ms)[:ABUSES_SHOWN_MAX]


def _volumes(tx: Connection, now_ms: int) -> list[NamedVolume]:
    found = sudden_volumes(tx, now_ms)[:ABUSES_SHOWN_MAX]
    owners = owners_of_rows(tx, {each.account_id for each in found})
    return [NamedVolume(owners[each.account_id], each) for each in found]


def _links(tx: Connection, found: LinkedHosts) -> list[NamedLink]:
    hosts = found.hosts[:ABUSES_SHOWN_MAX]
    of_like = {name.account_id for each in hosts for name in each.like if name.account_id}
    owners = owners_of_rows(tx, of_like | {each.account_id for each in hosts})
    return [
        NamedLink(
            owners[each.account_id],
            each,
            ids.text_of_raw(SEND_PREFIX, each.send_id),
            [(name.name, owners.get(name.account_id or "")) for name in each.like],
        )
        for each in hosts
    ]


def _look_alikes(tx: Connection) -> list[NamedLookAlike]:
    found = senders.waiting_look_alikes(tx)[:ABUSES_SHOWN_MAX]
    of_all = [sender for each in found for sender in (each.sender, *each.like)]
    owners = owners_of_rows(tx, {sender.account_id for sender in of_all})
    return [
        NamedLookAlike(
            owners[each.sender.account_id],
            each.sender.sender,
            senders.text_id(each.sender),
            [(other.sender, owners[other.account_id]) for other in each.like],
        )
        for each in found
    ]
