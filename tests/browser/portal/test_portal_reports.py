"""The overview's plots, and a report by keyboard, show the figures of an account in a
real browser.
"""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import Browser, expect

from heliograph.base import clock
from tests.support.api.server import Server
from tests.support.portal.browsing import (
    at_both_widths,
    opened,
    picture,
    reload_until,
    send,
    sign_in_owner,
)
from tests.support.portal.rolled_up import forget_rollups, rolled_up

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def a_busy_shop(server: Server) -> None:
    """Stores two months of texts to three countries, with quiet nights, and some that failed."""
    db, account_id, now_ms = server.cast.amina.db, server.cast.amina.account_id, clock.now_ms()
    forget_rollups(db, account_id)
    for hours in (*range(24), *range(30, 60 * 24, 7)):
        at_ms = now_ms - hours * HOUR_MS
        busy = 40 + (at_ms // HOUR_MS * 37) % 160 if 6 < at_ms // HOUR_MS % 24 < 20 else 9
        busy *= 1 if hours < 24 else 7  # one of seven hours is stored
        for share, (country, sender) in enumerate(
            [("GH", "AMINA"), ("NG", "AMINA"), ("KE", "MANGO")], start=1
        ):
            delivered, failed = busy * 5 // share, busy // (4 * share)
            rolled_up(
                db,
                account_id,
                at_ms,
                country_code=country,
                sender=sender,
                delivered=delivered,
                within_5_s=delivered * 3 // 4,
                within_30_s=delivered - delivered * 3 // 4,
                sent=busy // 3 if hours < 2 else 0,
                failed=failed,
                expired=failed // 3,
                undeliverable=failed - failed // 3,
                segments=delivered,
                credits=delivered,
            )


@at_both_widths
def test_figures_are_read_on_the_overview_and_in_a_report(
    browser: Browser, server: Server, width: int
) -> None:
    a_busy_shop(server)
    page = opened(browser, width)
    sign_in_owner(page, server)
    expect(page.get_by_role("heading", name="Last 24 hours")).to_be_visible()
    expect(page.get_by_role("img", name="Last 30 days")).to_be_visible()
    picture(page, "overview-figures")
    page.get_by_text("Figures").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("row")).not_to_have_count(0)
    page.get_by_role("link", name="All reports").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("within 5 s", exact=True)).to_be_visible()
    picture(page, "reports")
    page.get_by_role("link", name="7 days").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "page")
    today = datetime.now(UTC).date()
    page.get_by_label("From").fill(str(today - timedelta(days=100)))
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("must be at most 92 days, not 101 days")).to_be_visible()
    picture(page, "reports-wrong")
    page.get_by_label("From").fill(str(today))
    page.get_by_role("button", name="Show").click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save as CSV").first.click()
    assert saved.value.suggested_filename == f"outcomes-{today}-{today}.csv"
    forget_rollups(server.cast.amina.db, server.cast.amina.account_id)
    page.context.close()


@at_both_widths
def test_a_text_stands_in_the_report_as_soon_as_it_has_arrived(
    browser: Browser, server: Server, width: int
) -> None:
    send(server, "233201234567", "The mangoes are ripe.")
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Reports").click()
    picture(page, "reports-empty")
    page.get_by_label("Mode").select_option("sandbox")
    page.get_by_role("button", name="Show").click()
    arrived = page.get_by_role("row").filter(has_text="100.0 %")
    reload_until(page, arrived.filter(has_text="SANDBOX"))
    expect(arrived.filter(has_text="GH")).to_be_visible()
    page.context.close()
