"""People work with contacts in the portal, in a real browser."""

import re

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.portal.browsing import NARROW, at_both_widths, opened, picture, sign_in_owner


@at_both_widths
def test_a_contact_is_added_changed_and_opts_out_by_keyboard(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Contacts").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("no live contact yet")).to_be_visible()
    picture(page, "contacts-none")
    page.get_by_role("link", name="Add a contact").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Phone").focus()
    page.keyboard.type("12")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be a phone number in international digits")).to_be_visible()
    page.get_by_label("Tags").fill("vip\naccra")
    picture(page, "contact-wrong")
    page.get_by_label("Phone").fill("0201234567")
    page.get_by_label("Name", exact=True).fill("Kofi Mensah")
    page.get_by_label("Name of a new field").first.fill("city")
    page.get_by_label("Its value").first.focus()
    page.keyboard.type("Accra")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Kofi Mensah")).to_be_visible()
    expect(page.get_by_label("city")).to_have_value("Accra")
    page.get_by_label("Email address").focus()
    page.keyboard.type("kofi@example.com")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Email address")).to_have_value("kofi@example.com")
    page.get_by_role("button", name="Opt out", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("leave this contact out")).to_be_visible()
    picture(page, "contact")
    page.get_by_role("link", name="Contacts").first.click()
    page.get_by_label("Search").focus()
    page.keyboard.type("nobody")
    expect(page.get_by_text("No live contact is like that")).to_be_visible()
    expect(page).to_have_url(re.compile("q=nobody"))
    page.keyboard.press("Control+A")
    page.keyboard.type("MENSAH")
    expect(page.get_by_role("cell", name="kofi@example.com")).to_be_visible()
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("cell", name="kofi@example.com")).to_be_visible()
    picture(page, "contacts")
    page.get_by_role("link", name="233201234567").click()
    page.get_by_role("link", name="Remove …").click()
    expect(page.get_by_role("heading", name="Remove Kofi Mensah?")).to_be_visible()
    picture(page, "contact-remove")
    page.get_by_role("button", name="Remove it").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("no live contact yet")).to_be_visible()
    page.context.close()


@at_both_widths
def test_a_file_is_imported_and_saved_again(browser: Browser, server: Server, width: int) -> None:
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Contacts").click()
    page.get_by_role("link", name="Import a file").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Mode").select_option("sandbox")
    page.get_by_role("button", name="Import it").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("is required")).to_be_visible()
    picture(page, "contact-import-wrong")
    sheet = b"phone;name;tags;city\n0201234567;Kofi;vip;Accra\n12;Nobody;;\n0201234567;Kofi M;;\n"
    page.get_by_label("CSV file").set_input_files(
        {"name": "contacts.csv", "mimeType": "text/csv", "buffer": sheet}
    )
    page.get_by_role("button", name="Import it").focus()
    page.keyboard.press("Enter")
    # a job does it within a second, and the page looks every three
    imported = page.get_by_role("heading", name="Imported, but for 1 row")
    expect(imported).to_be_visible(timeout=20_000)
    expect(page.get_by_role("cell", name="must be a phone number")).to_be_visible()
    picture(page, "contacts-imported")
    page.get_by_role("link", name="To the contacts").click()
    with page.expect_download() as begun:
        page.get_by_role("link", name="Save all as CSV").click()
    assert begun.value.suggested_filename == "contacts-sandbox.csv"
    assert begun.value.path().read_bytes() == (
        b"phone,name,email,tags,opted_out\r\n233201234567,Kofi M,,,no\r\n"
    )
    page.context.close()


@at_both_widths
def test_a_file_with_columns_of_other_names_is_imported_and_some_contacts_are_tagged(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    sign_in_owner(page, server)
    tag = f"gold {width}"
    contacts_page = f"{server.url}/portal/accounts/{server.cast.amina.text_id}/contacts"
    page.goto(f"{contacts_page}/import?mode=sandbox")
    sheet = f"Handy,wer\n02000{width:05},Ama {width}\n02001{width:05},Kofi {width}\n".encode()
    page.get_by_label("CSV file").set_input_files(
        {"name": "people.csv", "mimeType": "text/csv", "buffer": sheet}
    )
    page.get_by_text("The columns have other names").click()
    offered = page.locator("#columns option")
    expect(offered).to_have_count(2)
    page.get_by_role("combobox", name="Phone", exact=True).fill("Handy")
    page.get_by_role("combobox", name="Name", exact=True).fill("wer")
    picture(page, "contact-import-columns")
    page.get_by_role("button", name="Import it").click()
    expect(page.get_by_text("phone (Handy), name (wer)")).to_be_visible(timeout=20_000)
    page.goto(f"{contacts_page}?mode=sandbox&q={width}")
    here = page.get_by_role("navigation").get_by_role("link", name="Contacts")
    expect(here).to_be_in_viewport(ratio=1)
    page.get_by_label(f"Select 2332001{width:05}").focus()
    page.keyboard.press("Space")
    picture(page, "contacts-selected")
    page.get_by_role("button", name="Tag the selected …").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Tag", exact=True).focus()
    page.keyboard.type(tag)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"Add {tag} to 1 contact?")).to_be_visible()
    picture(page, "contacts-tags")
    page.get_by_role("button", name="Add it to 1 contact").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"Added {tag} to 1 contact")).to_be_visible()
    page.get_by_role("link", name="To the contacts").click()
    expect(page.get_by_role("cell", name=f"Kofi {width}")).to_be_visible()
    expect(page.get_by_role("cell", name=f"Ama {width}")).to_have_count(0)
    page.get_by_role("button", name="Tag all that this finds …").click()
    expect(page.get_by_text(f"that the search for “{tag}” finds")).to_be_visible()
    page.context.close()


@at_both_widths
def test_a_phone_says_of_campaigns_only_who_has_opted_out_of_them(
    browser: Browser, server: Server, width: int
) -> None:
    """Without the head of its column, which a phone does not show, "reach" says nothing."""
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Contacts").click()
    page.get_by_role("link", name="Add a contact").click()
    page.get_by_label("Phone").fill("0201234596")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="233201234596")).to_be_visible()
    page.get_by_role("link", name="Contacts").first.click()
    row = page.get_by_role("row").filter(has_text="233201234596")
    expect(row).to_be_visible()
    expect(row.get_by_text("reach", exact=True)).to_be_visible(visible=width != NARROW)
    page.context.close()
