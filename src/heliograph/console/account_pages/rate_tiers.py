"""Shows how many requests a minute the keys of each tier may make, and sets it, as the commands
do.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import keys
from heliograph.base.errors import FieldError
from heliograph.base.forms import Query
from heliograph.console.navigation import TIERS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.reasons import reason_of
from heliograph.console.rendering import page
from heliograph.keys import PER_MINUTE_MAX
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect

FIELDS: Final = ("tier", "per_minute", "reason")
CHANGES: Final = ("change", "add")


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows the tiers, the slowest first, and the forms that change one and add one."""
    return page(
        "rate_tiers.html",
        request,
        visit,
        status=400 if errors else 200,
        tiers=keys.all_tiers(tx),
        typed=body_of(request),
        errors={error.field: error.message for error in errors},
    )


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Adds a tier, or changes what one allows that there is. Raises InvalidRequest."""
    wanted = choice_of("do", request.sent.form.get("do", ""), CHANGES)
    reason = reason_of(request)
    body = body_of(request)
    digits = "".join(body.get("per_minute", "").split())
    query = Query([("per_minute", digits)])
    per_minute = query.integer("per_minute", default=0, least=1, most=PER_MINUTE_MAX)
    query.finish()
    do = keys.add_tier if wanted == "add" else keys.change_tier
    done = do(tx, body.get("tier", ""), per_minute)
    before, after = done.per_minute_before, done.tier
    if after.per_minute == before:
        return redirect(TIERS, DoneNotice.DONE_ALREADY)
    visit.audit(
        tx,
        None,
        "tier.set",
        after.name,
        before=None if before is None else _in_words(before),
        after=_in_words(after.per_minute),
        reason=reason,
    )
    return redirect(TIERS, DoneNotice.SAVED)


def _in_words(per_minute: int) -> str:
    return f"{per_minute} requests a minute"
