"""`heliograph ledger verify` proves messages, and tells what it finds."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from heliograph.audit.audit import FINDINGS_SHOWN_MAX
from heliograph.base import ids
from heliograph.cli import main
from tests.support.capability.lived import (
    RECIPIENTS,
    Lived,
    known,
    written,
)
from tests.support.factories import SECRET_KEY


def run(lived: Lived, *args: object) -> Result:
    return CliRunner().invoke(
        main,
        ["ledger", "verify", *map(str, args)],
        env={"DATABASE_URL": lived.db.url, "HELIOGRAPH_SECRET_KEY": SECRET_KEY},
    )


def test_the_command_proves_messages_beside_the_ledger(lived: Lived, tmp_path: Path) -> None:
    log, accepted = written(lived.events, tmp_path / "smsc.jsonl"), tmp_path / "accepted.txt"
    accepted.write_text("\n".join(lived.accepted))
    said = run(lived, "--smsc-log", log, "--accepted", accepted, "--json")
    assert (said.exit_code, said.stderr) == (0, "")
    told = json.loads(said.stdout)
    assert (
        told.items()
        >= {
            "proven": True,
            "wallets": 1,
            "messages": len(lived.accepted),
            "lost": 0,
            "unexplained": 0,
            "findings": [],
        }.items()
    )
    assert {"submitted", "repeated", "duplicates"} <= set(told)
    assert told["promised"] == len(lived.accepted)
    assert run(lived, "--accepted", accepted).exit_code == 0
    assert "promised" not in run(lived).stdout
    assert "messages" not in json.loads(run(lived, "--json").stdout)


def test_the_command_tells_which_message_and_why(lived: Lived, tmp_path: Path) -> None:
    place = known(lived)[0]
    log = written(lived.events[:place] + lived.events[place + 1 :], tmp_path / "smsc.jsonl")
    accepted = tmp_path / "accepted.txt"
    missing = ids.new("msg")
    accepted.write_text(f"{missing}\n")
    said = run(lived, "--smsc-log", log, "--accepted", accepted)
    assert said.exit_code == 1
    assert f"lost: {missing}: it was answered 200, but it is not stored\n" in said.stderr
    assert "which no SMSC gave\n" in said.stderr
    assert said.stderr.endswith("heliograph: The messages are not proven: 3 lost, 0 unexplained.\n")
    assert not any(recipient in said.output for recipient in RECIPIENTS)
    many = run(lived, "--smsc-log", written([], tmp_path / "empty.jsonl"), "--json")
    findings = json.loads(many.stdout)["findings"]
    assert len(findings) == FINDINGS_SHOWN_MAX
    assert set(findings[0]) == {"kind", "where", "what"}
    *lines, more, last = many.stderr.splitlines()
    assert (
        len(lines),
        more.startswith("and "),
        last.startswith("heliograph: The messages are not proven: "),
    ) == (FINDINGS_SHOWN_MAX, True, True)


def test_the_command_names_a_file_that_it_cannot_use(lived: Lived, tmp_path: Path) -> None:
    log, accepted = written(lived.events, tmp_path / "smsc.jsonl"), tmp_path / "accepted.txt"
    accepted.write_text("msg_1\n")
    empty = tmp_path / "empty.txt"
    empty.touch()
    for args, told in (
        (["--smsc-log", tmp_path / "none"], "none cannot be read: No such file or directory."),
        (
            ["--smsc-log", accepted],
            "accepted.txt line 1: found no event (allowed: what `heliograph smsc --log` writes).",
        ),
        (["--smsc-log", log, "--smsc-log", log], "is named twice"),
        (["--accepted", tmp_path / "none"], "none cannot be read: No such file or directory."),
        (
            ["--accepted", empty],
            (
                "empty.txt is empty: found no id of a message (allowed: msg_…, one a line, at least"
                " one)."
            ),
        ),
        (
            ["--accepted", accepted],
            "accepted.txt line 1: found no id of a message (allowed: msg_…, one a line).",
        ),
    ):
        said = run(lived, *args)
        assert said.exit_code == 2
        assert told in said.stderr, said.stderr
