"""A sender ID with a document is seen from both sides, in a real browser: its owner registers it,
the operator looks and asks for more, the owner sends it, the operator approves, and later suspends.
"""

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.support.api.server import Server
from tests.support.console import first_visit
from tests.support.console.operators import PDF
from tests.support.portal.browsing import at_both_widths, opened, picture, sign_in_owner


@at_both_widths
def test_a_sender_id_is_approved_from_both_sides_with_a_document(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    name = f"AMINA{width}"
    owner, operator = opened(browser, width), opened(browser, width)
    sign_in_owner(owner, server)
    owner.get_by_role("navigation").get_by_role("link", name="Sender IDs").click()
    owner.get_by_label("Sender", exact=True).fill(name)
    owner.get_by_label("Country").fill("GH")
    owner.get_by_role("button", name="Register", exact=True).click()
    row = owner.get_by_role("row").filter(has_text=name)
    row.get_by_role("link", name="Documents").click()
    false = tmp_path / "letter.pdf"
    false.write_bytes(b"<script>alert(1)</script>")
    owner.get_by_label("File").set_input_files(false)
    owner.get_by_role("button", name="Attach it").click()
    expect(owner.get_by_text("by its content, whatever its name says")).to_be_visible()
    picture(owner, "sender-documents-refused")
    false.write_bytes(PDF)
    owner.get_by_label("File").set_input_files(false)
    owner.get_by_role("button", name="Attach it").click()
    expect(owner.get_by_role("status")).to_have_text("Saved")
    picture(owner, "sender-documents")
    first_visit.sign_in_operator(operator, server, tmp_path)
    operator.get_by_role("navigation").get_by_role("link", name="Approvals").click()
    operator.get_by_role("link", name=name).click()
    picture(operator, "console-approval-document")
    with operator.expect_download() as saving:
        operator.get_by_role("link", name="letter.pdf").click()
    assert Path(saving.value.path()).read_bytes() == PDF
    operator.get_by_label("Reason").fill("The letter has no signature")
    operator.get_by_role("button", name=f"Reject {name}").click()
    owner.goto(owner.url.partition("/senders")[0] + "/senders")
    expect(row.get_by_text("The letter has no signature")).to_be_visible()
    row.get_by_role("link", name="Register it again").click()
    owner.get_by_role("button", name="Register", exact=True).click()
    row.get_by_role("link", name="Documents").click()
    expect(owner.get_by_text("decided on, and kept")).to_be_visible()
    for _ in range(2):
        owner.get_by_label("File").set_input_files(false)
        owner.get_by_role("button", name="Attach it").click()
    expect(owner.get_by_role("link", name="letter.pdf")).to_have_count(3)
    owner.locator(".asks > summary").first.click()
    owner.get_by_role("button", name="Remove it").click()
    expect(owner.get_by_role("link", name="letter.pdf")).to_have_count(2)
    operator.get_by_role("navigation").get_by_role("link", name="Approvals").click()
    operator.get_by_role("link", name=name).click()
    expect(operator.get_by_role("link", name="letter.pdf")).to_have_count(2)
    operator.get_by_role("button", name=f"Approve {name}").click()
    expect(operator.get_by_role("status")).to_have_text("Saved")
    owner.reload()
    expect(owner.get_by_text("approved")).to_be_visible()
    expect(owner.get_by_role("button", name="Attach it")).to_have_count(0)
    _suspended_from_both_sides(owner, operator, name)


def _suspended_from_both_sides(owner: Page, operator: Page, name: str) -> None:
    operator.get_by_role("navigation").get_by_role("link", name="Accounts").click()
    operator.get_by_label("Search").fill(name)
    operator.get_by_role("button", name="Find").click()
    operator.get_by_role("table").get_by_role("link").first.click()
    operator.get_by_role("link", name=name).click()
    operator.get_by_label("Reason").fill("A bank complained about it")
    picture(operator, "console-sender-suspend")
    operator.get_by_role("button", name=f"Suspend {name}").click()
    expect(operator.get_by_role("status")).to_have_text("Saved")
    expect(operator.get_by_role("button", name=f"Approve {name}")).to_be_visible()
    steps = operator.get_by_role("region", name="History")
    expect(steps.get_by_text("A bank complained about it")).to_be_visible()
    assert steps.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
    owner.goto(owner.url.partition("/senders")[0] + "/senders")
    expect(owner.get_by_text("A bank complained about it")).to_be_visible()
