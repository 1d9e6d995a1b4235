"""`heliograph contact export` and `import --bad-rows` write files."""

import csv
import io
import os
from pathlib import Path

import pytest

from heliograph.base.errors import Unavailable
from heliograph.contacts import export_file
from heliograph.database.database import Database
from tests.support.capability.commands import Run, typed
from tests.support.capability.contact_files import kept, write
from tests.support.factories import open_account, phones


def test_no_cell_that_is_exported_is_a_formula_and_all_come_back(
    run: Run, db: Database, amina_id: str, tmp_path: Path
) -> None:
    for name, phone in zip(
        ["=1+1", "+1", "-1", "@SUM(A1)", "'=1", '"=1', "' =1", "＝1", "O'Hara", "'", "plain; a,b"],
        phones(11),
        strict=True,
    ):
        run(
            "contact",
            "add",
            phone,
            "--account",
            "amina",
            "--name",
            name,
            "--tag",
            name,
            "--custom",
            f"@cmd={name}",
            "--custom",
            "Email=x",
            "--custom",
            "custom.x=1",
            "--custom",
            "#y=2",
        )
    run("contact", "opt-out", phones(1)[0], "--account", "amina")
    out = tmp_path / "out.csv"
    assert run("contact", "export", out, "--account", "amina", "--json").json == {
        "file": str(out),
        "contacts": 11,
    }
    rows = list(csv.reader(io.StringIO(out.read_text("utf-8"))))
    assert rows[0] == [
        "phone",
        "name",
        "email",
        "tags",
        "opted_out",
        "custom.#y",
        "'@cmd",
        "custom.Email",
        "custom.custom.x",
    ]
    assert not [
        cell
        for row in rows
        for cell in row
        if cell.lstrip(' "').startswith(("=", "+", "-", "@", "＝"))
    ]
    other = open_account(db, "chidi")
    assert run("contact", "import", out, "--account", "chidi", "--json").json["created"] == 11
    assert kept(db, other) == kept(db, amina_id)
    assert (
        run("contact", "export", "--account", "chidi").out.splitlines()
        == out.read_text("utf-8").splitlines()
    )


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_no_bad_row_is_a_formula_however_it_is_taken_apart_and_mended_it_is_what_it_was(
    run: Run, db: Database, amina_id: str, tmp_path: Path, mark: str
) -> None:
    names = ["=1+1", "a;=1+1", "a,=1+1", 'a;"=1', "'=1", "x"]
    rows = [
        ["phone", "name", "@cmd"],
        *(["12", f"'{name}" if name == "=1+1" else name, "-1"] for name in names),
    ]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=mark).writerows(rows)
    run(
        "contact",
        "import",
        write(tmp_path, text.getvalue()),
        "--account",
        "amina",
        "--bad-rows",
        tmp_path / "bad.csv",
    )
    bad = (tmp_path / "bad.csv").read_text("utf-8")
    for other in ",;\t":
        assert not [
            piece
            for line in bad.splitlines()
            for piece in line.split(other)
            if piece.lstrip(' "').startswith(("=", "+", "-", "@"))
        ]
    mended = "".join(
        line.replace(f"{mark}12{mark}", f"{mark}{phone}{mark}")
        for line, phone in zip(
            bad.splitlines(keepends=True), ["", *phones(len(names))], strict=True
        )
    )
    assert run("contact", "import", "-", "--account", "amina", "--json", stdin=mended).json[
        "created"
    ] == len(names)
    found = kept(db, amina_id)
    assert [(found[phone].name, dict(found[phone].custom)) for phone in phones(len(names))] == [
        ("=1" if name == "'=1" else name, {"@cmd": "-1"}) for name in names
    ]


def test_bad_rows_are_never_written_over_the_file_that_is_read(
    run: Run, amina_id: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "phone\n12\n")
    (tmp_path / "hard.csv").hardlink_to(path)
    (tmp_path / "soft.csv").symlink_to(path)
    for other in (
        path,
        tmp_path / "hard.csv",
        tmp_path / "soft.csv",
        tmp_path / ".." / tmp_path.name / "contacts.csv",
    ):
        said = run("contact", "import", path, "--account", "amina", "--bad-rows", other)
        assert (said.status, "--bad-rows" in said.err, "is the file that is read" in said.err) == (
            2,
            True,
            True,
        )
        assert path.read_text("utf-8") == "phone\n12\n"
    terminal = os.dup(0)
    try:
        with path.open() as redirected:
            os.dup2(redirected.fileno(), 0)
        said = run(
            *typed(f"contact import - --account amina --bad-rows {path} --force"),
            stdin="phone\n12\n",
        )
    finally:
        os.dup2(terminal, 0)
        os.close(terminal)
    assert (said.status, "is the file that is read" in said.err, path.read_text("utf-8")) == (
        2,
        True,
        "phone\n12\n",
    )


def test_bad_rows_replace_nothing_unless_they_are_told_to(
    run: Run, db: Database, amina_id: str, tmp_path: Path
) -> None:
    path, bad = write(tmp_path, "phone\n12\n233201234567\n"), write(tmp_path, "mine", "bad.csv")
    imported = ("contact", "import", path, "--account", "amina", "--bad-rows", bad)
    said = run(*imported)
    assert (said.status, said.err, bad.read_text("utf-8")) == (
        1,
        f"heliograph: {bad} is there already; --force overwrites it.\n",
        "mine",
    )
    assert kept(db, amina_id) == {}
    assert run(*imported, "--force").status == 1
    assert [line.split(",")[0] for line in bad.read_text("utf-8").splitlines()] == ["#line", "2"]
    assert len(kept(db, amina_id)) == 1


def test_an_export_replaces_nothing_unless_it_is_told_to(
    run: Run, amina_id: str, tmp_path: Path
) -> None:
    out, link, pipe = tmp_path / "out.csv", tmp_path / "link.csv", tmp_path / "null"
    link.symlink_to(out)
    pipe.symlink_to("/dev/null")
    whose = ("--account", "amina")
    assert run("contact", "export", link, *whose).status == 0
    whole = out.read_text("utf-8")
    out.write_text("mine", "utf-8")
    out.chmod(0o600)
    for path in (out, link):
        said = run("contact", "export", path, *whose)
        assert (said.status, said.err) == (
            1,
            f"heliograph: {out} is there already; --force overwrites it.\n",
        )
        assert out.read_text("utf-8") == "mine"
    assert run("contact", "export", link, "--force", *whose).status == 0
    assert (out.read_text("utf-8"), out.stat().st_mode & 0o777) == (whole, 0o600)
    assert run("contact", "export", pipe, *whose).status == 0
    assert (link.is_symlink(), pipe.is_symlink()) == (True, True)
    assert not list(tmp_path.glob("*.part"))


def test_a_file_that_cannot_be_written_is_told_in_one_line(
    run: Run, amina_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "nowhere" / "x.csv"
    for command in (
        ("export", nowhere),
        ("import", write(tmp_path, "phone\n"), "--bad-rows", nowhere),
    ):
        said = run("contact", *command, "--account", "amina")
        assert (said.status, said.err) == (
            1,
            f"heliograph: {nowhere} cannot be written: No such file or directory.\n",
        )

    def fails(*args: object) -> int:
        raise Unavailable("The database is not reachable.")

    monkeypatch.setattr(export_file, "write", fails)
    assert run("contact", "export", tmp_path / "x.csv", "--account", "amina").status == 1
    assert not list(tmp_path.glob("x.csv*"))
