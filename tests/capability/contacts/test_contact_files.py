"""`heliograph contact import` reads contacts from files."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from heliograph.base.errors import Unavailable
from heliograph.contacts import import_file
from heliograph.database.database import Database
from tests.support.capability.commands import Run
from tests.support.capability.contact_files import kept, write
from tests.support.factories import phones


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_file_is_read_as_it_is_found(
    run: Run, db: Database, amina_id: str, tmp_path: Path, mark: str, bom: bytes
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
    found = kept(db, amina_id)
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
    run: Run, db: Database, amina_id: str, tmp_path: Path
) -> None:
    first = write(
        tmp_path, "phone,name,tags,opted_out,city,code\n233201234567,Kofi,vip,yes,Accra,7\n"
    )
    run("contact", "import", first, "--account", "amina")
    second = write(tmp_path, "phone,name,city\n233201234567,,Tema,, \n233201234568,Ama,\n")
    assert run("contact", "import", second, "--account", "amina", "--json").json["updated"] == 1
    found = kept(db, amina_id)["233201234567"]
    assert (found.name, found.tags, found.opted_out, dict(found.custom)) == (
        None,
        ("vip",),
        True,
        {"city": "Tema", "code": "7"},
    )
    empty = write(tmp_path, "phone,opted_out\n233201234567,\n")
    run("contact", "import", empty, "--account", "amina")
    assert kept(db, amina_id)["233201234567"].opted_out is True
    run(
        "contact",
        "import",
        write(tmp_path, "phone,opted_out\n233201234567,no\n"),
        "--account",
        "amina",
    )
    assert kept(db, amina_id)["233201234567"].opted_out is False
    run("contact", "import", first, "--account", "amina", "--mode", "sandbox")
    assert list(kept(db, amina_id, sandbox=True)) == ["233201234567"]


def test_bad_rows_are_told_by_line_and_written_to_a_file_that_can_be_mended(
    run: Run, db: Database, amina_id: str, tmp_path: Path
) -> None:
    path = write(
        tmp_path,
        b'phone;name;email;tags\n12;Kofi;x;\n233201234567;"two\nlines";;\n'
        b"233201234568;\xff;;\n233201234569;Ama;a@b.c\n"
        b"233201234567;Kofi;;\n",
    )
    said = run("contact", "import", path, "--account", "amina", "--bad-rows", tmp_path / "bad.csv")
    assert said.status == 1
    lines = said.err.splitlines()
    assert lines[0].startswith("Line 2 was left out: phone must be a phone number")
    assert "; email must be an email address" in lines[0]
    assert lines[1:4] == [
        "Line 5 was left out: is not UTF-8.",
        "Line 6 was left out: has 3 cells, but the first line has 4.",
        "Line 7 repeats the phone of an earlier line; the later row counts.",
    ]
    assert lines[4].startswith("heliograph: 3 rows are left out; they are in ")
    assert kept(db, amina_id)["233201234567"].name == "Kofi"
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


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "name the columns"),
        ("name,email\nKofi,x\n", "telephone, tel); it has 'name', 'email'."),
        (
            "phone,name,Name\n",
            (
                "heliograph: The first line is wrong: column 3, 'Name', is a second column for"
                " name: column 2 is the first.\n"
            ),
        ),
        (
            "phone" + ",name" * 13 + "\n",
            "column 12, 'name', is a second column for name: column 2 is the first; and 2 more.",
        ),
        (
            "phone,custom.\n",
            "The first line is wrong: column 2, 'custom.', must have 1 to 64 characters",
        ),
        ("phone,a{b,city,city\n", "column 4, 'city', is a second column for city"),
        ('phone,name\n233201234567,"Kofi\n' + "x" * 200_000, "Line 3 has more than"),
        ('phone,name\n233201234567,"Kofi\n' + "x\n" * 90_000, "From line 2 on"),
        (b"\xff\xfep\0h\0", "UTF-16"),
        (b"phone,pr\xe9nom\n233201234567,Kofi\n", "first line is not UTF-8"),
    ],
)
def test_what_is_no_such_file_is_told(
    run: Run, db: Database, amina_id: str, tmp_path: Path, text: str | bytes, told: str
) -> None:
    said = run("contact", "import", write(tmp_path, text), "--account", "amina")
    assert said.status == 1
    assert told in said.err
    assert kept(db, amina_id) == {}


def test_an_import_that_ends_early_says_how_far_it_came_and_can_be_repeated(
    run: Run, db: Database, amina_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
            == f"heliograph: {why}. 20 rows are stored, up to line 21 of the file; nothing after"
            " it. Import the same file again to go on: rows that were imported before do no"
            " harm.\n"
        )
        assert len(kept(db, amina_id)) == 20
    monkeypatch.setattr(import_file.Import, "_store", store)
    assert (
        run("contact", "import", path, "--account", "amina", "--json").json.items()
        >= {
            "created": 5,
            "updated": 20,
            "repeated": 0,
        }.items()
    )


@pytest.mark.parametrize("end", ["233201234562,Ama\n", '233201234562,"Ama"\n'])
def test_a_quote_that_is_not_closed_ends_an_import_at_its_line(
    run: Run, db: Database, amina_id: str, tmp_path: Path, end: str
) -> None:
    path = write(tmp_path, 'phone,name\n233201234560,"Esi\nK"\n233201234561,"Kofi\n' + end)
    said = run("contact", "import", path, "--account", "amina")
    assert (said.status, said.err) == (
        1,
        (
            "heliograph: From line 4 on, the file cannot be read: a quoted cell that begins there"
            " is not closed. 1 row is stored, up to line 2 of the file; nothing after it."
            " Correct that line, and import the file again: rows that were imported before do no"
            " harm.\n"
        ),
    )
    assert list(kept(db, amina_id)) == ["233201234560"]


def test_a_phone_that_stands_twice_is_told_whether_or_not_its_contact_was_there(
    run: Run, amina_id: str, tmp_path: Path
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
    run: Run, db: Database, amina_id: str, tmp_path: Path
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
    assert list(kept(db, amina_id)) == ["233201234561"]
    assert "233201234560,Kofi K" in (tmp_path / "bad.csv").read_text("utf-8")
