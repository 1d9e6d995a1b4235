"""Runs the code blocks of a document as its reader would: in order, in one shell, beside a real
server.

A document becomes one bash script in an empty directory, so a variable that one block sets is there
for the next. `sh` and `bash` blocks are run as they are, `python` blocks by the project's Python. A
comment on the line before a block changes that:

- `<!-- not run: REASON -->`: it is left out;
- `<!-- background -->`: it goes on running (a server); the next block waits until the address of
  the server answers /readyz;
- `<!-- file: NAME -->`: it is no command, but a file that the reader saves: it is there before the
  first block is run. `js` blocks are files only.

`heliograph` runs as a fork of a process that has imported the same program (tests/support/warm).

The documents say 127.0.0.1:8080, port 2775 for SMPP, and port 3000 for a receiver of webhooks, as a
reader will see them; a run uses free ports in their place.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from tests.support import warm
from tests.support.services import free_port

RUN_WITHIN_S = 120
READY_WITHIN_S = 30
OUTPUT_TAIL_CHARACTERS = 4_000

_BLOCK = re.compile(
    r"(?:^[ \t]*<!--(?P<comment>.*?)-->[ \t]*\n\s*?)?^(?P<indent>["
    r" \t]*)```(?P<language>\w*).*\n(?P<code>(?:.*\n)*?)[ \t]*```[ \t]*$",
    re.MULTILINE,
)
_FILE = re.compile(r"file: (?P<name>[\w.-]+)")
_PRELUDE = f"""\
set -euo pipefail
wait_until_ready() {{
    for _ in $(seq {READY_WITHIN_S * 10}); do
        if curl --silent --fail --output /dev/null "http://127.0.0.1:$1/readyz"; then return; fi
        sleep 0.1
    done
    echo "http://127.0.0.1:$1/readyz did not answer 200 within {READY_WITHIN_S} s"
    return 1
}}
"""


class Block(NamedTuple):
    line: int
    language: str
    comment: str  # the one before it, without its <!-- and -->; empty if there is none
    code: str


class Ports(NamedTuple):
    """Holds free ports, for one run."""

    http: int
    smpp: int
    receiver: int


class DocumentFailed(AssertionError):
    """A block of a document did not run. The message holds its file and line, and what it
    printed.
    """


def blocks(text: str) -> Iterator[Block]:
    """Yields the blocks of a document that are to be run or saved, and those that say why they are
    not.
    """
    for found in _BLOCK.finditer(text):
        comment = (found["comment"] or "").strip()
        if found["language"] in ("sh", "bash", "python", "js") or _FILE.fullmatch(comment):
            line = text.count("\n", 0, found.start("language")) + 1
            yield Block(line, found["language"], comment, dedent(found["code"]))


def files(document: Path) -> dict[str, str]:
    """Returns what a reader is to save: the contents by name."""
    found = [
        (_FILE.fullmatch(block.comment), block.code)
        for block in blocks(document.read_text("utf-8"))
    ]
    return {match["name"]: code for match, code in found if match is not None}


def run(document: Path, directory: Path) -> None:
    """Runs a document in that directory, which is empty. Raises DocumentFailed, with the
    line of the block that failed.
    """
    ports = Ports(free_port(), free_port(), free_port())
    for name, code in files(document).items():
        (directory / name).write_text(code, "utf-8")
    script = directory / ".document.sh"
    script.write_text(_script(document, ports), "utf-8")
    output = directory / ".output"
    with output.open("wb") as log:
        process = subprocess.Popen(
            ["bash", script],
            cwd=directory,
            env=_environment(directory),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            status: object = process.wait(RUN_WITHIN_S)
        except subprocess.TimeoutExpired:
            status = f"none after {RUN_WITHIN_S} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the servers that the document left running
            process.wait()
    if status != 0:
        printed = output.read_text("utf-8", errors="replace")[-OUTPUT_TAIL_CHARACTERS:]
        raise DocumentFailed(
            f"{document.name}, exit status {status}; the last block that was begun"
            f" failed:\n{printed}"
        )


def _script(document: Path, ports: Ports) -> str:
    parts = [_PRELUDE]
    for block in blocks(document.read_text("utf-8")):
        place = f"{document.name}:{block.line}"
        if _FILE.fullmatch(block.comment):
            continue
        if block.language == "js":
            raise DocumentFailed(f"{place}: which file is it? <!-- file: NAME -->")
        if block.comment.startswith("not run"):
            if not re.fullmatch(r"not run: \S.*", block.comment):
                raise DocumentFailed(f"{place}: why is it not run? <!-- not run: REASON -->")
            continue
        code = _at_ports(block.code, ports)
        if block.language == "python":
            code = f"{sys.executable} - <<'END_OF_PYTHON'\n{code}END_OF_PYTHON\n"
        parts.append(f"echo '--- {place}'\n")
        parts.append(
            f"(\n{code}) &\nwait_until_ready {ports.http}\n"
            if block.comment == "background"
            else code
        )
    return "".join(parts)


def _at_ports(code: str, ports: Ports) -> str:
    """Returns the same code with free ports where the document says 8080 or 2775, said or
    unsaid.
    """
    code = re.sub(r"\b(127\.0\.0\.1|localhost):8080\b", rf"\1:{ports.http}", code)
    code = re.sub(r"--port[ =]8080\b", f"--port {ports.http}", code)
    code = re.sub(r"\b3000\b", str(ports.receiver), code)
    code = re.sub(r"--port[ =]2775\b", f"--port {ports.smpp}", code)
    code = re.sub(r"\bheliograph smsc\b(?!.*--port)", f"heliograph smsc --port {ports.smpp}", code)
    return re.sub(
        r"\bheliograph (serve|demo)\b(?!.*--port)", rf"heliograph \1 --port {ports.http}", code
    )


def _environment(directory: Path) -> dict[str, str]:
    """Returns a reader's environment: nothing is configured, `heliograph` runs as a fork of a
    process that has imported it, and `python` is the one that was installed.
    """
    reader = {"PATH": os.environ["PATH"], "HOME": str(directory), "LANG": "C.UTF-8"}
    return warm.on_path(reader)
