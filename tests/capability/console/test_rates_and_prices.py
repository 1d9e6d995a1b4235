"""Operators change rates, sheets, costs and prices in the console."""

import pytest

from heliograph import accounts, pricing
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, rfc3339
from heliograph.carriers import GENERAL, SIMULATOR_ID, current_rates, routing
from heliograph.database.database import Database
from heliograph.jobs.rate_sheets import apply_next
from heliograph.users import OperatorRole
from heliograph.wallet import prices
from heliograph.wallet.prices import Price
from tests.support.console.looked_up import operators_did
from tests.support.console.operators import sign_in_operator
from tests.support.factories import open_carrier
from tests.support.portal.visitor import EMAIL, Visitor, home_of

RATES = "/console/rates"
SHEETS = f"{RATES}/sheets"
LOSS = b"prefix,credits\r\n233,1\r\n23324,2\r\n"


@pytest.fixture(autouse=True)
def prices_and_costs(db: Database) -> None:
    """A credit is sold for 0.035 GHS, and the simulator charges 0.05 GHS to Ghana."""
    with db.write() as tx:
        prices.set_price(tx, "GHS", 35, 1_000)
        routing.set_route(tx, "", ["simulator"])
        pricing.set_cost(tx, "simulator", "233", "0.05", "GHS")


def rates_now(db: Database) -> list[current_rates.Rate]:
    with db.read() as tx:
        return current_rates.load(tx)


def uploaded(visitor: Visitor, file: bytes, **fields: str) -> str:
    """Uploads a sheet, and returns the path of its page."""
    visitor.get(SHEETS)
    done = visitor.post(SHEETS, fields, files={"file": ("rates.csv", file)})
    assert done.status_code == 303, done.text
    return done.headers["location"]


def test_a_rate_of_an_account_is_set_and_removed_and_both_logs_tell_it(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(RATES)
    form = {"destination": "gh", "account": "amina", "reason": "contract 12"}
    refused = visitor.post(RATES, {**form, "do": "set rate", "credits": "1"})
    assert refused.status_code == 400
    assert "GH brings 0.035 GHS a segment, and simulator charges 0.05 GHS" in refused.text
    assert 'value="contract 12"' in refused.text
    for fields in (
        {"do": "set rate", "credits": "1", "allow_loss": "yes"},
        {"do": "set rate", "credits": "2"},
    ):
        assert visitor.post(RATES, {**form, **fields}).status_code == 303
    assert rates_now(db) == [current_rates.Rate(amina_id, "GH", 2)]
    assert "Own rates of" in visitor.get(f"{RATES}?account=amina").text
    file = visitor.get(f"{RATES}/export?account=amina").text
    with db.read() as tx:
        text_id = accounts.text_id(accounts.by_id(tx, amina_id))
    assert file == f"destination,credits,account\r\nGH,2,{text_id}\r\n"
    with db.write() as tx:
        current_rates.store(tx, "GH", 2)  # so that nothing is lost without it
    visitor.get(RATES)
    assert visitor.post(RATES, {**form, "do": "remove rate"}).status_code == 303
    assert visitor.post(RATES, {**form, "do": "remove rate"}).status_code == 404
    assert rates_now(db) == [current_rates.Rate(GENERAL, "GH", 2)]
    assert operators_did(db) == ["rate.remove", "rate.set", "rate.set"]
    stranger.sign_in(EMAIL, amina_id)
    told = stranger.get(f"{home_of(db, amina_id)}/audit").text
    assert "GH: 2 credits a segment" in told
    assert "contract 12" not in told


def test_a_sheet_with_a_loss_is_refused_until_it_is_agreed_to(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    path = uploaded(visitor, LOSS, name="May")
    page = visitor.get(path).text
    assert "It sells below cost" in page
    assert "<strong>2</strong> new" in page
    plan = {"do": "plan", "reason": "prices of May"}
    refused = visitor.post(path, plan)
    assert refused.status_code == 400
    assert "233 brings 0.035 GHS a segment" in refused.text
    assert rates_now(db) == []
    assert visitor.post(path, {**plan, "reason": "", "allow_loss": "yes"}).status_code == 400
    assert visitor.post(path, {**plan, "allow_loss": "yes"}).status_code == 303
    assert rates_now(db) == [
        current_rates.Rate(GENERAL, "233", 1),
        current_rates.Rate(GENERAL, "23324", 2),
    ]
    assert "selling below cost was agreed to" in visitor.get(path).text
    assert operators_did(db) == ["rate.sheet"]
    assert visitor.post(path, {**plan, "allow_loss": "yes"}).status_code == 400


def test_all_losses_and_changes_are_counted_though_a_page_shows_the_first(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    with db.write() as tx:
        current_rates.store(tx, "GH", 1, account_id=amina_id)
        text_id = accounts.text_id(accounts.by_id(tx, amina_id))
    sign_in_operator(visitor, db)
    lines = [f"233{number:03},{'none' if number == 249 else 1}," for number in range(250)]
    path = uploaded(
        visitor, "\n".join(["prefix,credits,account", f"GH,1,{text_id}", *lines]).encode()
    )
    page = visitor.get(path).text
    assert "<strong>250</strong> new" in page
    assert "<strong>1</strong> unchanged" in page
    assert "Where there is no rate (–), a shorter prefix, the country or" in page
    assert "And 200 more." in page  # losses: of 250 lines, and of what amina pays
    assert "And 51 more." in page  # changes
    assert f'href="{path}/losses/export"' in page
    [columns, *losses] = visitor.get(f"{path}/losses/export").text.splitlines()
    assert columns == "numbers,margin,brings,costs,currency,carrier,rate,account,credits"
    assert len(losses) == 250
    of_amina = [loss for loss in losses if f",{text_id}," in loss]
    assert len(of_amina) == 1
    assert all("'" not in loss and ",-0." in loss for loss in losses), "a program reads the sign"
    assert visitor.get(f"{path}/export").text.splitlines() == [
        "destination,account,credits_today,credits_then,change",
        *(f"233{number:03},,,1,new" for number in range(249)),
        "233249,,,none,new",
        f"GH,{text_id},1,1,unchanged",
    ]
    visitor.get(path)
    visitor.post(path, {"do": "plan", "reason": "prices of May", "allow_loss": "yes"})
    margin = visitor.get(f"{RATES}/margin").text
    assert "250 below cost" in margin  # of 249 rates, and of the default to other numbers
    assert "And 50 more." in margin
    assert f'href="{RATES}/margin/export"' in margin
    [columns, *margins] = visitor.get(f"{RATES}/margin/export").text.splitlines()
    assert columns == "numbers,margin,brings,costs,currency,carrier,rate,account,credits"
    assert len(margins) == 250
    assert all(",-0." in each and ",," in each for each in margins), "they are of no account"
    of_her = f"{RATES}/margin/export?account={text_id}"
    assert of_her in visitor.get(f"{RATES}/margin?account={text_id}").text
    assert any(f",GH,{text_id},1" in line for line in visitor.get(of_her).text.splitlines())
    assert visitor.get(f"{RATES}/margin/export?account=nobody").status_code == 400


def test_a_planned_sheet_is_applied_at_its_time_or_withdrawn_before(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    at = rfc3339(clock.now_ms() + DAY_MS)[: len("2026-11-27T00:00")]
    plan = {"do": "plan", "reason": "prices of May", "at": at}
    for credits, do in ((3, "withdraw"), (4, "let it hold")):
        path = uploaded(visitor, f"country,credits\r\nGH,{credits}\r\n".encode())
        for wrong in ("2026-13-01T00:00", "2020-01-01T00:00", "soon"):
            assert visitor.post(path, {**plan, "at": wrong}).status_code == 400
        assert visitor.post(path, plan).status_code == 303
        if do == "withdraw":
            visitor.get(path)
            assert visitor.post(path, {"do": do, "reason": "wrong"}).status_code == 303
    assert rates_now(db) == []
    assert visitor.get(SHEETS).text.count("planned</span>") == 1
    clock.move(2 * DAY_MS)
    assert apply_next(db)
    assert not apply_next(db)
    assert rates_now(db) == [current_rates.Rate(GENERAL, "GH", 4)]
    assert operators_did(db) == ["rate.sheet", "rate.plan", "rate.withdraw", "rate.plan"]


def test_a_file_with_wrong_rows_is_refused_with_each_of_them(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(SHEETS)
    file = b"prefix,credits,account\r\n233,1,\r\nGhana,2,\r\n234,x,\r\n235,1,nobody\r\n"
    refused = visitor.post(SHEETS, {}, files={"file": ("rates.csv", file)})
    assert refused.status_code == 400
    assert "Nothing was stored: 3 rows of the file are wrong" in refused.text
    assert (
        "credits must be a whole number from 0 to 100000, or none; not &#39;x&#39;" in refused.text
    )
    empty = visitor.post(SHEETS, {}, files={"file": ("rates.csv", b"")})
    assert "is required, and must not be empty" in empty.text
    assert "No sheet was uploaded yet" in visitor.get(SHEETS).text


def test_costs_and_prices_are_changed_and_the_margin_follows(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    margin = visitor.get(f"{RATES}/margin").text
    assert "1 below cost" in margin
    assert "−0.015 GHS" in margin
    cost = {"carrier": "simulator", "prefix": "233", "reason": "contract 12"}
    price = {"currency": "GHS", "reason": "May"}
    forms: list[tuple[str, dict[str, str]]] = [
        ("costs", {**cost, "do": "set cost", "amount": "0.0125", "currency": "GHS"}),
        ("prices", {**price, "do": "set price", "amount": "12.50", "per": "1 000"}),
    ]
    for name, form in forms:
        visitor.get(f"{RATES}/{name}")
        assert visitor.post(f"{RATES}/{name}", form).status_code == 303
    with db.read() as tx:
        assert [each.amount_micro for each in pricing.load_costs(tx, SIMULATOR_ID)] == [12_500]
        assert prices.all_prices(tx) == [Price("GHS", 1_250, 1_000)]
    assert "Nothing sells below cost" in visitor.get(f"{RATES}/margin").text
    for name, form in forms:
        wrong = {**form, "amount": "much", "reason": "May"}
        assert visitor.post(f"{RATES}/{name}", wrong).status_code == 400
        gone = {**form, "do": form["do"].replace("set", "remove")}
        assert visitor.post(f"{RATES}/{name}", gone).status_code == 303
        assert visitor.post(f"{RATES}/{name}", gone).status_code == 400
    told = ["price.remove", "cost.remove", "price.set", "cost.set"]
    assert operators_did(db) == told
    log = visitor.get("/console/log").text
    assert "0.0125 GHS a segment" in log
    assert "12.50 GHS for 1000 credits" in log


def test_finance_sets_prices_and_no_rates(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db, OperatorRole.FINANCE)
    assert "Change a price" in visitor.get(f"{RATES}/prices").text
    assert "Change a rate" not in visitor.get(RATES).text
    assert "Upload a sheet" not in visitor.get(SHEETS).text


@pytest.mark.parametrize(
    ("path", "form", "words"),
    [
        (
            f"{RATES}/costs",
            {"do": "set cost", "carrier": "simulator", "prefix": "233", "amount": "0.08"},
            "GH brings 0.07 GHS a segment, and simulator charges 0.08 GHS for 233",
        ),
        (
            f"{RATES}/prices",
            {"do": "set price", "amount": "20", "per": "1000"},
            "default brings 0.02 GHS a segment, and simulator charges 5.00 GHS for all other"
            " numbers; GH brings 0.04 GHS a segment, and simulator charges 0.05 GHS for 233",
        ),
        (
            "/console/routes",
            {"do": "set route", "prefix": "23324", "carrier": "dear"},
            "GH brings 0.07 GHS a segment, and dear charges 0.09 GHS for 23324",
        ),
    ],
)
def test_what_makes_a_rate_sell_below_cost_is_refused_until_it_is_agreed_to(
    visitor: Visitor, db: Database, path: str, form: dict[str, str], words: str
) -> None:
    """Other numbers sell at a loss before, and nobody is told of them again."""
    open_carrier(db, "dear", prefix=None)
    with db.write() as tx:
        current_rates.store(tx, "GH", 2)
        pricing.set_cost(tx, "dear", "", "0.09", "GHS")
        pricing.set_cost(tx, "simulator", "", "5", "GHS")
    sign_in_operator(visitor, db)
    visitor.get(path)
    form = {"currency": "GHS", "reason": "as agreed", **form}
    refused = visitor.post(path, form)
    assert (refused.status_code, operators_did(db)) == (400, [])
    assert "allow_loss-error" in refused.text
    assert f"because this sells below cost: {words}." in refused.text
    assert visitor.post(path, {**form, "allow_loss": "yes"}).status_code == 303
    again = visitor.post(path, form)
    assert again.status_code == 303, "it makes nothing worse"
    assert len(operators_did(db)) == 1, "it changes nothing"
