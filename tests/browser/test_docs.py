"""/docs can be searched in a browser, copied from, used by the keyboard alone, and read on a phone,
in the dark and without a script.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.support.api.server import Server

WIDE: Final = ViewportSize(width=1280, height=900)
TAB_STOPS_MAX: Final = 400


@contextmanager
def opened(
    browser: Browser,
    server: Server,
    width: int = WIDE["width"],
    scheme: str = "light",
    *,
    script: bool = True,
    but: str = "nothing",
) -> Iterator[Page]:
    """Yields the page. Nothing may be wrong with it `but` what its browser says with these words:
    it logs no error, every file is there, and nothing is forbidden by its policy.
    """
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        java_script_enabled=script,
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    page = context.new_page()
    wrong: list[str] = []
    page.on(
        "console",
        lambda message: (
            wrong.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "response",
        lambda response: (
            wrong.append(f"{response.status} {response.url}") if response.status >= 400 else None
        ),
    )
    page.goto(f"{server.url}/docs")
    yield page
    context.close()
    assert [each for each in wrong if but not in each] == []


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    with opened(browser, server) as page:
        yield page


@pytest.fixture(scope="module")
def searched(browser: Browser, server: Server) -> Iterator[Page]:
    """Yields a page that is searched again and again: a search leaves nothing behind but the next
    one.
    """
    with opened(browser, server) as page:
        yield page


def hits(page: Page) -> list[str]:
    return [title.split("\n")[0] for title in page.locator(".search li a").all_inner_texts()]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("cors", "Calls from a web page"),
        ("idempotency", "Safe retries"),
        ("retry", "Safe retries"),
        ("rate limit", "Rate limits"),
        ("webhook signature", "Receive a webhook"),
        ("sandbox key", "Quickstart"),
        ("otp_incorrect", "Verify a one-time password"),
        ("/sms/send", "Send an SMS"),
        ("SEND sms", "Send an SMS"),
        ("credits customer", "Move credits"),
        ("country", "Send an SMS"),
    ],
)
def test_what_people_look_for_is_found(searched: Page, words: str, title: str) -> None:
    searched.get_by_role("searchbox").fill(words)
    assert title in hits(searched)


def test_what_is_not_there_is_said(page: Page) -> None:
    page.get_by_role("searchbox").fill("xylophone")
    expect(page.locator(".search .none")).to_have_text("Nothing found")


def test_the_search_needs_no_mouse(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("webhook")
    first, second = hits(page)[:2]
    page.keyboard.press("ArrowDown")
    assert page.locator(":focus").inner_text().startswith(first)
    page.keyboard.press("ArrowDown")
    assert page.locator(":focus").inner_text().startswith(second)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".search ul")).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("webhook")
    page.keyboard.press("Enter")
    expect(page.locator(":target")).to_be_in_viewport()
    assert first in page.locator(":target").inner_text()


def test_every_sample_is_copied_as_it_stands(page: Page) -> None:
    figures = page.locator("figure:has(.copy):visible")
    assert figures.count() > 40
    for figure in [figures.nth(place) for place in range(0, figures.count(), 9)]:
        figure.get_by_role("button", name="Copy").click()
        expect(figure.get_by_role("button")).to_have_text("Copied")
        assert (
            page.evaluate("navigator.clipboard.readText()") == figure.locator("pre").text_content()
        )


def test_a_sample_is_copied_where_the_browser_forbids_the_clipboard(page: Page) -> None:
    page.evaluate(
        "void (navigator.clipboard.writeText = () => Promise.reject(new Error('forbidden')))"
    )
    figure = page.locator("figure:has(.copy):visible").nth(1)
    figure.get_by_role("button", name="Copy").click()
    expect(figure.get_by_role("button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == figure.locator("pre").text_content()


def test_a_copied_sample_sends(page: Page, server: Server) -> None:
    sample = page.locator("#post_sms_send figure[data-language=curl]")
    sample.get_by_role("button", name="Copy").click()
    expect(sample.get_by_role("button")).to_have_text("Copied")
    command = page.evaluate("navigator.clipboard.readText()").replace(
        "http://127.0.0.1:8080", server.url
    )
    key = server.cast.chidi.key(sandbox=True)  # nobody has approved a sender of his
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, "API_KEY": key},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert '"success":true' in done.stdout


def test_the_language_that_is_chosen_stays_chosen_everywhere(page: Page) -> None:
    tabs = page.locator("#post_contacts")
    tabs.get_by_role("button", name="PHP").click()
    for place in ("#post_contacts", "#post_otp_verify"):
        expect(page.locator(f"{place} figure[data-language=php]")).to_be_visible()
        expect(page.locator(f"{place} figure[data-language=curl]")).to_be_hidden()
        expect(page.locator(place).get_by_role("button", name="PHP")).to_have_attribute(
            "aria-pressed", "true"
        )
    page.reload()
    expect(page.locator("#post_otp_verify figure[data-language=php]")).to_be_visible()


def test_the_keyboard_reaches_all_and_shows_where_it_is(page: Page) -> None:
    reached = set()
    for _ in range(TAB_STOPS_MAX):
        page.keyboard.press("Tab")
        at = page.evaluate("""() => {
            const at = document.activeElement, style = getComputedStyle(at);
            const text = at.textContent.trim().slice(0, 20);
            return {tag: at.tagName, outline: style.outlineStyle, text, label: at.ariaLabel};
        }""")
        if at["tag"] == "BODY":
            break
        assert at["outline"] != "none", at
        reached.add((at["tag"], at["label"] or at["text"]))
    assert {
        ("A", "Skip to the content"),
        ("INPUT", "Search this page"),
        ("BUTTON", "Node"),
        ("BUTTON", "Copy"),
        ("SUMMARY", "Errors"),
    } <= reached


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(375, "light"), (390, "dark"), (768, "light"), (1440, "dark"), (1440, "light")],
)
def test_nothing_is_wider_than_the_window(
    browser: Browser, server: Server, width: int, scheme: str
) -> None:
    with opened(browser, server, width, scheme) as page:
        page.evaluate(
            "for (const details of document.querySelectorAll('main details')) details.open = true"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        light = page.evaluate(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] > 127"
        )
        assert light == (scheme == "light")


def test_without_a_script_everything_can_be_read(browser: Browser, server: Server) -> None:
    with opened(browser, server, script=False) as page:
        expect(page.locator("#post_sms_send figure[data-language=php]")).to_be_visible()
        expect(page.get_by_role("searchbox")).to_be_hidden()
        page.locator(".side a", has_text="/otp/verify").click()
        expect(page.locator("#post_otp_verify")).to_be_in_viewport()


def test_its_policy_runs_no_script_but_its_own(browser: Browser, server: Server) -> None:
    with opened(browser, server, but="Content Security Policy") as page:
        ran = page.evaluate("""async () => {
            window.evil = false;
            const script = document.createElement('script');
            script.textContent = 'window.evil = true';
            const forbidden = new Promise((told) => {
                document.addEventListener(
                    'securitypolicyviolation', (event) => told(event.effectiveDirective));
                setTimeout(told, 3000, 'nothing');
            });
            document.body.append(script);
            return [await forbidden, window.evil];
        }""")
        assert ran == ["script-src-elem", False]
