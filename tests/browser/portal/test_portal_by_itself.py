"""Pages of the portal renew some things by themselves while somebody types or looks. They may not
overwrite what is newer, take the focus away, or ask for anything that the policy forbids.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, Route, expect

from heliograph import opt_outs
from heliograph.base import clock
from heliograph.opt_outs import OptOutOwner, OptOutSource
from tests.support.api.server import Server
from tests.support.portal.browsing import opened, send, sign_in_owner
from tests.support.portal.stored_contacts import stored

WIDTH = 1440
# a little less than a quarter of an hour
SOON_OVER_S = 14 * 60 + 30
STEP_S = 3
# notes from now on whether an element is on the page, be it for a moment
NOTE_WHEN_THERE = """(id) => new MutationObserver(() => {
    if (document.getElementById(id) !== null) window.wasThere = true;
}).observe(document.body, { childList: true, subtree: true, attributes: true })"""


@contextmanager
def visiting(browser: Browser, server: Server) -> Iterator[Page]:
    """Yields a page of somebody who is signed in. When it is left, nothing may be wrong but what is
    refused.
    """
    page = opened(browser, WIDTH)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    sign_in_owner(page, server)
    yield page
    page.context.close()
    assert [each for each in wrong if "Failed to load resource" not in each] == []


def home(server: Server) -> str:
    return f"{server.url}/portal/accounts/{server.cast.amina.text_id}"


def test_an_answer_that_comes_late_does_not_overwrite_a_newer_one(
    browser: Browser, server: Server
) -> None:
    amina = server.cast.amina
    stored(amina.db, amina.account_id, name="Kofi Mensah", phone="233201234567")
    stored(amina.db, amina.account_id, name="Esi Owusu", phone="233201234568")
    held: list[Route] = []
    with visiting(browser, server) as page:
        page.goto(f"{home(server)}/contacts")
        page.route("**/contacts?q=kofi*", lambda route: held.append(route))
        search = page.get_by_label("Search")
        search.focus()
        page.keyboard.type("kofi")
        with page.expect_request("**/contacts?q=kofi*"):
            pass
        search.fill("esi")
        expect(page.get_by_role("cell", name="Kofi Mensah")).to_have_count(0)
        held.pop().continue_()
        page.wait_for_load_state("networkidle")
        expect(page.get_by_role("cell", name="Esi Owusu")).to_be_visible()
        expect(page.get_by_role("cell", name="Kofi Mensah")).to_have_count(0)
        expect(page).to_have_url(re.compile("q=esi"))
        expect(search).to_be_focused()


def test_what_is_wrong_with_a_filter_is_told_at_its_field_and_gone_when_it_is_right(
    browser: Browser, server: Server
) -> None:
    with visiting(browser, server) as page:
        page.goto(f"{home(server)}/messages")
        page.get_by_label("Recipient").fill("nobody")
        page.get_by_label("Recipient").blur()
        told = page.get_by_text("must be a phone number in international digits")
        expect(told).to_be_visible()
        expect(page.get_by_label("Recipient")).to_have_value("nobody")
        page.get_by_label("Recipient").fill("233201234567")
        page.get_by_label("Recipient").blur()
        expect(told).to_have_count(0)


def test_a_text_arrives_at_a_handset_and_leaves_the_focus_where_it_is(
    browser: Browser, server: Server
) -> None:
    send(server, "233201230001", "The first one.")
    with visiting(browser, server) as page:
        page.goto(f"{home(server)}/handsets/233201230001")
        link = page.get_by_role("link", name="What became of it").first
        link.focus()
        with page.expect_response(lambda answer: answer.status == 204):
            pass  # nothing is new
        send(server, "233201230001", "The second one.")
        expect(page.get_by_text("The second one.")).to_be_visible(timeout=5_000)
        expect(link).to_be_focused()
        with page.expect_response(lambda answer: answer.status == 204):
            pass  # nor is it now


def test_a_conversation_says_that_its_phone_opts_out_and_keeps_what_is_written(
    browser: Browser, server: Server
) -> None:
    phone, amina = "233201230002", server.cast.amina
    owner = OptOutOwner(amina.account_id, True)
    with visiting(browser, server) as page:
        page.goto(f"{home(server)}/conversations/{phone}?mode=sandbox")
        page.get_by_label("Text", exact=True).fill("Half an answer")
        with amina.db.write() as tx:
            now_ms = clock.now_ms()
            opt_outs.suppress(tx, owner, [phone], source=OptOutSource.API, now_ms=now_ms)
        expect(page.locator("h1 .badge")).to_have_text("opted out", timeout=5_000)
        expect(page.get_by_text("no text can be sent to it")).to_be_visible(timeout=5_000)
        expect(page.get_by_label("Text", exact=True)).to_have_value("Half an answer")


def test_a_session_that_has_ended_leads_to_the_page_that_signs_in(
    browser: Browser, server: Server
) -> None:
    with visiting(browser, server) as page:
        page.goto(f"{home(server)}/contacts")
        page.context.clear_cookies()
        page.get_by_label("Search").focus()
        page.keyboard.type("a")
        expect(page.get_by_label("Password")).to_be_visible()
        expect(page.get_by_label("Search")).to_have_count(0)


def test_a_text_appears_among_the_messages_and_leaves_the_focus_on_its_line(
    browser: Browser, server: Server
) -> None:
    first = send(server, "233201230013", "The first one.")
    with visiting(browser, server) as page:
        page.goto(f"{home(server)}/messages?mode=sandbox")
        line = page.locator(f"#{first}")
        expect(line).to_contain_text("delivered", timeout=10_000)
        line.get_by_role("link").focus()
        with page.expect_response(lambda answer: answer.status == 204):
            pass  # nothing is new
        second = send(server, "233201230014", "The second one.")
        expect(page.locator(f"#{second}")).to_contain_text("delivered", timeout=10_000)
        expect(line.get_by_role("link")).to_be_focused()


def test_a_filtered_list_asks_for_what_it_shows_and_for_nothing_that_it_showed(
    browser: Browser, server: Server
) -> None:
    sent = send(server, "233201230015", "To one phone.")
    other = send(server, "233201230016", "To another one.")
    held: list[Route] = []
    with visiting(browser, server) as page:
        page.goto(f"{home(server)}/messages?mode=sandbox")
        expect(page.locator(f"#{other}")).to_be_visible()
        page.route("**/messages?mode=sandbox", lambda route: held.append(route))
        with page.expect_request("**/messages?mode=sandbox"):
            pass  # the whole list is asked for again, and not answered yet
        page.get_by_label("Recipient").fill("233201230015")
        page.get_by_label("Recipient").blur()
        expect(page.locator(f"#{other}")).to_have_count(0)
        send(server, "233201230017", "Which the whole list does not show yet.")
        page.evaluate(NOTE_WHEN_THERE, other)
        with page.expect_response(lambda answer: answer.url.endswith("/messages?mode=sandbox")):
            held.pop().continue_()
        with page.expect_response(re.compile("/messages.*recipient=233201230015")):
            pass  # the part asks for what is shown now
        expect(page.locator(f"#{sent}")).to_be_visible()
        assert not page.evaluate("window.wasThere"), "the whole list was shown again"


def test_a_page_with_several_parts_says_after_a_quarter_of_an_hour_that_it_asks_no_more(
    browser: Browser, server: Server
) -> None:
    with visiting(browser, server) as page:
        asked: list[str] = []
        page.clock.install()
        page.goto(f"{home(server)}/conversations/233201230018?mode=sandbox")
        over = page.get_by_text("no longer updates itself")
        page.route("**/conversations/*", lambda route: _nothing_new(route, asked))
        _pass(page, SOON_OVER_S)
        expect(over).to_be_hidden()
        _pass(page, 60)
        expect(over).to_be_visible()
        so_far = len(asked)
        _pass(page, 60)
        assert len(asked) == so_far


def _pass(page: Page, seconds: int) -> None:
    """Lets time pass, in steps in which what a page asks for can be answered."""
    for _ in range(0, seconds, STEP_S):
        page.clock.run_for(STEP_S * 1_000)


def _nothing_new(route: Route, asked: list[str]) -> None:
    asked.append(route.request.url)
    route.fulfill(status=204)
