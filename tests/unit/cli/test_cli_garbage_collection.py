"""A command that ends soon leaves its garbage; a process collects it as Python does."""

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.cli import garbage_collection, main
from heliograph.cli.command import Command

USUAL = gc.get_threshold()


@pytest.fixture(autouse=True)
def collected_as_before() -> Iterator[None]:
    yield
    gc.set_threshold(*USUAL)
    gc.unfreeze()


@pytest.mark.parametrize(
    ("words", "status"), [("--version", 0), ("account list", 1), ("account fly", 2)]
)
def test_what_lives_when_a_program_ends_is_not_looked_through_again(
    words: str, status: int, tmp_path: Path
) -> None:
    code = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 1_000))
from heliograph.cli import main
main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, *words.split()],
        check=False,
        timeout=60,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={},
    )
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (status, "True"), ended.stderr


def test_a_command_that_is_called_inside_of_a_program_freezes_nothing() -> None:
    frozen = gc.get_freeze_count()
    with pytest.raises(SystemExit):
        main(["--version"])
    assert (gc.get_freeze_count(), gc.get_threshold()) == (frozen, USUAL)


@pytest.mark.parametrize(
    ("prints_record", "collects_later", "after"),
    [
        (True, False, garbage_collection.COLLECT_AFTER),
        (False, False, USUAL[0]),
        (False, True, garbage_collection.COLLECT_AFTER),
    ],
)
def test_a_process_that_goes_on_collects_garbage_as_usual_unless_it_tunes_that_itself(
    prints_record: bool, collects_later: bool, after: int
) -> None:
    found = []
    command = Command(
        "work",
        prints_record=prints_record,
        collects_later=collects_later,
        callback=lambda run: found.append(gc.get_threshold()[0]),
    )
    frozen = gc.get_freeze_count()
    with garbage_collection.rare_collection():
        command.main([], standalone_mode=False)
    assert found == [after]
    assert (gc.get_freeze_count() > frozen) == (after != USUAL[0])
