"""Every page of the portal is found by its links from the overview, and can be used by everybody,
at both widths and in both themes. What only a form leads to is judged by the journeys, picture by
picture.
"""

from urllib.parse import urljoin, urlsplit

from playwright.sync_api import Browser, Page
from starlette.routing import compile_path

from heliograph.base import clock
from heliograph.contacts import ContactOwner, stored_import
from heliograph.contacts.stored_import import FileToImport
from heliograph.portal.pages import PAGES
from tests.support.api.inbound_texts import store_inbound
from tests.support.api.server import Server
from tests.support.capability.campaigns import write_down
from tests.support.capability.webhooks import endpoint, waiting
from tests.support.console.operators import waiting_sender
from tests.support.polling import wait_until
from tests.support.portal.browsing import at_both_widths, link, opened, send, sign_in_owner
from tests.support.portal.hostile import links_of
from tests.support.portal.judged import OF_ALL, OF_COLORS, violations
from tests.support.portal.stored_contacts import stored
from tests.support.portal.visitor import EMAIL

# no link of a page leads to these, and why
LINKED_BY_NO_PAGE = {
    **{
        page.path: "is a file"
        for page in PAGES
        if page.path.endswith(("/export", "/file")) and not page.is_form
    },
    "/portal/accounts/{account}/contacts/tags": "a form leads to it; test_portal_contacts.py",
    "/portal/accounts/{account}/sites/{site}": "no site is linked; test_portal_sites.py",
    "/portal/language/{language}": "leads back to the page, which is then in that language",
    "/portal/sign-in/code": "a sign-in waits there for a code; test_portal_sign_in.py",
    "/portal/sign-in/passkey": "is for scripts",
    "/portal/sign-up": "is there where strangers may sign up; test_portal_sign_in.py",
    "/portal/sign-up/{link}": "is in a mail; test_portal_sign_in.py",
    "/portal/you/authenticator": "a button leads to it; test_portal_sign_in.py",
    "/portal/you/passkeys": "is for scripts",
    "/portal/invitation/{link}": "is in a mail; test_portal_members.py judges it",
    "/portal/sign-in/{link}": "is in a mail, and judged here before the others",
    "/portal/sign-in": "is for those who are not signed in, and judged here before the others",
}
SHOWN = {page.path for page in PAGES if not page.is_form}
PAGES_MAX = 200
UNDERSTOOD: dict[str, list[str]] = {"fields": ["phone"], "custom": [], "not_read": []}
LINK = "a[href], button[formaction]"  # such a button shows what was typed on another page
# of all in one question
LINKS = """links => links.map(each => each.getAttribute('href')
    ?? each.getAttribute('formaction'))"""
FIRST_LOAD_OCTETS_MAX = 200_000  # some seconds of a slow phone's network
# of the page and all that it loads, as they go over the wire, from a cache or not
LOADED = """[
    ...performance.getEntriesByType("navigation"),
    ...performance.getEntriesByType("resource")]
  .reduce((octets, each) => octets + each.encodedBodySize, 0)"""


def route_of(path: str) -> str | None:
    """Returns the first route that answers a path."""
    for page in PAGES:
        if not page.is_form and compile_path(page.path)[0].match(path):
            return page.path
    return None


def judge(page: Page, told: list[str]) -> None:
    octets = page.evaluate(LOADED)
    assert octets > 0
    if octets > FIRST_LOAD_OCTETS_MAX:
        told.append(f"{urlsplit(page.url).path} loads {octets:,} octets")
    for is_light in (True, False):
        page.emulate_media(color_scheme="light" if is_light else "dark")
        told += [
            f"{urlsplit(page.url).path} {'light' if is_light else 'dark'}: {each}"
            for each in violations(page, of=OF_ALL if is_light else OF_COLORS)
        ]


def judge_all(page: Page, told: list[str]) -> set[str]:
    """Follows the links of each page, and judges one page of each route. Returns the routes."""
    judged: set[str] = set()
    seen = {page.url}
    waiting = [page.url]
    while waiting:
        assert len(seen) < PAGES_MAX, "the links of the portal have no end"
        address = waiting.pop(0)
        route = route_of(urlsplit(address).path)
        if route is None or route in LINKED_BY_NO_PAGE:
            continue
        # one row of a list is enough, but each query is another list
        if route in judged and not urlsplit(address).query:
            continue
        if route in judged:
            address, links = links_over_http(page, address)
        else:
            page.goto(address)
            judge(page, told)
            judged.add(route)
            address, links = page.url, page.locator(LINK).evaluate_all(LINKS)
        for each in links:
            found = urljoin(address, each).partition("#")[0]
            if found.startswith(address[: address.index("/portal")]) and found not in seen:
                seen.add(found)
                waiting.append(found)
    return judged


def links_over_http(page: Page, address: str) -> tuple[str, list[str]]:
    """Asks for a page as its browser would, and shows it nowhere, for one of its route was judged.
    Returns where it is, and what it links.
    """
    answer = page.request.get(address)
    assert answer.status == 200, address
    return answer.url, links_of(answer.text())


@at_both_widths
def test_every_page_can_be_found_and_used_by_everybody(
    browser: Browser, server: Server, width: int
) -> None:
    amina = server.cast.amina
    stored(amina.db, amina.account_id, name="Ama Mensah", tags=["vip"])
    write_down(amina.db, amina.account_id, message="Hi {name|friend}")
    endpoint(amina.db, amina.account_id, sandbox=True)
    sheet = FileToImport(b"phone\n0201234569\n12\n", None, {}, 2, UNDERSTOOD)
    with amina.db.write() as tx:
        owner = ContactOwner(amina.account_id, False)
        stored_import.begin(tx, owner, sheet, EMAIL, now_ms=clock.now_ms())
    with amina.db.write() as tx:
        store_inbound(tx, amina.account_id)
    amina.key("sms.send")
    waiting_sender(amina.db, amina.account_id)
    send(server, "233201234567", "Your parcel is at the gate.")
    wait_until(lambda: bool(waiting(amina.db)), "the endpoint is told of no event")
    page = opened(browser, width)
    told: list[str] = []
    page.goto(f"{server.url}/portal/sign-in")
    judge(page, told)
    page.goto(link(server))
    judge(page, told)
    sign_in_owner(page, server)
    judged = judge_all(page, told)
    page.context.close()
    assert told == [], "\n\n".join(told)
    assert sorted(SHOWN - judged - set(LINKED_BY_NO_PAGE)) == []
    assert sorted(judged & set(LINKED_BY_NO_PAGE)) == []
