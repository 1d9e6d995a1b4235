"""Shows what waits for a decision, and takes decisions on sender IDs."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, senders
from heliograph.accounts import Account
from heliograph.base.errors import FieldError
from heliograph.base.forms import Query
from heliograph.base.paging import read_page
from heliograph.base.short_texts import invalid_field
from heliograph.console.account_history import AccountHistory, histories_of
from heliograph.console.navigation import APPROVALS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.list_page import list_page, with_one_more_row
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect, uploaded_file
from heliograph.senders import Sender, Step, documents, reserved_names, states
from heliograph.users import OperatorRight

SHOWN_MAX: Final = 25  # each asks for the past of its account
ACCOUNTS_SHOWN_MAX: Final = 100  # of those that wait to go live
# what is decided, and the status that a sender ID has then
DECISIONS: Final = {
    "approve": states.APPROVED,
    "reject": states.REJECTED,
    "suspend": states.SUSPENDED,
}


class LookAlike(NamedTuple):
    """Holds an approved sender ID of another account that looks like the one that waits."""

    sender: str
    account: str
    account_name: str


class WaitingSender(NamedTuple):
    """Holds a sender ID with what is looked at to decide on it. `since_ms` is when it was last
    submitted.
    """

    sender: Sender
    text_id: str
    since_ms: int
    past: AccountHistory
    look_alikes: list[LookAlike]
    reserved: str | None


class WaitingAccount(NamedTuple):
    """Holds an account that waits to go live."""

    account: Account
    text_id: str


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the sender IDs and the accounts that wait, oldest first. Raises InvalidRequest."""
    query = Query(request.sent.query)
    wanted = read_page(query, most=SHOWN_MAX)
    query.finish()
    wanted = wanted._replace(limit=min(wanted.limit, SHOWN_MAX))
    asked = with_one_more_row(wanted)
    found = senders.waiting(tx, limit=asked.limit, after_id=asked.before)
    displayed = list_page(request, wanted, found, lambda sender: sender.id)
    waiting = accounts.waiting_to_go_live(tx, limit=ACCOUNTS_SHOWN_MAX + 1)
    return page(
        "approvals.html",
        request,
        visit,
        senders=_waiting(tx, request, displayed.rows),
        later=displayed.older,
        is_first=wanted.before is None,
        accounts=[
            WaitingAccount(account, accounts.text_id(account))
            for account in waiting[:ACCOUNTS_SHOWN_MAX]
        ],
        is_cut=len(waiting) > ACCOUNTS_SHOWN_MAX,
    )


def show_sender(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows one sender ID, its history, and the forms of what can be decided now. Raises
    NotFound.
    """
    sender = senders.find(tx, request.path["sender"])
    waiting = next(iter(_waiting(tx, request, [sender])))
    attached, steps = documents.of_sender(tx, sender), senders.history(tx, sender.id)
    return page(
        "approval.html",
        request,
        visit,
        status=400 if errors else 200,
        waiting=waiting,
        decisions=_possible_decisions(sender, waiting.past.account),
        steps=steps,
        documents=attached,
        shown=_form_version(attached, steps),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def download_document(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Sends a document of a sender ID to an operator who may decide on it. Raises NotFound,
    Forbidden.
    """
    visit.require(OperatorRight.APPROVE)
    sender = senders.find(tx, request.path["sender"])
    found = documents.find(tx, sender, request.path["document"])
    return uploaded_file(documents.content_of(tx, found), found.file_name, found.media_type)


def decide(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Approves, rejects or suspends a sender ID, as the commands do. Raises NotFound,
    AccountClosed, and InvalidRequest when what the page showed is not what there is now.
    """
    decision = choice_of("do", request.sent.form.get("do", ""), tuple(DECISIONS))
    account_id = senders.find(tx, request.path["sender"]).account_id
    accounts.require_open(accounts.lock(tx, account_id))  # nobody else decides between the two
    before = senders.find(tx, request.path["sender"])
    if before.status != DECISIONS[decision]:
        _require_as_shown(tx, request, before)
    reason = (
        reason_of(request)
        if decision != "approve" or request.sent.form.get("reason", "").strip()
        else None
    )
    if decision == "approve":
        senders.require_reason(tx, before, reason)
        after = senders.approve(tx, before.id, reason=reason, by=visit.by, now_ms=request.now_ms)
    else:
        assert reason is not None
        decide_against = senders.reject if decision == "reject" else senders.suspend
        after = decide_against(tx, before.id, reason, by=visit.by, now_ms=request.now_ms)
    if after.status != before.status:
        visit.audit(
            tx,
            account_id,
            f"sender.{decision}",
            senders.text_id(before),
            before=f"{before.sender}: {before.status}",
            after=f"{after.sender}: {after.status}",
            reason=reason,
        )
    if before.status == states.SUBMITTED:  # on to the next that waits
        return redirect(APPROVALS, DoneNotice.SAVED)
    done = DoneNotice.SAVED if after.status != before.status else DoneNotice.DONE_ALREADY
    return redirect(f"{APPROVALS}/senders/{senders.text_id(after)}", done)


def _possible_decisions(sender: Sender, account: Account) -> list[str]:
    """Returns what can be decided on a sender ID now: nothing if its account is closed."""
    return [
        decision
        for decision, status in DECISIONS.items()
        if account.closed_at_ms is None and states.SENDER.allows(sender.status, status)
    ]


def _form_version(attached: Sequence[documents.SenderDocument], steps: Sequence[Step]) -> str:
    """Names the documents and the last step of the history that a page shows. Its form sends it
    back, so that nobody decides on what was not seen.
    """
    last = [f"{step.status}:{step.at_ms}" for step in steps[:1]]
    return " ".join([*last, *(document.text_id for document in attached)])


def _require_as_shown(tx: Connection, request: PageRequest, sender: Sender) -> None:
    now = _form_version(documents.of_sender(tx, sender), senders.history(tx, sender.id))
    if request.sent.form.get("shown") != now:
        raise invalid_field(
            "shown",
            "is not what there is now: a document was added or removed, or somebody decided,"
            " after you had opened this page. Look at it again, then decide",
        )


def _waiting(
    tx: Connection, request: PageRequest, waiting_senders: Sequence[Sender]
) -> list[WaitingSender]:
    alike = senders.look_alikes(tx, waiting_senders)
    others = {other.account_id for each in alike.values() for other in each}
    owners = accounts.by_ids(tx, {sender.account_id for sender in waiting_senders} | others)
    since = senders.submitted_at_ms(tx, {sender.id for sender in waiting_senders})
    pasts = histories_of(
        tx, [owners[sender.account_id] for sender in waiting_senders], request.now_ms
    )
    return [
        WaitingSender(
            sender,
            senders.text_id(sender),
            since.get(sender.id, sender.created_at_ms),
            pasts[sender.account_id],
            [_look_alike(owners, other) for other in alike[sender.id]],
            None
            if sender.sandbox
            else reserved_names.reason_for(tx, sender.sender, request.service.service_sender),
        )
        for sender in waiting_senders
    ]


def _look_alike(owners: Mapping[str, Account], other: Sender) -> LookAlike:
    account = owners[other.account_id]
    return LookAlike(other.sender, accounts.text_id(account), account.name)
