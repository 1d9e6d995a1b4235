"""`heliograph contact …`: by hand, and from and to files."""

import csv
import io
import os
from pathlib import Path
from typing import Any

import pytest

from heliograph import contacts
from heliograph.base.errors import Unavailable
from heliograph.contacts import World, export_file, import_file
from heliograph.database.database import Database
from tests.support.capability.commands import Run
from tests.support.factories import open_account, phones


@pytest.fixture
def amina(db: Database) -> str:
    return open_account(db)


def write(folder: Path, text: str | bytes, name: str = "contacts.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def kept(db: Database, account_id: str, *, sandbox: bool = False) -> dict[str, Any]:
    """Contacts by phone, without what no file tells."""
    with db.read() as tx:
        found = contacts.page(tx, World(account_id, sandbox), limit=10_000)
    assert len({contact.phone for contact in found}) == len(found)
    return {
        contact.phone: contact._replace(id="", created_at_ms=0, updated_at_ms=0)
        for contact in found
    }


def test_contacts_are_kept_by_hand(run: Run, amina: str) -> None:
    whose = ("--account", "amina", "--json")
    made = run(
        "contact",
        "add",
        "0201234567",
        "--country",
        "GH",
        "--name",
        "Kofi",
        "--tag",
        "vip",
        "--custom",
        "city=Accra",
        *whose,
    ).json
    assert (made["phone"], made["tags"], made["custom"]) == (
        "233201234567",
        ["vip"],
        {"city": "Accra"},
    )
    assert (
        run("contact", "show", "+233 20 123 4567", *whose).json
        == made
        == run("contact", "show", made["id"], *whose).json
    )
    assert run("contact", "opt-out", made["id"], *whose).json["opted_out"] is True
    changed = run(
        "contact",
        "set",
        "233201234567",
        "--name",
        "none",
        "--tag",
        "none",
        "--phone",
        "233201234568",
        *whose,
    ).json
    assert (changed["name"], changed["tags"], changed["phone"], changed["opted_out"]) == (
        None,
        [],
        "233201234568",
        True,
    )
    assert run("contact", "opt-in", made["id"], *whose).json["opted_out"] is False
    assert [each["id"] for each in run("contact", "list", "--search", "4568", *whose).json] == [
        made["id"]
    ]
    assert (
        run("contact", "list", "--search", "kofi", *whose).json
        == []
        == run("contact", "list", "--mode", "sandbox", *whose).json
    )
    assert run("contact", "remove", made["id"], *whose).json == {"id": made["id"], "deleted": True}
    assert (
        run("contact", "show", made["id"], *whose).status,
        run("contact", "set", made["id"], *whose).status,
    ) == (1, 2)


def test_whoever_writes_stop_is_opted_out_whether_or_not_they_are_a_contact(
    run: Run, db: Database, amina: str
) -> None:
    whose = ("--account", "amina", "--country", "GH")
    said = run("contact", "opt-out", "020 123 4567", *whose)
    assert (said.status, said.out.splitlines()[-1]) == (
        0,
        "This phone was no contact yet; it is one now, opted out.",
    )
    assert kept(db, amina)["233201234567"].opted_out
    run("contact", "set", "0201234567", "--name", "Kofi", "--phone", "0201234568", *whose)
    assert run("contact", "opt-in", "0201234568", *whose, "--json").json["opted_out"] is False
    again = run("contact", "opt-out", "0201234568", *whose, "--json").json
    assert (again["created"], again["opted_out"], again["name"]) == (False, True, "Kofi")
    assert (
        run("contact", "show", "0201234568", *whose, "--json").json["id"]
        == run("contact", "remove", "0201234568", *whose, "--json").json["id"]
    )
    for typed, told in (
        ("20123", "with --country GH, say"),
        ("+233201234568", "no contact with the phone 233201234568"),
    ):
        refused = run("contact", "opt-in", typed, "--account", "amina")
        assert (refused.status, told in refused.err) == (1, True)
    assert run("contact", "opt-out", "Kofi", *whose).status == 1


def test_all_values_that_are_wrong_are_told_together_as_they_were_typed(
    run: Run, amina: str
) -> None:
    said = run(
        "contact",
        "add",
        "12",
        "--account",
        "amina",
        "--country",
        "XX",
        "--email",
        "x",
        "--tag",
        "a",
        "--tag",
        "a|b",
        "--custom",
        "name=1",
    )
    assert said.status == 2
    assert [line.split(" must ")[0] for line in said.err.splitlines()] == [
        "heliograph: 5 values are wrong.",
        "  --country",
        "  PHONE",
        "  --email",
        "  --tag 2",
        "  --custom name",
    ]


@pytest.mark.parametrize(
    "name", ["می\u200cرضا", "क्\u200dष", "Ada \N{WOMAN}\u200d\N{PERSONAL COMPUTER}"]
)
def test_names_that_are_spelled_with_joiners_are_kept_shown_and_found(
    run: Run, amina: str, name: str
) -> None:
    whose = ("--account", "amina")
    made = run(
        "contact",
        "add",
        phones(1)[0],
        "--name",
        name,
        "--tag",
        name,
        "--custom",
        f"{name}={name}",
        *whose,
        "--json",
    ).json
    assert (made["name"], made["tags"], made["custom"]) == (name, [name], {name: name})
    assert f"  {name}\n" in run("contact", "show", phones(1)[0], *whose).out
    for needle in (name, name.replace("\u200c", "").replace("\u200d", "")):
        assert [
            each["id"] for each in run("contact", "list", "--search", needle, *whose, "--json").json
        ] == [made["id"]]
    assert run("contact", "list", "--search", "\u200d", *whose, "--json").json == []
    for bad in ("\u200d", "a\u200bb", "a\u202eb", "a\x00b", "a\nb"):
        assert run("contact", "add", phones(1)[0], "--name", bad, *whose).status == 2


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_file_is_read_as_it_is_found(
    run: Run, db: Database, amina: str, tmp_path: Path, mark: str, bom: bytes
) -> None:
    rows = [
        ["Phone", "Name", "E-Mail address", "Tags", "Opted out", "#note"],
        ["0201234567", f'"Kofi{mark} ""K"" \r\nMensah"', "", "vip | accra|vip", "yes", "x"],
        [],
        ["+233 20 123-4568", "Ñandú", "a@b", "", "", ""],
    ]
    path = write(tmp_path, bom + "\r\n".join(mark.join(row) for row in rows).encode())
    assert run(
        "contact", "import", path, "--account", "amina", "--country", "gh", "--json"
    ).json == {
        "columns": {
            "fields": ["phone", "name", "tags", "opted_out (Opted out)"],
            "custom": ["E-Mail address"],
            "not_read": ["#note"],
        },
        "created": 2,
        "updated": 0,
        "repeated": 0,
        "bad": 0,
        "bad_rows": [],
        "repeated_lines": [],
    }
    found = kept(db, amina)
    assert (found["233201234567"].name, found["233201234567"].tags) == (
        f'Kofi{mark.strip()} "K" Mensah',
        ("vip", "accra"),
    )
    assert (found["233201234567"].opted_out, found["233201234568"].opted_out) == (True, False)
    assert (found["233201234568"].name, found["233201234568"].custom) == (
        "Ñandú",
        {"E-Mail address": "a@b"},
    )


def test_only_columns_of_the_file_change_and_nobody_is_opted_in_by_its_absence(
    run: Run, db: Database, amina: str, tmp_path: Path
) -> None:
    first = write(
        tmp_path, "phone,name,tags,opted_out,city,code\n233201234567,Kofi,vip,yes,Accra,7\n"
    )
    run("contact", "import", first, "--account", "amina")
    second = write(tmp_path, "phone,name,city\n233201234567,,Tema,, \n233201234568,Ama,\n")
    assert run("contact", "import", second, "--account", "amina", "--json").json["updated"] == 1
    found = kept(db, amina)["233201234567"]
    assert (found.name, found.tags, found.opted_out, dict(found.custom)) == (
        None,
        ("vip",),
        True,
        {"city": "Tema", "code": "7"},
    )
    empty = write(tmp_path, "phone,opted_out\n233201234567,\n")
    run("contact", "import", empty, "--account", "amina")
    assert kept(db, amina)["233201234567"].opted_out is True
    run(
        "contact",
        "import",
        write(tmp_path, "phone,opted_out\n233201234567,no\n"),
        "--account",
        "amina",
    )
    assert kept(db, amina)["233201234567"].opted_out is False
    run("contact", "import", first, "--account", "amina", "--mode", "sandbox")
    assert list(kept(db, amina, sandbox=True)) == ["233201234567"]


def test_bad_rows_are_told_by_line_and_written_to_a_file_that_can_be_mended(
    run: Run, db: Database, amina: str, tmp_path: Path
) -> None:
    path = write(
        tmp_path,
        b'phone;name;email;tags\n12;Kofi;x;\n233201234567;"two\nlines";;\n233201234568;\xff;;\n233201234569;Ama;a@b.c\n'
        b"233201234567;Kofi;;\n",
    )
    said = run("contact", "import", path, "--account", "amina", "--bad-rows", tmp_path / "bad.csv")
    assert said.status == 1
    lines = said.err.splitlines()
    assert lines[0].startswith("Line 2 was left out: phone must be a phone number")
    assert "; email must be an email address" in lines[0]
    assert lines[1:4] == [
        "Line 5 was left out: is not UTF-8.",
        "Line 6 was left out: has 3 cells, and the first line 4.",
        "Line 7 has a phone that stood before; the later row counts.",
    ]
    assert lines[4].startswith("heliograph: 3 rows are left out; they are in ")
    assert kept(db, amina)["233201234567"].name == "Kofi"
    bad = list(
        csv.reader(
            io.StringIO((tmp_path / "bad.csv").read_text("utf-8", errors="replace")), delimiter=";"
        )
    )
    assert [row[0] for row in bad] == ["#line", "2", "5", "6"]
    mended = (
        (tmp_path / "bad.csv")
        .read_bytes()
        .replace(b"12;Kofi;x", b"233201234560;Kofi;x@y")
        .replace(b"\xff", b"Esi")
        .replace(b"a@b.c", b"a@b.c;")
    )
    assert (
        run("contact", "import", write(tmp_path, mended), "--account", "amina", "--json").json[
            "created"
        ]
        == 3
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "name the columns"),
        ("name,email\nKofi,x\n", "telephone, tel); it has 'name', 'email'."),
        (
            "phone,name,Name\n",
            (
                "heliograph: The first line is wrong: column 3, 'Name', is name again, which column"
                " 2 is already.\n"
            ),
        ),
        (
            "phone" + ",name" * 13 + "\n",
            "column 12, 'name', is name again, which column 2 is already; and 2 more.",
        ),
        (
            "phone,custom.\n",
            "The first line is wrong: column 2, 'custom.', must have 1 to 64 characters",
        ),
        ("phone,a{b,city,city\n", "column 4, 'city', is city again"),
        ('phone,name\n233201234567,"Kofi\n' + "x" * 200_000, "Line 3 has more than"),
        ('phone,name\n233201234567,"Kofi\n' + "x\n" * 90_000, "From line 2 on"),
        (b"\xff\xfep\0h\0", "UTF-16"),
        (b"phone,pr\xe9nom\n233201234567,Kofi\n", "first line is not UTF-8"),
    ],
)
def test_what_is_no_such_file_is_told(
    run: Run, db: Database, amina: str, tmp_path: Path, text: str | bytes, told: str
) -> None:
    said = run("contact", "import", write(tmp_path, text), "--account", "amina")
    assert said.status == 1
    assert told in said.err
    assert kept(db, amina) == {}


def test_an_import_that_ends_early_says_how_far_it_came_and_can_be_repeated(
    run: Run, db: Database, amina: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_file, "AT_ONCE_MAX", 10)
    path = write(tmp_path, "phone\n" + "\n".join(phones(25)))
    store = import_file.Import._store
    for error, why in (
        (Unavailable("The database is not reachable."), "The database is not reachable"),
        (KeyboardInterrupt(), "It was interrupted"),
    ):

        def fails(self: import_file.Import, batch: Any, error: BaseException = error) -> Any:
            if self.stored == 20:
                raise error
            return store(self, batch)

        monkeypatch.setattr(import_file.Import, "_store", fails)
        said = run("contact", "import", path, "--account", "amina")
        assert said.status == 1
        assert (
            said.err
            == f"heliograph: {why}. 20 rows are stored, up to line 21 of the file; nothing of what"
            " follows. Import the same file again to go on: rows that are in already do no"
            " harm.\n"
        )
        assert len(kept(db, amina)) == 20
    monkeypatch.setattr(import_file.Import, "_store", store)
    assert (
        run("contact", "import", path, "--account", "amina", "--json").json.items()
        >= {
            "created": 5,
            "updated": 20,
            "repeated": 0,
        }.items()
    )


def test_no_cell_that_is_exported_is_a_formula_and_all_come_back(
    run: Run, db: Database, amina: str, tmp_path: Path
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
    assert kept(db, other) == kept(db, amina)
    assert (
        run("contact", "export", "--account", "chidi").out.splitlines()
        == out.read_text("utf-8").splitlines()
    )


@pytest.mark.parametrize("end", ["233201234562,Ama\n", '233201234562,"Ama"\n'])
def test_a_quote_that_is_not_closed_ends_an_import_at_its_line(
    run: Run, db: Database, amina: str, tmp_path: Path, end: str
) -> None:
    path = write(tmp_path, 'phone,name\n233201234560,"Esi\nK"\n233201234561,"Kofi\n' + end)
    said = run("contact", "import", path, "--account", "amina")
    assert (said.status, said.err) == (
        1,
        (
            "heliograph: From line 4 on, the file cannot be read: a quoted cell that begins there"
            " is not closed. 1 row is stored, up to line 2 of the file; nothing of what follows."
            " Mend that line, and import the file again: rows that are in already do no harm.\n"
        ),
    )
    assert list(kept(db, amina)) == ["233201234560"]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_no_bad_row_is_a_formula_however_it_is_taken_apart_and_mended_it_is_what_it_was(
    run: Run, db: Database, amina: str, tmp_path: Path, mark: str
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
    found = kept(db, amina)
    assert [(found[phone].name, dict(found[phone].custom)) for phone in phones(len(names))] == [
        ("=1" if name == "'=1" else name, {"@cmd": "-1"}) for name in names
    ]


def test_a_phone_that_stands_twice_is_told_whether_or_not_its_contact_was_there(
    run: Run, amina: str, tmp_path: Path
) -> None:
    path = write(
        tmp_path,
        "phone,name\n"
        + "233201234567,Kofi\n" * 2
        + "233201234567,Ama\n"
        + "233201234568,Esi\n" * 2,
    )
    for created, updated in ((2, 0), (0, 2)):
        told = run("contact", "import", path, "--account", "amina", "--json").json
        assert (told["created"], told["updated"], told["repeated_lines"]) == (
            created,
            updated,
            [3, 4, 6],
        )
        run("contact", "set", "233201234567", "--account", "amina", "--name", "Kofi")


def test_a_line_that_is_no_csv_is_left_out_alone(
    run: Run, db: Database, amina: str, tmp_path: Path
) -> None:
    said = run(
        "contact",
        "import",
        write(tmp_path, 'phone,name\n233201234560,"Kofi" K\n233201234561,"Ama"\n'),
        "--account",
        "amina",
        "--bad-rows",
        tmp_path / "bad.csv",
    )
    assert said.err.startswith("Line 2 was left out: is not CSV")
    assert list(kept(db, amina)) == ["233201234561"]
    assert "233201234560,Kofi K" in (tmp_path / "bad.csv").read_text("utf-8")


def test_bad_rows_are_never_written_over_the_file_that_is_read(
    run: Run, amina: str, tmp_path: Path
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
            "contact",
            "import",
            "-",
            "--account",
            "amina",
            "--bad-rows",
            path,
            "--force",
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
    run: Run, db: Database, amina: str, tmp_path: Path
) -> None:
    path, bad = write(tmp_path, "phone\n12\n233201234567\n"), write(tmp_path, "mine", "bad.csv")
    typed = ("contact", "import", path, "--account", "amina", "--bad-rows", bad)
    said = run(*typed)
    assert (said.status, said.err, bad.read_text("utf-8")) == (
        1,
        f"heliograph: {bad} is there already; --force overwrites it.\n",
        "mine",
    )
    assert kept(db, amina) == {}
    assert run(*typed, "--force").status == 1
    assert [line.split(",")[0] for line in bad.read_text("utf-8").splitlines()] == ["#line", "2"]
    assert len(kept(db, amina)) == 1


def test_an_export_replaces_nothing_unless_it_is_told_to(
    run: Run, amina: str, tmp_path: Path
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
    run: Run, amina: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
