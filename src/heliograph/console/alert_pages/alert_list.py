"""Shows what is open now, the rules, who is told, and the last alerts."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from sqlalchemy.engine import Connection
from starlette.responses import RedirectResponse, Response

from heliograph import alerts
from heliograph.alerts import AlertKind, AlertNotification, AlertRecipient, AlertRule
from heliograph.base.errors import FieldError
from heliograph.console.navigation import ALERTS
from heliograph.console.operator_visit import OperatorVisit
from heliograph.console.rendering import page
from heliograph.portal.filled_form import body_of
from heliograph.portal.page_request import PageRequest
from heliograph.portal.rendering import HEADERS, SEE_OTHER

OPEN_SHOWN_MAX: Final = 120  # twenty of each rule: more do not open
ENDED_SHOWN_MAX: Final = 25
# what a rule says, before its threshold and behind it
RULE_WORDS: Final = {
    AlertKind.CARRIER_DOWN: ("A carrier is down", ""),
    AlertKind.BACKLOG: ("A message waits for a carrier for more than", "seconds"),
    AlertKind.DELIVERY_RATE: (
        "A carrier delivers less than",
        "% of 100 segments or more within an hour",
    ),
    AlertKind.WALLET_LOW: ("A watched wallet has too few credits", ""),
    AlertKind.DISK: ("A disk has less room than", "MiB"),
    AlertKind.WEBHOOK_FAILING: ("A webhook endpoint fails for more than", "minutes"),
}


class ShownRule(NamedTuple):
    """Holds a rule with the names of its fields in the form."""

    rule: AlertRule
    before: str
    behind: str
    on_field: str
    threshold_field: str
    hold_field: str
    shown_field: str
    sentence: str


class ShownRecipient(NamedTuple):
    """Holds somebody who is told, and what was told last."""

    recipient: AlertRecipient
    last: AlertNotification | None


class RuleFields(NamedTuple):
    """Holds the names of a rule's fields in the form."""

    on: str
    threshold: str
    hold: str


def fields_of(kind: AlertKind) -> RuleFields:
    """Returns the names that the form gives to the fields of the rule of this kind."""
    return RuleFields(on=f"{kind}_on", threshold=f"{kind}_threshold", hold=f"{kind}_hold")


def _shown_rule(rule: AlertRule) -> ShownRule:
    before, behind = RULE_WORDS[rule.kind]
    fields = fields_of(rule.kind)
    return ShownRule(
        rule=rule,
        before=before,
        behind=behind,
        on_field=fields.on,
        threshold_field=fields.threshold,
        hold_field=fields.hold,
        shown_field=shown_field(rule.kind),
        sentence=rule_in_words(rule),
    )


def shown_field(kind: AlertKind) -> str:
    """Returns the name of the field that says what the page has shown of a rule."""
    return f"{kind}_shown"


def is_changed(rule: AlertRule, sent: Mapping[str, str]) -> bool:
    """Returns whether a rule is not what the page of a form has shown."""
    return sent.get(shown_field(rule.kind), "") != rule_in_words(rule)


def rule_in_words(rule: AlertRule) -> str:
    """Returns a rule as the log holds it, such as `on, threshold 300 s, held 60 s`."""
    parts = ["on" if rule.is_on else "off"]
    if rule.threshold is not None:
        parts.append(f"threshold {rule.threshold} {alerts.THRESHOLDS[rule.kind].unit}")
    return ", ".join([*parts, f"held {rule.hold_s} s"])


def redirect_to_alerts(tx: Connection, request: PageRequest, visit: OperatorVisit) -> Response:
    """Leads to the page: a form that was sent here has none of its own."""
    return RedirectResponse(ALERTS, SEE_OTHER, HEADERS)


def show_list(
    tx: Connection,
    request: PageRequest,
    visit: OperatorVisit,
    errors: Sequence[FieldError] = (),
) -> Response:
    """Shows all of it, and the forms to those who may use them."""
    rules = [_shown_rule(rule) for rule in alerts.all_rules(tx)]
    recipients = alerts.all_recipients(tx)
    last = alerts.last_notifications(tx, [recipient.id for recipient in recipients])
    return page(
        "alerts.html",
        request,
        visit,
        is_live=True,
        status=400 if errors else 200,
        open=alerts.open_alerts(tx, limit=OPEN_SHOWN_MAX),
        ended=alerts.ended_alerts(tx, limit=ENDED_SHOWN_MAX),
        ended_max=ENDED_SHOWN_MAX,
        rules=rules,
        recipients=[ShownRecipient(each, last.get(each.id)) for each in recipients],
        watched=alerts.all_watched(tx),
        typed=body_of(request) if errors else {},
        typed_rules=_typed_rules(rules, request, errors),
        errors={error.field: error.message for error in errors},
    )


def _typed_rules(
    rules: list[ShownRule], request: PageRequest, errors: Sequence[FieldError]
) -> dict[str, str]:
    """Returns what the fields of the rules hold: what was typed, if it was refused. A rule that
    somebody else has changed meanwhile is shown as it is now.
    """
    sent = request.sent.form
    is_refused = bool(errors) and any(each.hold_field in sent for each in rules)
    filled = dict[str, str]()
    for each in rules:
        if is_refused and not is_changed(each.rule, sent):
            names = (each.on_field, each.threshold_field, each.hold_field)
            filled |= {name: sent[name] for name in names if name in sent}
            continue
        if each.rule.is_on:
            filled[each.on_field] = "yes"
        if each.rule.threshold is not None:
            filled[each.threshold_field] = str(each.rule.threshold)
        filled[each.hold_field] = str(each.rule.hold_s)
    return filled
