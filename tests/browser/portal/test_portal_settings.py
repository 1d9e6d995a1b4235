"""Owners and developers look back in the portal, in a real browser: at settings, the audit log, and
the log of requests.
"""

from playwright.sync_api import Browser, expect

from tests.support import plain_http
from tests.support.api.server import Server
from tests.support.portal.browsing import (
    at_both_widths,
    opened,
    picture,
    reload_until,
    sign_in_owner,
)


@at_both_widths
def test_settings_are_changed_by_keyboard_and_the_audit_log_says_so(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Settings").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Time zone").fill("Mars/Base")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be a time zone of the IANA database")).to_be_visible()
    picture(page, "settings-wrong")
    page.get_by_label("Time zone").fill("Africa/Lagos" if width == 390 else "Africa/Accra")
    page.get_by_label("Credits that may be spent in a day").fill(str(5_000 + width))
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be a time zone")).to_have_count(0)
    picture(page, "settings")
    page.get_by_role("link", name="Audit log").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"{5_000 + width}")).to_be_visible()
    picture(page, "audit-log")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save all as CSV").click()
    assert "settings.change" in saved.value.path().read_text()
    page.context.close()


@at_both_widths
def test_a_refused_request_is_found_by_its_id(browser: Browser, server: Server, width: int) -> None:
    refused = plain_http.post(
        f"{server.url}/api/v1/sms/send",
        headers={"Authorization": f"Bearer {server.cast.amina.key(sandbox=True)}"},
        json={"sender": "SANDBOX", "message": "Hello", "to": "12"},
    )
    request_id = refused.json()["request_id"]
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Requests").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Mode").select_option("sandbox")
    page.get_by_label("Request id").focus()
    page.keyboard.type(request_id)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**id={request_id}")
    row = page.get_by_role("row").filter(has_text=request_id)
    reload_until(page, row)
    expect(row).to_contain_text("no_valid_recipient")
    page.get_by_role("link", name="Clear").click()
    page.get_by_label("Mode").select_option("sandbox")
    page.get_by_role("button", name="Show").click()
    picture(page, "requests")
    page.context.close()
