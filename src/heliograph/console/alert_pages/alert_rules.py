"""Changes the rules of alerts and the wallets that are watched, as the commands do."""

import re
from collections.abc import Mapping
from typing import Final

from sqlalchemy.engine import Connection
from starlette.responses import Response

from heliograph import alerts
from heliograph.alerts import AlertRule
from heliograph.base.errors import FieldError, InvalidRequest
from heliograph.console.alert_pages.alert_list import (
    fields_of,
    is_changed,
    rule_in_words,
    shown_field,
)
from heliograph.console.navigation import ALERTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.portal.filled_form import body_of, choice_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import DoneNotice, redirect

WHOLE: Final = re.compile(r"[0-9]{1,10}", re.ASCII)
NO_NUMBER: Final = -1  # no rule takes it, so each says in its own words what it takes
WALLET_CHANGES: Final = ("watch", "unwatch")
CHANGED_SINCE: Final = (
    "is not what there is now: somebody set it after you had opened this page. It is now {}. Look"
    " at it, then save the rules"
)


def change(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Sets all rules, as they stand in the form. Raises InvalidRequest, also when what the page
    showed is not what there is now.
    """
    body = body_of(request)
    rules = alerts.locked_rules(tx)
    errors = [
        FieldError(shown_field(rule.kind), CHANGED_SINCE.format(rule_in_words(rule)))
        for rule in rules
        if is_changed(rule, body)
    ]
    for before in rules:
        after = _read(before, body)
        if after == before:
            continue
        try:
            alerts.set_rule(tx, after)
        except InvalidRequest as refused:
            fields = fields_of(before.kind)
            names = {"threshold": fields.threshold, "hold_s": fields.hold}
            errors += [FieldError(names[each.field], each.message) for each in refused.fields]
            continue
        visit.audit(
            tx,
            None,
            "alert.set",
            before.kind,
            before=rule_in_words(before),
            after=rule_in_words(after),
        )
    if errors:
        raise InvalidRequest("A rule was refused.", fields=errors)
    return redirect(ALERTS, DoneNotice.SAVED)


def watch(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Watches the wallet of an account, or watches it no more. Raises InvalidRequest, NotFound."""
    wanted = choice_of("do", request.sent.form.get("do", ""), WALLET_CHANGES)
    body = body_of(request)
    account = body.get("account", "")
    was = {each.text_id: str(each.credits_min) for each in alerts.locked_watched(tx)}
    if wanted == "unwatch":
        ended = alerts.unwatch_wallet(tx, account)
        visit.audit(
            tx, None, "alert.unwatch", ended.text_id, before=was[ended.text_id], after="none"
        )
        return redirect(ALERTS, DoneNotice.REMOVED)
    made = alerts.watch_wallet(tx, account, _whole(body.get("credits", "")))
    before, after = was.get(made.text_id, "none"), str(made.credits_min)
    if after != before:
        visit.audit(tx, None, "alert.watch", made.text_id, before=before, after=after)
    return redirect(ALERTS, DoneNotice.SAVED)


def _read(before: AlertRule, body: Mapping[str, str]) -> AlertRule:
    fields = fields_of(before.kind)
    return before._replace(
        is_on=fields.on in body,
        threshold=None if before.threshold is None else _whole(body.get(fields.threshold, "")),
        hold_s=_whole(body.get(fields.hold, "")),
    )


def _whole(text: str) -> int:
    digits = "".join(text.split())
    return int(digits) if WHOLE.fullmatch(digits) else NO_NUMBER
