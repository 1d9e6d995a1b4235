"""Operators change rules, recipients and watched wallets on the page, and the log tells it."""

import re

from heliograph import accounts, alerts, users
from heliograph.alerts import AlertKind
from heliograph.alerts.rules import rule_of
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.console.alert_pages.alert_list import rule_in_words
from heliograph.database.database import Database
from heliograph.portal.page_request import SHOWN_HEADER
from heliograph.users import OperatorRole
from heliograph.users.sign_ins import FRESH_MS
from tests.support.alerted import OPERATOR_MAIL, added
from tests.support.capability.commands import Run
from tests.support.console.operators import sign_in_operator
from tests.support.portal.visitor import Visitor

PAGE = "/console/alerts"


def as_it_is(db: Database) -> dict[str, str]:
    """Returns the fields of the form of rules, as the page fills them in."""
    fields = {}
    with db.read() as tx:
        for rule in alerts.all_rules(tx):
            fields[f"{rule.kind}_hold"] = str(rule.hold_s)
            fields[f"{rule.kind}_shown"] = rule_in_words(rule)
            if rule.is_on:
                fields[f"{rule.kind}_on"] = "yes"
            if rule.threshold is not None:
                fields[f"{rule.kind}_threshold"] = str(rule.threshold)
    return fields


def logged(db: Database) -> list[tuple[str, str | None, str | None]]:
    """Returns what was done, before and after, newest first."""
    with db.read() as tx:
        found = users.operator_entries(tx, PageWanted(20, None))
        return [(each.entry.action, each.entry.before, each.entry.after) for each in found]


def test_a_rule_is_changed_and_only_that_is_logged(db: Database, visitor: Visitor) -> None:
    sign_in_operator(visitor, db)
    visitor.get(PAGE)
    fields = as_it_is(db) | {"backlog_threshold": "120"}
    del fields["disk_on"]
    assert visitor.post(PAGE, fields).status_code == 303
    with db.read() as tx:
        assert rule_of(tx, AlertKind.BACKLOG).threshold == 120
        assert not rule_of(tx, AlertKind.DISK).is_on
        assert rule_of(tx, AlertKind.CARRIER_DOWN).is_on
    assert sorted(logged(db)) == [
        ("alert.set", "on, threshold 2048 MiB, held 60 s", "off, threshold 2048 MiB, held 60 s"),
        ("alert.set", "on, threshold 300 s, held 60 s", "on, threshold 120 s, held 60 s"),
    ]


def test_the_page_asks_for_itself_and_gets_no_answer_until_something_is_new(
    db: Database, visitor: Visitor
) -> None:
    sign_in_operator(visitor, db)
    clock.move(60_000 - clock.now_ms() % 60_000)  # so that no minute ends meanwhile
    shown = re.search(r'data-shown="([0-9a-f]{16})"', visitor.get(PAGE).text)
    assert shown is not None
    asks = {SHOWN_HEADER: shown[1]}
    assert visitor.get(PAGE, headers=asks).status_code == 204
    added(db, OPERATOR_MAIL)
    assert OPERATOR_MAIL in visitor.get(PAGE, headers=asks).text


def test_a_refused_rule_changes_none_and_keeps_what_was_typed(
    db: Database, visitor: Visitor
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(PAGE)
    fields = as_it_is(db) | {"backlog_threshold": "120", "delivery_rate_threshold": "many"}
    refused = visitor.post(PAGE, fields)
    assert refused.status_code == 400
    assert "must be a whole number, 1 to 100 %" in refused.text
    assert all(f'value="{typed}"' in refused.text for typed in ("many", "120"))
    with db.read() as tx:
        assert rule_of(tx, AlertKind.BACKLOG).threshold == 300
    assert logged(db) == []


def test_a_rule_that_somebody_changed_meanwhile_is_looked_at_first(
    db: Database, visitor: Visitor, run: Run
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(PAGE)
    fields = as_it_is(db) | {"disk_threshold": "512"}
    run("alert", "set", "backlog", "--threshold", "120")
    late = visitor.post(PAGE, fields)
    assert late.status_code == 400
    assert "It is now on, threshold 120 s, held 60 s." in late.text
    assert 'name="backlog_threshold" value="120"' in late.text
    assert 'name="disk_threshold" value="512"' in late.text, "what was typed stays"
    with db.read() as tx:
        assert rule_of(tx, AlertKind.BACKLOG).threshold == 120
        assert rule_of(tx, AlertKind.DISK).threshold == 2_048
    looked_at = as_it_is(db) | {"disk_threshold": "512"}
    assert all(f'value="{looked_at[f"{kind}_shown"]}"' in late.text for kind in AlertKind)
    assert visitor.post(PAGE, looked_at).status_code == 303
    with db.read() as tx:
        assert rule_of(tx, AlertKind.BACKLOG).threshold == 120
        assert rule_of(tx, AlertKind.DISK).threshold == 512


def test_a_recipient_is_added_tested_and_removed(db: Database, visitor: Visitor) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    visitor.get(PAGE)
    assert visitor.post(f"{PAGE}/recipients", {"address": "Kofi@Example.com"}).status_code == 303
    again = visitor.post(f"{PAGE}/recipients", {"address": OPERATOR_MAIL})
    said = f"{OPERATOR_MAIL.lower()} is told already."
    assert f'<p class="notice calm" role="status">{said}</p>' in again.text, "nothing went wrong"
    assert (again.status_code, 'class="wrong"' in again.text) == (400, False)
    inside = visitor.post(f"{PAGE}/recipients", {"address": "http://127.0.0.1/hook"})
    assert inside.status_code == 400
    with db.read() as tx:
        recipient = alerts.all_recipients(tx)[0]
    visitor.post(f"{PAGE}/recipients/{recipient.text_id}", {"do": "test"})
    assert "on its way" in visitor.get(PAGE).text
    visitor.post(f"{PAGE}/recipients/{recipient.text_id}", {"do": "remove"})
    assert "Nobody is told." in visitor.get(PAGE).text
    assert [action for action, _, _ in logged(db)] == ["alert.remove", "alert.test", "alert.add"]


def test_a_recipient_that_somebody_else_has_removed_is_told_of_quietly(
    db: Database, visitor: Visitor
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(PAGE)
    gone = added(db, OPERATOR_MAIL).recipient.text_id
    path = f"{PAGE}/recipients/{gone}"
    assert visitor.get(path).status_code == 200
    with db.write() as tx:
        alerts.remove_recipient(tx, gone)
    for method in ("POST", "GET"):
        late = visitor.post(path, {"do": "remove"}) if method == "POST" else visitor.get(path)
        assert (late.status_code, late.headers["location"]) == (303, PAGE)
        assert "That was removed already" in visitor.get(PAGE).text
    assert visitor.post(path, {"do": "test"}).status_code == 404
    assert visitor.post(f"{PAGE}/recipients/alr_x", {"do": "remove"}).status_code == 404
    with db.read() as tx:
        assert users.operator_entries(tx, PageWanted(9, None)) == []


def test_a_recipient_is_added_after_a_fresh_sign_in_only(db: Database, visitor: Visitor) -> None:
    """The secret of a webhook is shown then."""
    sign_in_operator(visitor, db)
    visitor.get(PAGE)
    clock.move(FRESH_MS)
    late = visitor.post(f"{PAGE}/recipients", {"address": "https://hooks.example/a"})
    assert (late.status_code, "whsec_" in late.text) == (403, False)
    with db.read() as tx:
        assert alerts.all_recipients(tx) == []
    rules = as_it_is(db) | {"backlog_threshold": "120"}
    assert visitor.post(PAGE, rules).status_code == 303


def test_the_wallet_of_a_closed_account_is_not_watched(
    db: Database, visitor: Visitor, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(PAGE)
    with db.write() as tx:
        accounts.close(tx, amina_id, now_ms=clock.now_ms())
    form = {"do": "watch", "account": "amina", "credits": "5"}
    refused = visitor.post(f"{PAGE}/wallets", form)
    assert (refused.status_code, "is closed: nothing is charged" in refused.text) == (400, True)
    with db.read() as tx:
        assert alerts.all_watched(tx) == []


def test_a_wallet_is_watched_and_no_more(db: Database, visitor: Visitor, amina_id: str) -> None:
    sign_in_operator(visitor, db)
    visitor.get(PAGE)
    wrong = visitor.post(f"{PAGE}/wallets", {"do": "watch", "account": "zola", "credits": "5"})
    assert (wrong.status_code, "was not found" in wrong.text) == (400, True)
    visitor.post(f"{PAGE}/wallets", {"do": "watch", "account": "amina", "credits": "1 000"})
    visitor.post(f"{PAGE}/wallets", {"do": "watch", "account": "amina", "credits": "500"})
    with db.read() as tx:
        assert [each.credits_min for each in alerts.all_watched(tx)] == [500]
    visitor.post(f"{PAGE}/wallets", {"do": "unwatch", "account": "amina"})
    assert "No wallet is watched." in visitor.get(PAGE).text
    assert logged(db) == [
        ("alert.unwatch", "500", "none"),
        ("alert.watch", "1000", "500"),
        ("alert.watch", "none", "1000"),
    ]


def test_the_commands_do_what_the_page_does(db: Database, run: Run, amina_id: str) -> None:
    made = run("alert", "add", OPERATOR_MAIL, "--json").json
    assert run("alert", "add", "https://hooks.example/a", "--json").json["secret"].startswith("whs")
    run("alert", "test", made["id"])
    run("alert", "set", "disk", "--threshold", "512", "--off", "--hold", "0")
    run("alert", "watch", "amina", "--below", "40")
    rules = {rule["rule"]: rule for rule in run("alert", "rules", "--json").json}
    assert (rules["disk"]["on"], rules["disk"]["threshold"], rules["disk"]["hold_s"]) == (
        False,
        512,
        0,
    )
    assert rules["carrier_down"]["on"]
    rule_in_words = run("alert", "recipients", "--json").json
    assert [(each["by"], each["last_event"]) for each in rule_in_words] == [
        ("mail", "test"),
        ("webhook", None),
    ]
    assert run("alert", "wallets", "--json").json[0]["below_credits"] == 40
    run("alert", "remove", made["id"])
    run("alert", "unwatch", "amina")
    assert run("alert", "wallets", "--json").json == []
    assert run("alert", "list", "--json").json == []
