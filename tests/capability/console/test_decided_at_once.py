"""If two operators change something at the same moment, one change follows the other, and each
operator is told so.
"""

import asyncio
import itertools
from collections.abc import Callable, Mapping

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts, alerts, pricing, users, wallet
from heliograph.accounts import audit_log
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS, rfc3339
from heliograph.base.paging import PageWanted
from heliograph.carriers import routing
from heliograph.database import config
from heliograph.database.database import Database
from heliograph.pricing import sheets
from heliograph.users import OperatorEntry
from heliograph.wallet import prices
from tests.support.capability.doubtful import in_doubt
from tests.support.capability.sending import House
from tests.support.console.operators import sign_in_operator, uploaded_sheet, waiting_sender
from tests.support.factories import open_carrier, phones
from tests.support.portal.visitor import Visitor, once_in, shown_in

COST = {"do": "set cost", "carrier": "gh-main", "prefix": "233", "currency": "GHS", "reason": "x"}
PRICE = {"do": "set price", "currency": "KES", "per": "1000", "reason": "x", "allow_loss": "yes"}
ROUTE = {"do": "set route", "prefix": "233", "reason": "x"}


def entries(db: Database) -> list[OperatorEntry]:
    """Returns what the operators' log has, oldest first."""
    with db.read() as tx:
        found = [each.entry for each in users.operator_entries(tx, PageWanted(20, None))]
    return found[::-1]


def told_in_order(db: Database) -> list[tuple[str | None, str | None]]:
    """Returns what was before and after each change, in the order in which each begins where the
    one before it has ended. (The log has them by the times at which they were asked for.)
    """
    told = [(entry.before, entry.after) for entry in entries(db)]
    chained = [
        list(order)
        for order in itertools.permutations(told)
        if all(began == ended for (_, ended), (began, _) in itertools.pairwise(order))
    ]
    assert chained, told
    return chained[0]


@pytest.mark.parametrize(
    ("path", "forms", "first"),
    [
        (
            "/console/carriers/gh-main",
            ({"do": "pause", "reason": "x"}, {"do": "drain", "reason": "x"}),
            "takes messages",
        ),
        (
            "/console/routes",
            ({**ROUTE, "carrier": "gh-main"}, {**ROUTE, "carrier": "simulator"}),
            None,
        ),
        ("/console/rates/costs", ({**COST, "amount": "0.1"}, {**COST, "amount": "0.2"}), None),
        ("/console/rates/prices", ({**PRICE, "amount": "30"}, {**PRICE, "amount": "40"}), None),
    ],
)
@pytest.mark.parametrize("is_same", [False, True])
def test_changes_at_once_are_told_one_after_the_other_and_a_repeated_one_once(
    visitor: Visitor,
    db: Database,
    path: str,
    forms: tuple[dict[str, str], dict[str, str]],
    first: str | None,
    is_same: bool,
) -> None:
    open_carrier(db, "gh-main", prefix=None)
    sign_in_operator(visitor, db)
    visitor.get(path)
    sent = [forms[0], forms[0] if is_same else forms[1]]
    answers = visitor.post_at_once(path, sent, config.bump)
    assert [answer.status_code for answer in answers] == [303, 303]
    told = told_in_order(db)
    assert len(told) == (1 if is_same else 2)
    assert told[0][0] == first


def locked_wallet(account_id: str) -> Callable[[Connection], object]:
    return lambda tx: wallet.lock_wallet(tx, account_id)


def test_two_grants_at_once_say_what_each_found_and_left(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    path = visitor.get("/console/money?account=amina").headers["location"]
    form = {"do": "grant", "credits": "5", "reason": "welcome"}
    forms = [{**form, "once": once_in(visitor.get(path))} for _ in range(2)]
    visitor.post_at_once(path, forms, locked_wallet(amina_id))
    assert told_in_order(db) == [
        ("0 SMS credits, 0.00 GHS", "5 SMS credits, 0.00 GHS"),
        ("5 SMS credits, 0.00 GHS", "10 SMS credits, 0.00 GHS"),
    ]


def test_an_address_that_is_added_twice_at_once_is_told_once(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    visitor.get("/console/alerts")
    form: Mapping[str, str] = {"address": "ops@example.com"}
    answers = visitor.post_at_once("/console/alerts/recipients", [form, form], locked_alerts)
    assert sorted(answer.status_code for answer in answers) == [303, 400]
    with db.read() as tx:
        [recipient] = alerts.all_recipients(tx)
    path = f"/console/alerts/recipients/{recipient.text_id}"
    visitor.get(path)
    answers = visitor.post_at_once(path, [{"do": "remove"}] * 2, locked_alerts)
    assert [answer.status_code for answer in answers] == [303, 303]
    assert {answer.headers["location"] for answer in answers} == {"/console/alerts"}
    assert [entry.action for entry in entries(db)] == ["alert.add", "alert.remove"]


def test_wallets_that_are_watched_at_once_are_told_in_order(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    visitor.get("/console/alerts")
    form = {"do": "watch", "account": "amina"}
    forms = [{**form, "credits": "10"}, {**form, "credits": "20"}]
    visitor.post_at_once("/console/alerts/wallets", forms, locked_alerts)
    assert len(told_in_order(db)) == 2
    ends = [{"do": "unwatch", "account": "amina"}] * 2
    answers = visitor.post_at_once("/console/alerts/wallets", ends, locked_alerts)
    assert sorted(answer.status_code for answer in answers) == [303, 404]
    assert len(entries(db)) == 3


def locked_alerts(tx: Connection) -> None:
    """Lets nobody else change who is told of alerts, and which wallets are watched."""
    if tx.dialect.name == "postgresql":
        for table in ("alert_recipients", "watched_wallets"):
            tx.execute(sa.text(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"))


def test_a_sheet_that_is_planned_while_another_operator_withdraws_it_keeps_what_was_planned(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    text_id = uploaded_sheet(db)
    path, at_ms = f"/console/rates/sheets/{text_id}", clock.now_ms() + DAY_MS

    def plan(tx: Connection) -> None:
        sheets.plan(
            tx,
            sheets.sheet_by_id(tx, text_id),
            at_ms=at_ms,
            allows_loss=False,
            reason="May",
            by=None,
            now_ms=clock.now_ms(),
        )

    visitor.get(path)
    [done] = visitor.post_at_once(path, [{"do": "withdraw", "reason": "wrong"}], plan)
    assert done.status_code == 303
    with db.read() as tx:
        sheet = sheets.sheet_by_id(tx, text_id)
    assert (sheet.status, sheet.effective_at_ms, sheet.reason) == ("withdrawn", at_ms, "May")
    assert entries(db)[-1].before == f"planned for {rfc3339(at_ms)}"


@pytest.mark.parametrize(
    ("prefix", "allows_loss", "status"), [("233", False, 400), ("44", True, 303)]
)
def test_who_waits_for_another_change_answers_for_the_loss_of_the_own_one(
    visitor: Visitor, db: Database, prefix: str, allows_loss: bool, status: int
) -> None:
    """Either two changes sell below cost only together, or somebody else has agreed to a loss."""
    open_carrier(db, "gh-main", prefix="234" if allows_loss else None)
    with db.write() as tx:
        prices.set_price(tx, "GHS", 35, 1_000)
        routing.set_route(tx, "", ["simulator"])
        pricing.set_cost(tx, "simulator", "", "0.01", "GHS")
        pricing.set_cost(tx, "gh-main", "", "0.02", "GHS")
    sign_in_operator(visitor, db)
    visitor.get("/console/routes")

    def dearer(tx: Connection) -> None:
        pricing.change_without_loss(
            tx,
            lambda: pricing.set_cost(tx, "gh-main", "", "0.09", "GHS"),
            allows_loss=allows_loss,
        )

    to = "simulator" if allows_loss else "gh-main"
    route = {"do": "set route", "prefix": prefix, "carrier": to, "reason": "x"}
    [answer] = visitor.post_at_once("/console/routes", [route], dearer)
    assert answer.status_code == status
    assert ("gh-main charges 0.09 GHS" in answer.text) == (status == 400)
    assert len(entries(db)) == (1 if status == 303 else 0)


def test_an_account_that_was_closed_meanwhile_is_told_of_on_the_page_of_the_form(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    path = visitor.get("/console/money?account=amina").headers["location"]
    once = once_in(visitor.get(path))
    with db.write() as tx:
        wallet.close(tx, amina_id)
        accounts.close(tx, amina_id, now_ms=clock.now_ms())
    form = {"do": "grant", "credits": "5", "reason": "welcome", "once": once}
    late = visitor.post(path, form)
    assert late.status_code == 403
    assert '<p class="notice" role="alert">' in late.text
    assert "<h1" in late.text


def locked_account(account_id: str) -> Callable[[Connection], object]:
    return lambda tx: accounts.lock(tx, account_id)


@pytest.mark.parametrize("is_same", [False, True])
def test_of_two_decisions_on_a_sender_id_at_once_one_is_made(
    visitor: Visitor, db: Database, amina_id: str, is_same: bool
) -> None:
    sign_in_operator(visitor, db)
    path = f"/console/approvals/senders/{waiting_sender(db, amina_id)}"
    shown = {"shown": shown_in(visitor.get(path))}
    reject = {**shown, "do": "reject", "reason": "a letter is missing"}
    other = reject if is_same else {**shown, "do": "approve"}
    answers = visitor.post_at_once(path, [reject, other], locked_account(amina_id))
    assert sorted(answer.status_code for answer in answers) == [303, 303 if is_same else 400]
    with db.read() as tx:
        told = audit_log.page(tx, amina_id, PageWanted(9, None))
    assert len(told) == len(entries(db)) == 1


def test_a_sheet_that_two_apply_at_once_is_applied_and_told_once(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    path = f"/console/rates/sheets/{uploaded_sheet(db)}"
    visitor.get(path)
    answers = visitor.post_at_once(path, [{"do": "plan", "reason": "May"}] * 2, config.bump)
    assert sorted(answer.status_code for answer in answers) == [303, 400]
    late = next(answer for answer in answers if answer.status_code == 400)
    assert "This rate sheet has been applied or withdrawn meanwhile." in late.text
    assert "What it would change again now" in late.text, "it stands on the page of the sheet"
    assert [entry.action for entry in entries(db)] == ["rate.sheet"]


def test_messages_that_two_settle_at_once_are_settled_and_told_once(
    visitor: Visitor, db: Database, house: House
) -> None:
    async def doubtful() -> None:
        await in_doubt(house, *phones(3))
        await house.db.close_hot()

    asyncio.run(doubtful())
    sign_in_operator(visitor, db)
    visitor.get(f"/console/messages/in-doubt?carrier={house.carrier_id}")
    messages = {ids.text_of_raw("msg", row.id): "yes" for row in house.messages()}
    form = {**messages, "carrier": str(house.carrier_id), "reason": "ticket 4711"}
    forms = [{**form, "do": "undeliverable"}, {**form, "do": "delivered"}]

    def locked_messages(tx: Connection) -> None:
        if tx.dialect.name == "postgresql":
            tx.execute(sa.text("SELECT id FROM messages FOR UPDATE"))

    answers = visitor.post_at_once("/console/messages/in-doubt/decide", forms, locked_messages)
    assert sorted(answer.status_code for answer in answers) == [200, 303]
    late = next(answer for answer in answers if answer.status_code == 200)
    assert late.text.count("is not in doubt") == len(messages)
    assert len(set(house.statuses())) == 1
    told = entries(db)
    assert sorted(str(entry.record) for entry in told) == sorted(messages)
    assert len({entry.after for entry in told}) == 1
    house.assert_sound()
