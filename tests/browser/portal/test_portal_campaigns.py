"""In a real browser, one campaign is written by keyboard, launched and watched to its end, and
another is refused, scheduled and canceled. A third goes from a file to its report.
"""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.api.server import Server
from tests.support.capability.campaigns import add_contacts, write_down
from tests.support.factories import phones
from tests.support.portal.browsing import (
    HEIGHT,
    at_both_widths,
    link,
    opened,
    picture,
    reload_until,
    sign_in_owner,
)

NAMES = ("Ama Mensah", "Kofi", "")


@at_both_widths
def test_a_campaign_is_written_by_keyboard_launched_and_watched(
    browser: Browser, server: Server, width: int
) -> None:
    amina, tag = server.cast.amina, f"gold {width}"
    people = [
        {"phone": phone, "name": name or None, "tags": [tag]}
        for phone, name in zip(phones(3, first=width * 10), NAMES, strict=True)
    ]
    add_contacts(amina.db, amina.account_id, people, sandbox=True)
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Campaigns").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Write a campaign").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sandbox").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Sender")).to_have_value("AMINA")
    page.get_by_label("Name").focus()
    page.keyboard.type("Mangoes in May")
    page.get_by_role("textbox", name="Text").focus()
    page.keyboard.type("Hi {name|friend}, the first mangoes {are yours.")
    expect(page.get_by_label("All contacts")).to_be_checked()
    page.get_by_label("Tags, each").focus()
    page.keyboard.type(tag)
    expect(page.get_by_label("Contacts with any")).to_be_checked()  # by itself
    page.get_by_role("button", name="Save the draft").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("that is not part of a placeholder")).to_be_visible()
    picture(page, "campaigns-wrong")
    page.get_by_role("textbox", name="Text").fill("Hi {name|friend}, the first mangoes are yours.")
    page.get_by_role("button", name="Save the draft").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Hi Ama Mensah, the first mangoes are yours.")).to_be_visible()
    expect(page.get_by_text("Hi friend, the first mangoes are yours.")).to_be_visible()
    picture(page, "campaigns-draft")
    page.get_by_role("link", name="Launch …").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("3 recipients")).to_be_visible()
    picture(page, "campaigns-launch")
    page.get_by_role("button", name="Launch it now").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Mangoes in May")).to_be_visible()
    expect(page.get_by_text("completed", exact=True)).to_be_visible(timeout=30_000)  # by itself
    expect(page.get_by_text("3 of 3 messages have left")).to_be_visible()
    reload_until(page, page.get_by_text("100.0 %"))
    picture(page, "campaigns-completed")
    page.get_by_role("link", name="Its messages").click()
    expect(page.get_by_role("cell", name="Hi Kofi, the first mangoes are yours.")).to_be_visible()
    page.get_by_role("link", name="Campaigns").click()
    expect(page.get_by_role("row").filter(has_text="completed").first).to_contain_text("3")
    picture(page, "campaigns")
    page.context.close()


@at_both_widths
def test_a_campaign_that_is_too_dear_is_scheduled_and_canceled(
    browser: Browser, server: Server, width: int
) -> None:
    amina = server.cast.amina
    name, tag = f"Opening hours {width}", f"new {width}"
    people = [{"phone": phone, "tags": [tag]} for phone in phones(400, first=width * 1_000)]
    add_contacts(amina.db, amina.account_id, people)
    write_down(amina.db, amina.account_id, name=name, message="x" * 459 + "{nmae}", tags=[tag])
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.get_by_role("link", name="Campaigns").click()
    page.get_by_role("link", name=name).click()
    expect(page.get_by_text("is it misspelled?")).to_be_visible()
    page.get_by_role("link", name="Launch …").click()
    page.get_by_role("button", name="Launch it now").click()
    expect(page.get_by_role("alert")).to_contain_text("the wallet holds 1000")
    picture(page, "campaigns-too-dear")
    page.get_by_role("link", name="Not yet").click()
    page.get_by_label("Day and time").fill("2020-01-31T09:30")
    page.get_by_role("button", name="Schedule it").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("must be in the future")).to_be_visible()
    picture(page, "campaigns-schedule-wrong")
    tomorrow = page.evaluate("new Date(Date.now() + 864e5).toISOString().slice(0, 16)")
    page.get_by_label("Day and time").fill(tomorrow)
    page.get_by_role("button", name="Schedule it").click()
    expect(page.get_by_text(f"It starts at {tomorrow.replace('T', ' ')} UTC")).to_be_visible()
    page.get_by_text("Cancel …").click()
    picture(page, "campaigns-scheduled")
    page.get_by_role("button", name="Cancel it for good").click()
    expect(page.get_by_text("canceled", exact=True)).to_be_visible()
    page.context.close()


@at_both_widths
def test_a_text_is_previewed_while_it_is_typed_and_tested_on_a_handset(
    browser: Browser, server: Server, width: int
) -> None:
    amina, tag = server.cast.amina, f"silver {width}"
    people = [
        {"phone": phone, "name": name or None, "tags": [tag]}
        for phone, name in zip(phones(3, first=5_000 + width * 10), NAMES, strict=True)
    ]
    add_contacts(amina.db, amina.account_id, people, sandbox=True)
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.goto(f"{server.url}/portal/accounts/{amina.text_id}/campaigns/new?mode=sandbox")
    page.get_by_label("Contacts with any").check()
    page.get_by_label("Tags, each").fill(tag)
    page.get_by_role("textbox", name="Text").press_sequentially("Hi {name|friend}, it is May")
    expect(page.locator("#count").get_by_text("Hi Ama Mensah, it is May")).to_be_visible()
    expect(page.locator("#count").get_by_text("Hi friend, it is May")).to_be_visible()
    picture(page, "campaigns-preview")
    page.get_by_label("Name").fill("Mangoes again")
    page.get_by_role("button", name="Save the draft").click()
    page.get_by_label("Your number").focus()
    page.keyboard.type("0209999999")
    picture(page, "campaigns-draft")
    page.keyboard.press("Enter")
    expect(page.get_by_role("blockquote")).to_have_text("Hi Ama Mensah, it is May")
    page.context.close()


@at_both_widths
def test_a_file_with_a_column_of_another_name_becomes_a_campaign_and_its_report(
    browser: Browser, server: Server, width: int, tmp_path: Path
) -> None:
    amina, name = server.cast.amina, f"Mangoes for a list {width}"
    page = opened(browser, width)
    sign_in_owner(page, server)
    page.goto(f"{server.url}/portal/accounts/{amina.text_id}/campaigns/new")
    write_to_a_file(page, name, tmp_path / "numbers.csv")
    page.get_by_role("link", name="To the draft").click()
    expect(page.get_by_text("the numbers of a file")).to_be_visible()
    cost = page.locator("section").filter(has_text="What it would cost now")
    assert figures_in(cost)["Recipients"] == "2"
    page.get_by_role("link", name="Launch …").click()
    # one text takes two segments, and only those two numbers get one
    expect(page.get_by_text("It sends 3 segments from AMINA to 2 recipients.")).to_be_visible()
    told = figures_in(page.locator("main"))
    assert told["Credits"] == "3"
    left = told["Left afterwards"]
    assert count_of(left) == count_of(told["The wallet holds"]) - 3
    picture(page, "campaigns-file-launch")
    page.get_by_role("button", name="Launch it now").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(page.get_by_text("completed", exact=True)).to_be_visible(timeout=30_000)  # by itself
    expect(page.get_by_text("2 of 2 messages have left")).to_be_visible()
    reload_until(page, page.get_by_text("100.0 % delivered"))
    assert figures_in(page.get_by_label("Progress")) == {
        "Queued": "0",
        "Sent": "0",
        "Delivered": "2",
        "Failed": "0",
        "Opted out": "0",
        "Credits used": "3",
    }
    picture(page, "campaigns-file-completed")
    page.get_by_role("link", name="Reports").click()
    row = page.get_by_role("region", name="By campaign").get_by_role("row").filter(has_text=name)
    reload_until(page, row.filter(has_text="100.0 %"))
    # messages, change, delivered, failed, segments, credits
    expect(row.get_by_role("cell")).to_have_text([name, "2", "new", "100.0 %", "0", "3", "3"])
    picture(page, "campaigns-file-report")
    row.get_by_role("link", name=name).click()
    expect(page.get_by_text("100.0 % delivered")).to_be_visible()
    page.get_by_role("link", name="Money").click()
    charge = page.get_by_role("row").filter(has_text=left).filter(has_text="campaign")
    expect(charge.get_by_text("−3", exact=True)).to_be_visible()
    page.context.close()


@at_both_widths
@pytest.mark.parametrize("runs_scripts", [True, False])
def test_what_is_typed_stays_in_the_other_mode_and_beside_a_file(
    browser: Browser, server: Server, width: int, runs_scripts: bool
) -> None:
    window = browser.new_context(
        viewport={"width": width, "height": HEIGHT}, java_script_enabled=runs_scripts
    )
    page, home = window.new_page(), f"{server.url}/portal/accounts/{server.cast.amina.text_id}"
    page.goto(link(server))
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{home}/campaigns/new?mode=live")
    name = page.get_by_role("textbox", name="Name", exact=True)
    text = page.get_by_role("textbox", name="Text")
    name.fill("May")
    text.fill("Hi {name}")
    page.get_by_label("Contacts with any").check()
    page.get_by_label("Tags, each").fill("gold\nnew")
    for button, path in (
        ("Sandbox", "/campaigns/new?mode=sandbox"),
        ("numbers of a file", "/campaigns/new/import?mode=sandbox"),
        ("Live", "/campaigns/new/import?mode=live"),
        ("Or write to contacts", "/campaigns/new?mode=live"),
    ):
        page.get_by_role("button", name=button).click()
        expect(page).to_have_url(f"{home}{path}")
        expect(name).to_have_value("May")
        expect(text).to_have_value("Hi {name}")
        if "import" in path:
            expect(page.locator("[name=tags]")).to_be_hidden()
            page.get_by_label("Numbers are dialled in").fill("GH")
            if runs_scripts:
                picture(page, "campaigns-file-typed")
        if runs_scripts:
            page.reload()
            expect(name).to_have_value("May")
    expect(page.get_by_label("Tags, each")).to_have_value("gold\nnew")
    expect(page.get_by_label("Contacts with any")).to_be_checked()
    name.press("Enter")  # saves, and shows no other mode
    expect(page.get_by_role("heading", name="May")).to_be_visible()
    expect(page.get_by_text("contacts with any of the tags gold, new")).to_be_visible()
    window.close()


def write_to_a_file(page: Page, name: str, sheet: Path) -> None:
    """Writes a draft to the numbers of a file, which are in a column that has to be named. One of
    its three lines has no number.
    """
    sheet.write_text("who;Handy;city\nAma;0201234568;Accra\nKofi;12;Tema\nEfua 🙂;0201234569;\n")
    page.get_by_role("button", name="numbers of a file").click()
    page.get_by_label("CSV file").set_input_files(sheet)
    expect(page.get_by_text("{who}, {Handy}, {city}")).to_be_visible()
    page.get_by_label("Name").fill(name)
    page.get_by_role("textbox", name="Text").fill(
        "Hi {who}, the first mangoes are here. See you in {city|Accra} at the market on Saturday."
    )
    page.get_by_role("button", name="Save the draft").click()
    expect(page.get_by_text("must name the column of the numbers")).to_be_visible()
    picture(page, "campaigns-file-wrong")
    page.get_by_label("CSV file").set_input_files(sheet)
    page.get_by_role("combobox", name="Column of the numbers").fill("Handy")
    page.get_by_role("button", name="Save the draft").click()
    expect(page.get_by_role("heading", name="2 recipients")).to_be_visible()
    expect(page.get_by_text("Hi Efua 🙂, the first mangoes are here.")).to_be_visible()
    expect(page.get_by_text("It says '12', which is not a valid number.")).to_be_visible()
    picture(page, "campaigns-file")


def figures_in(shown: Locator) -> dict[str, str]:
    """Returns the figures of the lists of a part of a page, by their names."""
    names = shown.locator("dl > div > dt").all_inner_texts()
    return dict(zip(names, shown.locator("dl > div > dd").all_inner_texts(), strict=True))


def count_of(shown: str) -> int:
    """Returns a whole number of which a page has grouped the digits."""
    return int("".join(each for each in shown if each.isdigit()))
