"""An operator looks at money by day, proves the ledger, and saves a month's PDF whose sums are the
ledger's, in a real browser.
"""

import re
from pathlib import Path

from playwright.sync_api import Browser, expect
from pypdf import PdfReader

from heliograph.base import clock
from heliograph.base.clock import DAY_MS, date_in_utc
from heliograph.database.database import Database
from heliograph.messages.tables import QUARTER_MS
from heliograph.monitoring.tables import carrier_money
from heliograph.users import OperatorRole
from heliograph.wallet import files, ledger, prices
from heliograph.wallet.ledger import post
from tests.support.api.server import Server
from tests.support.console.entering import sign_in_operator
from tests.support.factories import open_carrier
from tests.support.portal.browsing import at_both_widths, opened, picture

PROVEN_WITHIN_MS = 60_000
DAYS = 20


def lived(db: Database, account_id: str) -> None:
    """Makes entries of some weeks."""
    with db.write() as tx:
        prices.set_price(tx, "GHS", "1", 20)
    for day in range(DAYS, -1, -1):
        at_ms = clock.now_ms() - day * DAY_MS
        with db.write() as tx:
            ledger.topup(tx, account_id, "150.50", f"bank transfer {day}", now_ms=at_ms)
            prices.buy_credits(tx, account_id, 2_000 + 150 * (day % 5), now_ms=at_ms)
            if day % 6 == 0:
                ledger.grant(tx, account_id, 250, "good will", now_ms=at_ms)
            for kind, credits in (("sms_charge", -1_500 - 90 * (day % 4)), ("sms_refund", 30)):
                post(
                    tx,
                    account_id,
                    kind,
                    ledger.SALES_ID,
                    credits=credits,
                    description="Messages",
                    now_ms=at_ms,
                )


def taken(db: Database) -> None:
    """Makes figures of what two carriers have taken in some weeks."""
    carrier_ids = [open_carrier(db, name, prefix=None) for name in ("gh-main", "gh-second")]
    for day in range(DAYS, -1, -1):
        at_ms = (clock.now_ms() - day * DAY_MS) // QUARTER_MS * QUARTER_MS
        for carrier_id, currency in zip(carrier_ids, ("GHS", "EUR"), strict=True):
            row = {"carrier_id": carrier_id, "quarter_ms": at_ms, "currency": currency}
            segments = (900 + 40 * (day % 5)) // (1 if currency == "GHS" else 200)
            figures = {
                "segments": segments,
                "credits": segments * 2,
                "cost_micro": 12_500 * segments,
            }
            with db.write() as tx:
                tx.execute(carrier_money.insert().values(row | figures))


@at_both_widths
def test_an_operator_looks_after_the_ledger(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    page, amina = opened(browser, width), server.cast.amina
    sign_in_operator(page, server, amina.db, OperatorRole.FINANCE)
    page.goto(f"{server.url}/console/money")
    page.get_by_role("link", name="Prove the ledger").click()
    page.get_by_role("button", name="Prove the ledger now").click()
    expect(page.get_by_text("The ledger is proven.")).to_be_visible(timeout=PROVEN_WITHIN_MS)
    picture(page, "console-proof")
    lived(amina.db, amina.account_id)
    taken(amina.db)
    page.get_by_role("link", name="Money", exact=True).last.click()
    while page.get_by_text("are still being added up").is_visible():
        page.wait_for_timeout(1_000)
        page.reload()
    expect(page.get_by_role("cell", name=date_in_utc(clock.now_ms())).first).to_be_visible()
    picture(page, "console-money-by-day")
    page.get_by_role("link", name="By carrier").click()
    expect(page.get_by_role("cell", name="0.05 EUR").first).to_be_visible()
    picture(page, "console-money-by-carrier")
    page.go_back()
    page.get_by_role("link", name="Ledger files").click()
    picture(page, "console-ledger-files")
    page.go_back()
    # charges of no message
    page.get_by_role("link", name="Prove the ledger").click()
    page.get_by_role("button", name="Prove the ledger now").click()
    expect(page.get_by_role("heading", name="The ledger is not proven")).to_be_visible(
        timeout=PROVEN_WITHIN_MS
    )
    expect(page.get_by_text("names neither a send nor a campaign").first).to_be_visible()
    picture(page, "console-proof-failed")
    page.get_by_role("region", name="What is wrong").get_by_role("link").first.click()
    page.get_by_role("link", name="By day").click()
    picture(page, "console-account-by-day")
    page.go_back()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save as PDF").click()
    file = tmp_path / "statement.pdf"
    saved.value.save_as(file)
    text = "\n".join(
        re.sub(r" +", " ", each.extract_text(extraction_mode="layout"))
        for each in PdfReader(file).pages
    )
    month = date_in_utc(clock.now_ms())[: len("2026-11")]
    with amina.db.read() as tx:
        told = files.statement(tx, amina.account_id, month)
    words = {"topup": "Money added", "sms_charge": "Messages sent", "sms_refund": "Refunds"}
    for each in told.sums:
        if each.type in words:
            credits = f"{each.credits:+,}" if each.credits else "–"
            money = f"+{each.amount_minor / 100:,.2f}" if each.amount_minor else "–"
            assert f"{words[each.type]} {each.entries} entries {credits} {money}" in text
    closing = f"{told.closing.sms_credits:,} {told.closing.balance_minor / 100:,.2f}"
    assert f"Held when it ended, or now {closing}" in text
