"""An id leads to what it names, a second removal to the list, and a large audience is priced by a
sample, in a real browser.
"""

import re

from playwright.sync_api import Browser, expect

from tests.support.api.server import Server
from tests.support.capability.campaigns import add_contacts
from tests.support.factories import phones
from tests.support.portal.browsing import (
    at_both_widths,
    opened,
    picture,
    sign_in_owner,
)

MANY = 3_100  # more than a page prices exactly, if their texts have to be filled in


@at_both_widths
def test_an_id_leads_to_a_contact_that_is_removed_in_two_tabs(
    browser: Browser, server: Server, width: int
) -> None:
    amina, [phone] = server.cast.amina, phones(1, first=width)
    add_contacts(amina.db, amina.account_id, [phone])
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Contacts").click()
    page.get_by_role("link", name=phone).click()
    expect(page).to_have_url(re.compile("/contacts/con_"))
    contact_id = page.url.rpartition("/")[2]
    page.get_by_role("link", name="Messages", exact=True).click()
    page.locator("[name=find]").fill("con_01k5zzzzzzzzzzzzzzzzzzzzzz")
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be the id of something that this account has")).to_be_visible()
    picture(page, "messages-sought")
    page.locator("[name=find]").fill(contact_id)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/contacts/{contact_id}$"))
    other = page.context.new_page()
    third = page.context.new_page()
    third.goto(page.url)
    for each in (page, other):
        each.goto(f"{page.url.removesuffix('/remove')}/remove")
    page.get_by_role("button", name="Remove it").click()
    expect(page).to_have_url(re.compile("/contacts[^/]*$"))
    other.get_by_role("button", name="Remove it").click()
    expect(other).to_have_url(re.compile("/contacts$"))
    expect(other.get_by_role("status").get_by_text("That was removed already")).to_be_visible()
    third.get_by_role("link", name="Remove").click()
    expect(third).to_have_url(re.compile("/contacts$"))
    expect(third.get_by_role("status").get_by_text("That was removed already")).to_be_visible()
    page.context.close()


@at_both_widths
def test_a_large_audience_is_estimated_and_priced_before_its_launch(
    browser: Browser, server: Server, width: int
) -> None:
    amina, tag = server.cast.amina, f"vip {width}"
    numbers = phones(MANY, first=width * 100)
    people = [{"phone": phone, "name": "Ama", "tags": [tag]} for phone in numbers]
    add_contacts(amina.db, amina.account_id, people)
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Campaigns").click()
    page.get_by_role("link", name="Write a campaign").click()
    page.get_by_label("Name", exact=True).fill("For many")
    page.get_by_role("textbox", name="Text").fill("Hi {name}, we open at nine.")
    page.get_by_label("Contacts with any").check()
    page.get_by_label("Tags, each").fill(tag)
    expect(page.get_by_text("Hi Ama, we open at nine.").first).to_be_visible()
    page.get_by_role("button", name="Save the draft").click()
    expect(page.get_by_text(re.compile(r"^about 3\s\d00$")).first).to_be_visible()
    picture(page, "campaign-estimated")
    page.get_by_role("link", name="Launch …").click()
    expect(page.get_by_text(re.compile(r"^about 3\s\d00 recipients$"))).to_be_visible()
    page.get_by_role("button", name="Work out the exact price").press("Enter")
    expect(page.get_by_text(re.compile(r"^3\s100 recipients$"))).to_be_visible()
    picture(page, "campaign-exact")
    page.get_by_role("link", name="Not yet").click()
    page.get_by_role("link", name="Write another one like it").click()
    expect(page.get_by_text("Hi Ama, we open at nine.").first).to_be_visible()
    picture(page, "campaign-like")
    page.context.close()
