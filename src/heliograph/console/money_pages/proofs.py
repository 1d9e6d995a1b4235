"""Shows proofs of the ledger, and asks for one. Another process makes it."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import accounts, audit
from heliograph.audit import PROOF_STEPS, StoredProof
from heliograph.base.errors import FieldError, NotFound
from heliograph.base.forms import Query
from heliograph.console.navigation import PROOFS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect


class ShownFinding(NamedTuple):
    """Tells what is wrong with which account. `text_id` is None if no single account is meant."""

    text_id: str | None
    name: str
    what: str


def show_list(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Shows the proof that goes on, or the result of the last one, and the ones before."""
    Query(request.sent.query).finish()
    return show_refusal(tx, request, visit)


def show_refusal(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the page of proofs again, with the errors of its form."""
    proofs = audit.newest_proofs(tx)
    newest = proofs[0] if proofs else None
    open_ = newest if newest is not None and newest.ended_at_ms is None else None
    step = None if open_ is None or open_.step >= len(PROOF_STEPS) else PROOF_STEPS[open_.step]
    return page(
        "proofs.html",
        request,
        visit,
        is_live=True,
        status=400 if errors else 200,
        proofs=proofs,
        newest=newest,
        open=open_,
        is_silent=open_ is not None and open_.is_silent(request.now_ms),
        steps=len(PROOF_STEPS),
        step_name="" if step is None else step.name,
        findings=[] if newest is None else _findings(tx, newest),
    )


def request_proof(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Asks for a proof. While another one goes on, it leads to that."""
    asked = audit.ask_proof(tx, visit.by, request.now_ms)
    if asked is not None:
        visit.audit(tx, None, "ledger.verify", asked.text_id)
    return redirect(PROOFS, DoneNotice.ON_ITS_WAY)


def _findings(tx: Connection, proof: StoredProof) -> list[ShownFinding]:
    found = []
    for each in audit.findings_of(tx, proof.id):
        try:
            account = accounts.by_id(tx, each.account_id)
            found.append(ShownFinding(accounts.text_id(account), account.name, each.what))
        except NotFound:
            found.append(ShownFinding(None, "All accounts, or none", each.what))
    return found
