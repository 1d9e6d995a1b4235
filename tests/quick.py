"""`python -m tests.quick` runs the tests that the working tree's changes can break, on SQLite,
within a minute. It prints what it chose and why; `make test` remains what counts.

A changed module is tested by the unit tests that import it or its room, by its room's folder in
tests/capability, and by whatever test file imports it by name. If that folder has folders, as that
of messages, only the one of the changed file is chosen, and what stands beside them.

If a module defines endpoints, the tests that send requests to them are chosen, too. A property is
chosen if its test imports the module by name.

Another file of a room, such as a template, is tested like a module that nobody imports. A changed
helper is tested by the test files that import it, a conftest.py by those of its folder, and a
changed test file by itself. tests/architecture is always chosen.

Left out is what takes long: what starts processes, opens every page, runs documents, installs
machines, builds the wheel or starts pytest anew.
"""

import ast
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.support import collected, dealing
from tests.support.sources import ROOT, TESTS, Source, nodes_of, sources

BEGAN_S: Final = time.monotonic()
WITHIN_S: Final = 57.0  # since then; what is left of the minute is for make
PROCESSES: Final = 3
ON_SQLITE: Final = ("-k", "not postgresql")
MAIN: Final = ("origin/main", "main")
# they start processes, and take minutes
LONG: Final = ("crash/", "faults/", "browser/", "wire/", "property/machines/")
ONLY_BY_NAME: Final = "property/"
# where a room's endpoints are asked, as they are from outside; below tests/api
ENDPOINT_TESTS: Final = {
    "api": ("http/test_pages.py", "http/test_ready.py", "every_endpoint/test_guards.py"),
    "campaigns": ("sending/test_campaigns.py",),
    "connect": ("connect/",),
    "contacts": ("contacts/",),
    "inbound": ("inbound/",),
    "messages": (
        "sending/test_messages.py",
        "sending/test_refusals.py",
        "sending/test_sms_send.py",
    ),
    "opt_outs": ("inbound/test_opt_outs.py",),
    "otp": ("sending/test_otp.py",),
    "plugin": ("plugin/test_plugin.py",),
    "senders": ("sending/test_sender_ids.py",),
    "wallet": ("wallet/",),
}
DEFINES_ENDPOINTS: Final = ("api.py", "request.py", "requests.py")
EVERY_PAGE: Final = ("test_every_", "test_hostile_")
SLOW_ARCHITECTURE: Final = (
    "test_documents.py",
    "test_deploy_",
    "test_package.py",
    "test_skips.py",
)
ENDED_BY_PYTEST: Final = (0, 1, 5)  # 5: nothing is left to run without PostgreSQL


def main() -> int:
    changed = changed_files()
    chosen = choose(changed)
    print(f"{len(changed)} changed files:", *(f"  {name}" for name in changed), sep="\n")
    print("chosen, on SQLite:", *(f"  {path}: {why}" for path, why in chosen.items()), sep="\n")
    return run(list(chosen))


def changed_files() -> list[str]:
    """Returns every file that differs from main, or is new, as a path from the project's root."""
    base = next((_git("merge-base", "HEAD", name) for name in MAIN if _git("rev-parse", name)), [])
    differ = _git("diff", "--name-only", *(base or ["HEAD"]))
    return sorted({*differ, *_git("ls-files", "--others", "--exclude-standard")})


def choose(changed: list[str]) -> dict[str, str]:
    """Returns the test files to run, those nearest to the changes first, and why each was
    chosen.
    """
    modules = {module for name in changed if (module := _module_of(name))}
    places = {place for name in changed if (place := _place_of(name))}
    below = {str(Path(name).parent) for name in changed if Path(name).name == "conftest.py"}
    asking = tuple(sorted(f"api/{test}" for name in changed for test in _endpoint_tests(name)))
    chosen = {name: "it has changed" for name in changed if _is_test(name)}
    near, of_room = {}, {}
    for source in sources(TESTS):
        path = f"tests/{source.path}"
        if not _is_test(path) or source.path.startswith(LONG):
            continue
        if Path(path).name.startswith(EVERY_PAGE):
            continue
        imported = set(_imported(source))
        place = next((each for each in sorted(places) if _is_of(source.path, each, imported)), None)
        if direct := sorted(modules & imported):
            near[path] = f"it imports {direct[0]}"
        elif asking and source.path.startswith(asking):
            near[path] = "it sends requests to the endpoints"
        elif above := [folder for folder in sorted(below) if path.startswith(f"{folder}/")]:
            near[path] = f"it takes fixtures of {above[0]}/conftest.py"
        elif place and not source.path.startswith(ONLY_BY_NAME):
            of_room[path] = f"it is about the room {place}"
    architecture = {
        path.relative_to(ROOT).as_posix(): "always"
        for path in sorted((TESTS / "architecture").rglob("test_*.py"))
        if not path.name.startswith(SLOW_ARCHITECTURE)
    }
    found = chosen | near | of_room | architecture
    return {path: why for path, why in found.items() if (ROOT / path).exists()}


def run(paths: list[str]) -> int:
    """Runs the test files. Returns pytest's exit status; after a minute it stops pytest, and says
    so.
    """
    with collected.python(*paths) as python:
        processes = ("--tx", f"{PROCESSES}*popen//python={python}", *dealing.ARGUMENTS)
        command = [sys.executable, "-m", "pytest", *processes, *ON_SQLITE, *paths]
        process = subprocess.Popen(command, cwd=ROOT)
        try:
            status = process.wait(WITHIN_S - (time.monotonic() - BEGAN_S))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()
            print(f"\nStopped after {WITHIN_S:.0f} s, before all of them had run.")
            return 2
    print(f"{time.monotonic() - BEGAN_S:.0f} s")
    return status if status not in ENDED_BY_PYTEST else int(status == 1)


def _is_of(path: str, place: str, imported: set[str]) -> bool:
    """Says whether a test is about a place of the code: in its folder of tests/capability, beside
    the folders of its room, or a unit test that imports its room.
    """
    room = place.partition("/")[0]
    if Path(path).parent in (Path("capability", place), Path("capability", room)):
        return True
    return path.startswith("unit/") and any(
        f"{module}.".startswith(f"heliograph.{room}.") for module in imported
    )


def _endpoint_tests(name: str) -> Sequence[str]:
    """Returns the tests of the endpoints that a file defines, as paths below tests/api."""
    match Path(name).parts:
        case ("src", "heliograph", room, *_, file) if file in DEFINES_ENDPOINTS:
            return ENDPOINT_TESTS.get(room, ())
    return ()


def _is_test(name: str) -> bool:
    return name.startswith("tests/") and Path(name).match("test_*.py")


def _place_of(name: str) -> str | None:
    """Returns the room whose file it is, whatever its kind: code, a template, a catalog; None of
    others. It is a folder of the room, such as messages/accept, if that one has tests of its own.
    """
    match Path(name).parts:
        case ("src", "heliograph", room, folder, *_) if (
            TESTS / "capability" / room / folder
        ).is_dir():
            return f"{room}/{folder}"
        case ("src", "heliograph", room, _, *_):
            return room
    return None


def _module_of(name: str) -> str | None:
    """Returns the module that a file is, as others import it, or None if it is not a module."""
    path = Path(name.removeprefix("src/"))
    if path.suffix != ".py":
        return None
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(source: Source) -> Iterator[str]:
    for node in nodes_of(source.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _git(*words: str) -> list[str]:
    done = subprocess.run(
        ["git", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


if __name__ == "__main__":
    sys.exit(main())
