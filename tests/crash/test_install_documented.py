"""docs/install.md is followed word by word on a copy of this machine: every block that names this
test is run, and prints what the page says.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.crash import copied_machine
from tests.support.sources import ROOT

PAGE = ROOT / "docs" / "install.md"
STEP = re.compile(
    r"^<!-- not run: [^\n]*test_install_documented\.py[^\n]* -->\n```sh\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<printed>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
CHANGING = re.compile(r"\S*\d\S*")  # times, ids, sizes
# what depends on the machine or on where the page has the reader stand
ELSEWHERE = ("total", "/usr/local/src/")
ALL = 17


class Step(NamedTuple):
    code: str
    printed: str


def _steps() -> list[Step]:
    return [
        Step(found["code"], found["printed"] or "")
        for found in STEP.finditer(PAGE.read_text("utf-8"))
    ]


def _script(steps: list[Step]) -> str:
    """Returns one shell for all steps. It waits twice as long as the page does, because this
    machine has other things to do; but between restarts one after the other it waits half as long,
    because there are many of them.
    """
    return "".join(
        f"echo '--- step {number}'\n{_patient(step.code, 0.5 if 'for unit in' in step.code else 2)}"
        for number, step in enumerate(steps)
    )


def _patient(code: str, factor: float) -> str:
    return re.sub(r"\bsleep (\d+)", lambda found: f"sleep {int(found[1]) * factor:.0f}", code)


def _settled(text: str) -> list[str]:
    """Returns the lines of the text, without what is different each time, and as if no column had a
    width.
    """
    return [" ".join(CHANGING.sub("#", line).split()) for line in text.splitlines()]


def _unprinted(step: Step, printed: str) -> Iterator[str]:
    there = _settled(printed)
    for line, settled in zip(step.printed.splitlines(), _settled(step.printed), strict=True):
        if "…" not in line and not line.startswith(ELSEWHERE) and settled not in there:
            yield line


def test_a_machine_is_installed_and_looked_after_as_the_page_says(tmp_path: Path) -> None:
    steps = _steps()
    assert len(steps) == ALL, "a step of the page is not run, or a new one is not counted"
    printed = copied_machine.run(_script(steps), tmp_path)
    parts = re.split(r"^--- step \d+\n", printed, flags=re.MULTILINE)[1:]
    missing = {
        number: lines
        for number, (step, part) in enumerate(zip(steps, parts, strict=True))
        if (lines := list(_unprinted(step, part)))
    }
    assert not missing, f"{missing}\n{printed[-6_000:]}"
