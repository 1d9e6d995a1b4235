"""A rate sheet is read row by row, whatever a stranger has put into its file."""

import zipfile
from io import BytesIO
from typing import Any

import pytest
from openpyxl import Workbook

from heliograph.base.errors import InvalidRequest
from heliograph.carriers import GENERAL, current_rates
from heliograph.pricing.sheet_file import (
    ACCOUNTS_MAX,
    FILE_OCTETS_MAX,
    LINES_MAX,
    ROWS_MAX,
    UNPACKED_OCTETS_MAX,
    BadRow,
    read_sheet,
)
from tests.support.spreadsheet import spreadsheet

AMINA = "a" * 32
PLANTED = b"<!DOCTYPE x [<!ENTITY a 'aaaa'>]>"


def account_of(text: str) -> str:
    if text == "zola":
        raise InvalidRequest("There are two.")
    return AMINA


def with_member(octets: bytes, name: str, content: bytes) -> bytes:
    """Returns an XLSX file in which one file is another one."""
    made = BytesIO()
    with zipfile.ZipFile(BytesIO(octets)) as old, zipfile.ZipFile(made, "w", 8) as new:
        for each in old.namelist():
            if each != name:
                new.writestr(each, old.read(each))
        new.writestr(name, content)
    return made.getvalue()


SHEET: list[list[Any]] = [
    ["Prefix", "Country", "Credits", "Account"],
    [233, "GH", 2, None],
    [None, "ng", 3.0, None],
    ["+234 80", None, "none", "amina"],
    ["default", None, 1, None],
]
RATES = [
    current_rates.Rate(GENERAL, "233", 2),
    current_rates.Rate(GENERAL, "NG", 3),
    current_rates.Rate(AMINA, "23480", None),
    current_rates.Rate(GENERAL, "default", 1),
]
FEW = spreadsheet(SHEET[0], SHEET[1])


def test_a_spreadsheet_and_the_same_as_csv_have_the_same_rates() -> None:
    lines = [";".join("" if cell is None else str(cell) for cell in row) for row in SHEET]
    csv = "\ufeff" + "\r\n".join(lines).replace("3.0", "3")
    for octets in (spreadsheet(*SHEET), csv.encode()):
        assert read_sheet(octets, account_of) == (RATES, [])


def test_each_bad_row_says_what_is_wrong_and_the_others_are_read() -> None:
    read = read_sheet(
        spreadsheet(
            ["destination", "rate", "account"],
            ["GH", 2, None],
            ["Ghana", 2, None],
            ["23324", 2.5, None],
            ["23320", "=1+1", None],
            ["GH", 3, None],
            ["NG", 100_001, None],
            [None, 4, None],
            ["KE", 1, "zola"],
        ),
        account_of,
    )
    assert read.rates == [current_rates.Rate(GENERAL, "GH", 2)]
    assert [bad.line for bad in read.bad] == [3, 4, 5, 6, 7, 8, 9]
    whys = " | ".join(bad.why for bad in read.bad)
    for said in (
        "destination must be the first 1 to 15 digits",
        "credits must be a whole number from 0 to 100000, or none; not '2.5'",
        "has the formula '=1+1'",
        "has GH again",
        "credits must be from 0 to 100000",
        "has no prefix or country",
        "There are two.",
    ):
        assert said in whys


def test_a_bad_row_names_the_column_as_the_sheet_calls_it() -> None:
    read = read_sheet(b"country,prefix,credits\r\nGhana,,1\r\nGH,23x,1\r\n,0233,1\r\n", account_of)
    allowed = (
        "must be the first 1 to 15 digits of numbers (never 0 first), a country such as GH, or"
        " default; not"
    )
    assert read.bad == [
        BadRow(2, f"country {allowed} 'Ghana'"),
        BadRow(3, f"prefix {allowed} '23x'"),
        BadRow(4, f"prefix {allowed} '0233'"),
    ]


def test_a_prefix_as_it_is_dialled_from_abroad_is_that_of_its_country() -> None:
    read = read_sheet(b"prefix,credits\r\n0023320,5\r\n+233 24,7\r\n23320,5\r\n", account_of)
    assert read.rates == [
        current_rates.Rate(GENERAL, "23320", 5),
        current_rates.Rate(GENERAL, "23324", 7),
    ]
    assert read.bad == [BadRow(4, "has 23320 again")]


def test_why_a_file_is_not_read_is_one_sentence() -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_sheet("prefix,credits\r\n".encode("utf-16"), account_of)
    assert str(refused.value) == "file cannot be read. The file is UTF-16; save it as UTF-8."


def test_a_number_whose_comma_ends_its_cell_is_refused_and_not_cut() -> None:
    read = read_sheet(b"prefix,credits\r\n44,1,000\r\n45,2,,\r\n", account_of)
    assert read.rates == [current_rates.Rate(GENERAL, "45", 2)]
    assert read.bad == [BadRow(2, "has more cells than the first line: '000' is in no column")]


@pytest.mark.parametrize(
    ("octets", "why"),
    [
        (b"", "must not be empty"),
        (b"x" * (FILE_OCTETS_MAX + 1), "at most 1 MiB"),
        (b"prefix,credits\r\n", "no rows below its first line"),
        (b"phone,name\r\n1,2\r\n", "must name its columns"),
        ("prefix,credits\r\n".encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04 and nothing else", "is no XLSX file that can be read"),
        (with_member(FEW, "xl/worksheets/sheet1.xml", b"<work"), "is no XLSX file"),
        (
            with_member(FEW, "xl/media/image1.png", b"0" * (UNPACKED_OCTETS_MAX + 1)),
            "unpacks to more than 16 MiB",
        ),
        (with_member(FEW, "xl/sharedStrings.xml", PLANTED), "declares entities"),
        (
            with_member(FEW, "xl/sharedStrings.xml", b" " * 65_530 + PLANTED),
            "declares entities",
        ),
        (
            with_member(FEW, "xl/sharedStrings.xml", PLANTED.decode().encode("utf-16")),
            "declares entities",
        ),
        (with_member(FEW, "xl/strings.XML", PLANTED), "declares entities"),
        (
            b"prefix,credits\r\n" + b"".join(b"%d,1\r\n" % (k + 1) for k in range(ROWS_MAX + 1)),
            "must have at most 5,000 rows",
        ),
    ],
)
def test_a_file_that_is_no_sheet_is_refused_as_a_whole(octets: bytes, why: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_sheet(octets, account_of)
    assert refused.value.fields[0].field == "file"
    assert why in refused.value.fields[0].message


def test_a_row_far_below_is_refused_and_not_left_out() -> None:
    book, octets = Workbook(), BytesIO()
    assert book.active is not None
    book.active.append(["prefix", "credits"])
    book.active.cell(row=1_000_000, column=1, value=233)
    book.save(octets)
    with pytest.raises(InvalidRequest, match=f"has rows below line {LINES_MAX:,}"):
        read_sheet(octets.getvalue(), account_of)


def test_a_file_has_rates_of_so_many_accounts_only() -> None:
    rows = "".join(f"GH,1,shop {k}\r\n" for k in range(ACCOUNTS_MAX + 1))
    ids = {f"shop {k}": f"{k:032x}" for k in range(1, ACCOUNTS_MAX + 2)} | {"shop 0": "b" * 32}
    read = read_sheet(f"country,credits,account\r\n{rows}".encode(), lambda text: ids[text])
    assert len(read.rates) == ACCOUNTS_MAX
    assert read.bad == [
        BadRow(ACCOUNTS_MAX + 2, f"names one account too many: a file has at most {ACCOUNTS_MAX}")
    ]
