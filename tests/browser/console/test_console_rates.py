"""An operator sets what a carrier charges, uploads a rate sheet with a loss, which is refused,
agrees to it, and plans another one that the server applies, in a real browser.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from heliograph.base import clock
from heliograph.carriers import GENERAL, current_rates
from heliograph.pricing import sheets
from heliograph.pricing.tables import rate_sheets
from tests.support.api.server import Server
from tests.support.capability.commands import runner
from tests.support.console.first_visit import sign_in_operator
from tests.support.portal.browsing import at_both_widths, opened, picture, reload_until
from tests.support.spreadsheet import spreadsheet

MINUTE_S = 60


def upload(page: Page, name: str, file_name: str, octets: bytes) -> None:
    page.get_by_role("link", name="Sheets", exact=True).click()
    page.get_by_label("CSV or XLSX file").set_input_files(
        {"name": file_name, "mimeType": "application/octet-stream", "buffer": octets}
    )
    page.get_by_label("Name of the sheet").fill(name)
    page.get_by_role("button", name="Show the difference").click()


def set_cost(page: Page) -> None:
    """Sets what the simulator charges to Ghana."""
    page.get_by_role("navigation").get_by_role("link", name="Rates").first.click()
    picture(page, "console-rates")
    page.get_by_role("link", name="Costs").click()
    for label, text in (
        ("Carrier", "simulator"),
        ("Prefix (empty: all other numbers)", "233"),
        ("Amount of a segment", "0.0525"),
        ("Currency", "GHS"),
        ("Reason", "contract 12"),
    ):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Set the cost").click()
    expect(page.get_by_role("cell", name="0.0525 GHS")).to_be_visible()
    picture(page, "console-costs")


def plan_another(page: Page, server: Server) -> None:
    """Plans a sheet, and sees that the server applies it at its time."""
    page.get_by_role("link", name="Sheets", exact=True).click()
    upload(page, "Prices of June", "june.csv", b"prefix;credits\r\n233;5\r\n")
    at = datetime.fromtimestamp(clock.now_ms() / 1_000 + 2 * MINUTE_S, UTC)
    page.get_by_label("From (UTC; empty: at once)").fill(at.strftime("%Y-%m-%dT%H:%M"))
    page.get_by_label("Reason").fill("prices of June")
    page.get_by_role("button", name="Let it hold").click()
    expect(page.get_by_role("heading", name="Prices of June planned")).to_be_visible()
    picture(page, "console-rate-sheet-planned")
    bring_forward(server)
    reload_until(page, page.get_by_role("heading", name="Prices of June applied"))
    with server.cast.amina.db.read() as tx:
        assert current_rates.Rate(GENERAL, "233", 5) in current_rates.load(tx)
    page.get_by_role("navigation").get_by_role("link", name="Rates").first.click()
    page.get_by_role("link", name="Prices").click()
    picture(page, "console-prices")


@at_both_widths
def test_a_rate_sheet_with_a_loss_is_refused_and_another_one_is_applied_at_its_time(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    run = runner(server.cast.amina.db.url, tmp_path)
    for line in (
        ("price", "set", "GHS", "35", "--per", "1000"),
        ("route", "set", "", "simulator"),
        ("rate", "set", "GH", "2"),
        ("rate", "set", "default", "3"),
    ):
        assert run(*line).status == 0
    page = opened(browser, width)
    sign_in_operator(page, server, tmp_path)
    set_cost(page)
    upload(page, "bad", "bad.csv", b"prefix,credits\r\nGhana,1\r\n233,many\r\n")
    expect(page.get_by_text("Nothing was stored: 2 rows of the file are wrong")).to_be_visible()
    picture(page, "console-rate-sheet-wrong-rows")

    rows: list[list[Any]] = [
        ["prefix", "country", "credits"],
        [233, None, 1],
        [None, "NG", 4],
        ["default", "", 3],
    ]
    upload(page, "Prices of May", "may.xlsx", spreadsheet(*rows))
    expect(page.get_by_role("heading", name="It sells below cost")).to_be_visible()
    expect(page.get_by_text("2 new, 0 changed, 0 removed, 1 unchanged")).to_be_visible()
    picture(page, "console-rate-sheet-with-loss")
    with page.expect_download() as saving:
        page.get_by_role("link", name="Save the whole difference as CSV").click()
    assert saving.value.path().read_text() == (
        "destination,account,credits_today,credits_then,change\n"
        "233,,,1,new\nNG,,,4,new\ndefault,,3,3,unchanged\n"
    )
    page.get_by_label("Reason").fill("to win the customer")
    page.get_by_role("button", name="Let it hold").click()
    expect(page.get_by_text("233 brings 0.035 GHS a segment")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("to win the customer")
    picture(page, "console-rate-sheet-refused")
    page.get_by_label("Sell below cost").check()
    page.get_by_role("button", name="Let it hold").click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    expect(page.get_by_text("selling below cost was agreed to")).to_be_visible()
    page.get_by_role("link", name="Rate sheets").click()
    picture(page, "console-rate-sheets")
    page.get_by_role("link", name="Margin").click()
    expect(page.get_by_text("1 below cost")).to_be_visible()
    picture(page, "console-margin")
    plan_another(page, server)


def bring_forward(server: Server) -> None:
    """Lets the time of the planned sheet come: the server's own clock is not the test's."""
    with server.cast.amina.db.write() as tx:
        planned = next(each for each in sheets.newest_sheets(tx) if each.status == "planned")
        tx.execute(
            rate_sheets.update()
            .where(rate_sheets.c.id == planned.id)
            .values(effective_at_ms=clock.now_ms())
        )
