"""What code cites is there: each page, each heading and row of it, and each decision.

Code cites such as `docs/api.md, "Sandbox"`, `docs/reliability.md, row 12` or
`docs/decisions/messages.md, M3`.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from tests.support.sources import ROOT

CITING = [
    *(ROOT / name for name in ("Makefile", "pyproject.toml")),
    *(
        path
        for path in chain.from_iterable(
            sorted((ROOT / folder).rglob("*"))
            for folder in ("src", "tests", "bench", "tools", "examples", "deploy")
        )
        if path.suffix in {".py", ".sh", ".cfg", ".yml", ".yaml", ".json", ".php", ".js", ".j2"}
        and path != Path(__file__)
        and "node_modules" not in path.parts
    ),
]
# a line's end inside a comment or a docstring, with the next one's indentation
BREAK = re.compile(r"\s*\n\s*(?:#\s*)?")
PAGE = re.compile(r"(?<![\w/])(docs/(?:[\w-]+/)*[\w-]+\.md)")
HEADINGS = re.compile(r'((?:(?:, |; | and )"[^"]+")+)')
ROWS = re.compile(r'(?:, "[^"]+")?, rows? ((?:\d+(?:, | to | and )?)+)')
DECISIONS = re.compile(r", ((?:[A-Z]\d+(?:, | and )?)+)")
DECISION_ALONE = re.compile(r"\bdecisions? [A-Z]\d+\b")
NOWHERE = re.compile(
    r"\b(?:contract|specification|architecture),? section \d|\bpromises(?:\.md|, fault)", re.I
)


def _cited(text: str) -> Iterator[str]:
    """Yields what the text cites: `docs/api.md`, `docs/api.md, "Sandbox"`, `docs/reliability.md,
    row 12`, `docs/decisions/messages.md, M3`.
    """
    text = BREAK.sub(" ", text)
    for page in PAGE.finditer(text):
        yield page[1]
        if headings := HEADINGS.match(text, page.end()):
            yield from (f'{page[1]}, "{name}"' for name in re.findall(r'"([^"]+)"', headings[1]))
        if rows := ROWS.match(text, page.end()):
            for first, last in re.findall(r"(\d+)(?: to (\d+))?", rows[1]):
                span = range(int(first), int(last or first) + 1)
                yield from (f"{page[1]}, row {number}" for number in span)
        if decisions := DECISIONS.match(text, page.end()):
            yield from (f"{page[1]}, {name}" for name in re.findall(r"[A-Z]\d+", decisions[1]))


@cache
def _there(page: str) -> frozenset[str]:
    """Returns all that can be cited of a page; nothing where the page does not exist."""
    if not (ROOT / page).is_file():
        return frozenset()
    text = (ROOT / page).read_text("utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return frozenset(
        [
            page,
            *(f'{page}, "{heading}"' for heading in headings),
            *(f"{page}, row {row}" for row in re.findall(r"^\| (\d+)[a-z]? \|", text, re.M)),
            *(f"{page}, {heading.split()[0]}" for heading in headings),
        ]
    )


def _missing(text: str) -> list[str]:
    cited = list(_cited(text))
    return [
        *(what for what in cited if what not in _there(what.partition(",")[0])),
        *(f"{found}, without its file" for found in DECISION_ALONE.findall(text)),
        *(f"{found}, which is not in the repository" for found in NOWHERE.findall(text)),
    ]


def test_what_code_cites_is_there() -> None:
    missing = {
        path.relative_to(ROOT).as_posix(): found
        for path in CITING
        if (found := _missing(path.read_text("utf-8")))
    }
    assert not missing


def test_citations_are_found_in_all_their_forms() -> None:
    """Otherwise the test above would be green because it finds none."""
    cited = {what for path in CITING for what in _cited(path.read_text("utf-8"))}
    assert {
        'docs/api.md, "Messages"',
        'docs/api.md, "Reports"',
        "docs/reliability.md, row 20",
        "docs/decisions/otp.md, P5",
    } <= cited


@pytest.mark.parametrize(
    "text",
    [
        "docs/no-such-page.md",
        'docs/api.md, "No such heading"',
        '(docs/api.md, "Sandbox" and "No such heading")',
        '# docs/api.md, "No\n    # such heading"',
        "docs/reliability.md, rows 8, 9 and 999",
        "docs/decisions/messages.md, M999",
        "docs/decisions/messages.md, O1",
        "decision M3",
        "contract section 2",
        "(promises, fault 3)",
    ],
)
def test_a_citation_of_what_is_not_there_is_found(text: str) -> None:
    assert _missing(text)
