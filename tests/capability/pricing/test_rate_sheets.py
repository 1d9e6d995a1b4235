"""Carriers have costs, rates may sell below them, and rate sheets are applied at their time."""

import pytest

from heliograph import pricing, users
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, rfc3339
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.base.paging import PageWanted
from heliograph.carriers import GENERAL, current_rates, routing
from heliograph.database.database import Database
from heliograph.jobs.rate_sheets import apply_next
from heliograph.pricing import sheets
from heliograph.pricing.sheets import RateSheet
from heliograph.users import OperatorRole
from heliograph.wallet import prices
from tests.support.capability.commands import Run
from tests.support.console.operators import OPERATOR, made_operator
from tests.support.factories import open_carrier

NEW = [
    current_rates.Rate(GENERAL, "GH", 2),
    current_rates.Rate(GENERAL, "NG", None),
    current_rates.Rate(GENERAL, "default", 3),
]


@pytest.fixture(autouse=True)
def prices_and_costs(db: Database) -> None:
    """A credit is sold for 0.035 GHS. The simulator charges 0.05 GHS to MTN, and 0.03 elsewhere in
    Ghana.
    """
    made_operator(db, OperatorRole.ADMIN)
    with db.write() as tx:
        prices.set_price(tx, "GHS", 35, 1_000)
        routing.set_route(tx, "", ["simulator"])
        pricing.set_cost(tx, "simulator", "233", "0.03", "GHS")
        pricing.set_cost(tx, "simulator", "23324", "0.05", "GHS")


def planned(
    db: Database,
    rates: list[current_rates.Rate],
    *,
    at_ms: int | None = None,
    is_whole: bool = False,
    allows_loss: bool = False,
) -> RateSheet:
    """Uploads a sheet as an operator does, and gives it its time."""
    now_ms = clock.now_ms()
    with db.write() as tx:
        user = users.find(tx, OPERATOR)
        draft = sheets.upload(tx, "may.csv", rates, user, is_whole=is_whole, now_ms=now_ms)
        return sheets.plan(
            tx, draft, at_ms=at_ms, allows_loss=allows_loss, reason="May", by=user, now_ms=now_ms
        )


def rates_now(db: Database) -> list[current_rates.Rate]:
    with db.read() as tx:
        return current_rates.load(tx)


def logged(db: Database) -> list[tuple[str, str | None]]:
    with db.read() as tx:
        found = users.operator_entries(tx, PageWanted(9, None))
    return [(each.entry.action, each.entry.after) for each in found]


def test_a_sheet_is_refused_that_sells_below_the_cost_of_a_longer_prefix(db: Database) -> None:
    with pytest.raises(InvalidRequest) as refused:
        planned(db, [current_rates.Rate(GENERAL, "GH", 1)])
    assert (
        "GH brings 0.035 GHS a segment, and simulator charges 0.05 GHS for 23324"
        in refused.value.fields[0].message
    )
    assert rates_now(db) == []
    planned(db, [current_rates.Rate(GENERAL, "GH", 1), current_rates.Rate(GENERAL, "23324", 2)])
    assert len(rates_now(db)) == 2
    with pytest.raises(InvalidRequest):  # takes away what covered the cost
        planned(db, [current_rates.Rate(GENERAL, "GH", 1)], is_whole=True)
    planned(db, [current_rates.Rate(GENERAL, "GH", 1)], is_whole=True, allows_loss=True)
    assert rates_now(db) == [current_rates.Rate(GENERAL, "GH", 1)]


def test_of_carriers_that_share_a_route_the_dearest_is_weighed_and_not_who_stands_by(
    db: Database,
) -> None:
    for name, cost in (("cheap", "0.01"), ("dear", "0.04"), ("dearest", "0.09")):
        open_carrier(db, name, prefix=None)
        with db.write() as tx:
            pricing.set_cost(tx, name, "233", cost, "GHS")
    with db.write() as tx:
        routing.set_route(tx, "233", ["cheap:99", "dear:1", "dearest"])
    with pytest.raises(InvalidRequest, match="and dear charges"):
        planned(db, [current_rates.Rate(GENERAL, "GH", 1)])
    with db.write() as tx:
        routing.set_route(tx, "233", ["cheap", "dear", "dearest"])
        routing.set_route(tx, "", ["cheap"])
    planned(db, [current_rates.Rate(GENERAL, "GH", 1)])


def test_a_change_is_refused_that_a_planned_sheet_would_lose_by(db: Database) -> None:
    """A sheet is looked at when it is planned. What changes between then and its time is held
    against it, too. One that may lose, and one that was withdrawn, keep nothing back.
    """
    at_ms = clock.now_ms() + DAY_MS
    sheet = planned(db, [current_rates.Rate(GENERAL, "GH", 2)], at_ms=at_ms)
    planned(db, [current_rates.Rate(GENERAL, "23355", 1)], at_ms=at_ms, allows_loss=True)
    with db.write() as tx:
        current_rates.store(tx, "GH", 3)

    def cost(amount: str) -> None:
        with db.write() as tx:
            pricing.change_without_loss(
                tx,
                lambda: pricing.set_cost(tx, "simulator", "233", amount, "GHS"),
                allows_loss=False,
            )

    with pytest.raises(InvalidRequest) as refused:
        cost("0.09")
    assert refused.value.fields[0].message == (
        f"is needed, because when the rate sheet {sheet.text_id} is applied at {rfc3339(at_ms)},"
        " this sells below cost: GH brings 0.07 GHS a segment, and simulator charges 0.09 GHS for"
        " 233"
    )
    cost("0.07")
    with db.write() as tx:
        sheets.withdraw(tx, sheet, now_ms=clock.now_ms())
    cost("0.09")


def test_what_a_sheet_has_nothing_to_do_with_does_not_stop_it(db: Database) -> None:
    with db.write() as tx:
        current_rates.store(tx, "23324", 1)
    planned(db, [current_rates.Rate(GENERAL, "GH", 1)])
    assert current_rates.Rate(GENERAL, "GH", 1) in rates_now(db)


def test_a_cost_in_a_currency_without_a_price_is_not_compared(db: Database, amina_id: str) -> None:
    with db.write() as tx:
        pricing.set_cost(tx, "simulator", "234", "0.9", "EUR")
        sheet = sheets.upload(
            tx,
            "x",
            [current_rates.Rate(amina_id, "NG", 1)],
            None,
            is_whole=False,
            now_ms=clock.now_ms(),
        )
        seen = sheets.outlook_of(tx, sheets.rates_of(tx, sheet), is_whole=False)
    assert seen.losses == []
    assert {(each.cost.currency, each.price) for each in seen.weighed} == {("EUR", None)}


def test_a_planned_sheet_is_applied_once_at_its_time_and_both_logs_tell_it(
    db: Database, amina_id: str
) -> None:
    rates = [*NEW, current_rates.Rate(amina_id, "GH", 2)]
    sheet = planned(db, rates, at_ms=clock.now_ms() + DAY_MS)
    assert not apply_next(db)
    assert rates_now(db) == []
    clock.move(DAY_MS)
    assert apply_next(db)
    assert not apply_next(db)
    assert set(rates_now(db)) == set(rates)
    with db.write() as tx:
        assert not sheets.apply_if_planned(tx, sheet, now_ms=clock.now_ms())
        told = audit_log.page(tx, amina_id, PageWanted(9, None))
        with pytest.raises(InvalidRequest):
            sheets.withdraw(tx, sheet, now_ms=clock.now_ms())
    assert [entry.entry.detail for entry in told] == ["1 rate"]
    (done, after), (plan, _) = logged(db)
    assert (done, after, plan) == (
        "rate.sheet",
        "4 new, 0 changed, 0 removed, 0 unchanged",
        "rate.plan",
    )


def test_who_plans_a_sheet_answers_for_it_and_not_who_uploaded_it(db: Database) -> None:
    now_ms = clock.now_ms()
    with db.write() as tx:
        uploader, planner = (
            users.add(tx, "esi@example.com", now_ms=now_ms),
            users.find(tx, OPERATOR),
        )
        draft = sheets.upload(tx, "may.csv", NEW, uploader, is_whole=False, now_ms=now_ms)
        sheets.plan(
            tx, draft, at_ms=None, allows_loss=False, reason="May", by=planner, now_ms=now_ms
        )
        entries = users.operator_entries(tx, PageWanted(9, None))
    assert [each.email for each in entries] == [OPERATOR]


def test_a_sheet_that_was_due_before_does_not_overwrite_a_later_one(db: Database) -> None:
    planned(db, [current_rates.Rate(GENERAL, "GH", 5)], at_ms=clock.now_ms() + 1_000)
    clock.move(5_000)
    planned(db, [current_rates.Rate(GENERAL, "GH", 9)])
    assert not apply_next(db)
    assert [rate.credits for rate in rates_now(db)] == [9]


@pytest.mark.parametrize("how", ["page", "rate set", "rate remove"])
def test_a_sheet_that_was_due_before_does_not_overwrite_a_single_change(
    db: Database, run: Run, how: str
) -> None:
    planned(db, [current_rates.Rate(GENERAL, "GH", 5)], at_ms=clock.now_ms() + 1_000)
    clock.move(5_000)
    if how == "rate set":
        run("rate", "set", "GH", "9")
    elif how == "rate remove":  # there is one, since the sheet is due
        run("rate", "remove", "GH")
    else:
        rate = current_rates.Rate(GENERAL, "GH", 9)
        with db.write() as tx:
            pricing.change_rate(
                tx, rate, is_removed=False, allows_loss=False, now_ms=clock.now_ms()
            )
    assert not apply_next(db)
    assert [rate.credits for rate in rates_now(db)] == ([] if how == "rate remove" else [9])


def test_a_withdrawn_sheet_is_never_applied(db: Database) -> None:
    sheet = planned(db, NEW, at_ms=clock.now_ms() + DAY_MS)
    with db.write() as tx:
        sheets.withdraw(tx, sheet, now_ms=clock.now_ms())
    clock.move(DAY_MS)
    assert not apply_next(db)
    assert rates_now(db) == []


def test_a_time_that_is_past_or_too_far_is_refused(db: Database) -> None:
    for at_ms in (clock.now_ms(), clock.now_ms() + 367 * DAY_MS):
        with pytest.raises(InvalidRequest, match="within a year"):
            planned(db, NEW, at_ms=at_ms)


def test_a_draft_of_yesterday_is_withdrawn_when_the_next_one_comes(db: Database) -> None:
    with db.write() as tx:
        for _ in range(2):
            sheets.upload(tx, "x", NEW, None, is_whole=False, now_ms=clock.now_ms())
            clock.move(2 * DAY_MS)
        assert [each.status for each in sheets.newest_sheets(tx)] == ["uploaded", "withdrawn"]


def test_costs_are_set_replaced_and_removed(db: Database) -> None:
    with db.write() as tx:
        cost = pricing.set_cost(tx, "simulator", "23324", "0.0125", "ghs")
        assert (cost.currency, cost.amount_micro, cost.amount) == ("GHS", 12_500, "0.0125")
        assert [each.prefix for each in pricing.load_costs(tx)] == ["233", "23324"]
        assert pricing.remove_cost(tx, "simulator", "23324") == cost
        with pytest.raises(NotFound):
            pricing.remove_cost(tx, "simulator", "23324")
        for amount in ("0.0000001", "-1", "1E+999999", "NaN", "x"):
            with pytest.raises(InvalidRequest):
                pricing.set_cost(tx, "simulator", "234", amount, "GHS")
        with pytest.raises(InvalidRequest):
            pricing.set_cost(tx, "simulator", "0234", "1", "GHS")
        with pytest.raises(NotFound):
            pricing.set_cost(tx, "mtn", "234", "1", "GHS")
