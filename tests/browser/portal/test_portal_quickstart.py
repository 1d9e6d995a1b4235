"""The programs of the quickstart are copied in a real browser, and run as a reader would
run them.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.api.server import Server
from tests.support.portal.browsing import (
    at_both_widths,
    opened,
    picture,
    reload_until,
    sign_in_owner,
)

WITHIN_S = 60
# the name under which the page says to save a program, and what runs it
RUN = {
    "curl": ("send.sh", ["bash"]),
    "Python": ("send.py", [sys.executable]),
    "Node": ("send.mjs", ["node"]),
    "PHP": ("send.php", ["php"]),
}


def run(command: list[str], typed: str = "") -> str:
    done = subprocess.run(
        command, input=typed, capture_output=True, text=True, check=False, timeout=WITHIN_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def code_in(page: Page, title: str, language: str) -> str:
    """Returns what the page shows when this language is chosen."""
    group = page.get_by_role("group", name=title)
    group.get_by_text(language, exact=True).click()
    return group.locator("figure:visible code").inner_text()


def saved(folder: Path, name: str, code: str) -> str:
    file = folder / name
    file.write_text(code)
    return str(file)


def quickstart_with_a_key(page: Page, server: Server) -> str:
    """Makes a key by keyboard, and returns it."""
    sign_in_owner(page, server)
    page.get_by_role("navigation").get_by_role("link", name="Quickstart").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Send your first text")).to_be_visible()
    page.get_by_role("button", name="Make a sandbox key").focus()
    page.keyboard.press("Enter")
    return page.locator("#secret").inner_text()


@at_both_widths
def test_the_quickstart_is_read_by_keyboard_and_looked_at(
    browser: Browser, server: Server, width: int
) -> None:
    page = opened(browser, width)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    sign_in_owner(page, server)
    page.get_by_role("navigation").get_by_role("link", name="Quickstart").click()
    picture(page, "quickstart")
    page.get_by_role("button", name="Make a sandbox key").click()
    key = page.locator("#secret").inner_text()
    assert key.startswith("sk_test_")
    send = page.get_by_role("group", name="Send a text")
    send.get_by_role("radio", name="curl").focus()
    page.keyboard.press("ArrowRight")
    expect(send.get_by_role("radio", name="Python")).to_be_checked()
    expect(page.locator("figure:visible code").first).to_contain_text("import urllib.request")
    # the language is chosen for the programs below, too
    for title in ("Read its status", "Check the signature of a webhook"):
        group = page.get_by_role("group", name=title)
        expect(group.get_by_role("radio", name="Python")).to_be_checked()
    page.get_by_text("Or send one from here").click()
    page.get_by_label("Text").last.press("End")
    page.keyboard.type(" 🙂")
    expect(page.locator("#count")).to_contain_text("UCS-2")
    picture(page, "quickstart-key")
    page.get_by_role("button", name="Send from").click()
    expect(page.get_by_role("blockquote")).to_have_text("Hello from Heliograph 🙂")
    assert wrong == []
    page.context.close()


@pytest.mark.parametrize("language", RUN)
def test_what_the_quickstart_gives_to_copy_sends_and_reads(
    browser: Browser, server: Server, tmp_path: Path, language: str
) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    key = quickstart_with_a_key(page, server)
    name, command = RUN[language]
    program = code_in(page, "Send a text", language)
    assert key in program
    text = f"Hello by {language}"
    program = program.replace("Hello from Heliograph", text)
    answer = run([*command, saved(tmp_path, name, program)])
    assert re.search(r"""success['"]?: ?true""", answer, re.IGNORECASE), answer
    page.get_by_role("link", name="The handset").click()
    reload_until(page, page.get_by_text(text, exact=True))
    page.get_by_role("link", name="Quickstart").click()
    program = code_in(page, "Read its status", language).replace("sk_test_YOUR_KEY", key)
    assert text in run([*command, saved(tmp_path, name, program)])
    page.context.close()


def test_a_program_can_be_pasted_into_pythons_prompt(browser: Browser, server: Server) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    quickstart_with_a_key(page, server)
    program = code_in(page, "Send a text", "Python")
    assert "200 {'success': True" in run([sys.executable, "-i", "-q"], f"{program}\n")
    page.context.close()
