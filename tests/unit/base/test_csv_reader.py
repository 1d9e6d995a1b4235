"""Files of contacts and files of a campaign's numbers are taken apart by one reader, and choose
their phone column by one rule.
"""

import io
from collections.abc import Callable
from io import BytesIO
from itertools import permutations
from typing import TypeAlias
from zipfile import ZipFile

import pytest

from heliograph.base.csv.cells import line_of, neutralize
from heliograph.base.csv.columns import PHONE_COLUMNS, columns_of
from heliograph.base.csv.reader import CsvReader, text_of
from heliograph.base.errors import InvalidRequest
from heliograph.campaigns import Numbers
from heliograph.campaigns.audience.numbers_file import NumberRow
from heliograph.contacts.csv_file import ContactRow, Sheet

BYTE_ORDER_MARK = "\ufeff"


def contact_phones(text: str) -> list[str]:
    rows = Sheet(io.StringIO(text), None, "GH").rows()
    return [
        row.change.phone.digits if isinstance(row, ContactRow) and row.change.phone else str(row)
        for row in rows
    ]


def campaign_phones(text: str) -> list[str]:
    rows = Numbers(io.StringIO(text), None, "GH").rows([])
    return [row.phone.digits if isinstance(row, NumberRow) else str(row) for row in rows]


Phones: TypeAlias = Callable[[str], list[str]]


def cells(text: str) -> list[list[str]]:
    return [record.cells for record in CsvReader(io.StringIO(text)).records]


@pytest.mark.parametrize(
    ("header", "phone"),
    [
        ("number,phone_number", 1),
        ("Number;Phone Number", 1),
        ("number\tPhone-number", 1),
        ("phone number,msisdn", 0),
        ("mobile,msisdn", 1),
        ("tel;Telephone", 1),
        ("recipient;PHONE", 1),
        ("name,mobile", 1),
        ("nom;Téléphone", 1),
        ("TÉLÉPHONE,tel", 0),
        ("nom,te\u0301le\u0301phone", 1),  # as other systems write the same letters
    ],
)
def test_contacts_and_campaigns_read_phones_from_the_same_column(header: str, phone: int) -> None:
    row = ["233200000000", "233200000001"]
    mark = next(mark for mark in ",;\t" if mark in header)
    text = f"{header}\n{mark.join(row)}\n"
    assert contact_phones(text) == campaign_phones(text) == [row[phone]]


@pytest.mark.parametrize(
    "said",
    [
        "sep=;",
        "SEP=;\r",
        "\ufeffsep=;",
        "sep=,",
        "sep=\t",
        '"sep=;"',
        '\ufeff"sep=,"\r',
        '"sep=\t"',
    ],
)
def test_a_line_before_the_columns_says_what_stands_between_cells(said: str) -> None:
    mark = said.rstrip('\r"')[-1]
    name = "a" + ",;\t".replace(mark, "") + "b"  # what would be taken for the mark without the line
    text = f"{said}\nphone{mark}name\n233200000000{mark}{name}\n"
    record = list(CsvReader(io.StringIO(text)).records)[-1]
    assert record.cells == ["233200000000", name]
    assert record.line == 3
    assert contact_phones(text) == campaign_phones(text) == ["233200000000"]


def test_a_workbook_is_named_as_one() -> None:
    file = io.BytesIO()
    with ZipFile(file, "w") as workbook:
        workbook.writestr("xl/workbook.xml", "<workbook/>")
    file.seek(0)
    with pytest.raises(InvalidRequest, match="is a workbook; save it as CSV"):
        CsvReader(text_of(file))


@pytest.mark.parametrize(
    ("octets", "what"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + b"\0" * 70_000, "a PDF document; choose a CSV file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 70_000, r"an old kind \(.xls\); save it"),
        (b"\x89PNG\r\n\x1a\n\0", "an image; choose a CSV file"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "an image; choose a CSV file"),
        (b"<!DOCTYPE html><p>" + b"x" * 70_000, r"a web page \(HTML\); choose a CSV file"),
        (b"\xef\xbb\xbf\n\n  <HTML lang=en>\n", r"a web page \(HTML\); choose a CSV file"),
        (b"<table><tr><td>phone</td></tr></table>", r"a web page \(HTML\); choose a CSV file"),
        (b'<?xml version="1.0"?>\n<html/>', r"a web page \(HTML\); choose a CSV file"),
    ],
    ids=["pdf", "xls", "png", "jpeg", "long html", "html", "table", "xhtml"],
)
def test_a_file_of_another_kind_is_named_however_long_its_first_line_is(
    octets: bytes, what: str
) -> None:
    with pytest.raises(InvalidRequest, match=f"The file is .*{what}.* in UTF-8"):
        CsvReader(text_of(io.BytesIO(octets)))


@pytest.mark.parametrize("first", ["<tables>", "<3", "GIF", "PK", "%PDF"])
def test_a_column_may_be_called_nearly_as_a_file_of_another_kind_begins(first: str) -> None:
    assert cells(f"{first},phone\n") == [[first, "phone"]]


def test_of_two_names_of_a_phone_column_the_same_one_counts_wherever_they_stand() -> None:
    for first, second in permutations(PHONE_COLUMNS, 2):
        text = f"{first},{second}\n233200000000,233200000001\n"
        phone = int(PHONE_COLUMNS.index(second) < PHONE_COLUMNS.index(first))
        expected = [f"23320000000{phone}"]
        assert contact_phones(text) == campaign_phones(text) == expected, text


def test_a_column_that_is_named_exactly_counts_before_one_with_an_accent() -> None:
    columns = columns_of(("côté", "Cote", "cote"))
    found = [columns.place_of("phone", name) for name in ("cote", "Cote", "côté", "COTÉ")]
    assert found == [2, 1, 0, 0]


def test_a_header_that_names_phone_twice_is_refused() -> None:
    text = "phone,Phone\n233200000000,233200000001\n"
    with pytest.raises(InvalidRequest, match="second column for phone"):
        contact_phones(text)
    with pytest.raises(InvalidRequest, match="names a column twice"):
        campaign_phones(text)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("phone;name,town", ["phone", "name,town"]),
        ('"a;b;c",phone', ["a;b;c", "phone"]),
        ('"233200000000, or so";Ama', ["233200000000, or so", "Ama"]),
        ("phone\tname", ["phone", "name"]),
        ("name;town;street", ["name", "town", "street"]),
        ("233200000000", ["233200000000"]),
    ],
)
def test_the_delimiter_is_the_one_that_finds_a_phone_column_and_then_the_most_cells(
    first: str, expected: list[str]
) -> None:
    assert cells(f"{first}\n") == [expected]
    assert cells(f"{BYTE_ORDER_MARK}{first}\n") == [expected]


def test_a_file_without_a_line_has_no_cells() -> None:
    assert not any(cells(""))
    assert not any(cells(BYTE_ORDER_MARK))


@pytest.mark.parametrize("phones", [contact_phones, campaign_phones])
def test_a_file_whose_first_line_cannot_be_read_is_refused(phones: Phones) -> None:
    for first, told in (
        ("phone;name\r233200000000", "Line 1 is not CSV: a carriage return stands"),
        ('phone;"name"s', "Line 1 is not CSV: a cell goes on behind its closing quote"),
        ("phone;pr\udce9nom", "The first line is not UTF-8"),
    ):
        with pytest.raises(InvalidRequest, match=told):
            phones(f"{first}\n233200000001;Ama\n")


@pytest.mark.parametrize("phones", [contact_phones, campaign_phones])
def test_a_row_that_is_not_utf_8_is_left_out_alone(phones: Phones) -> None:
    octets = b"phone,name\n233200000000,Kof\xff\n233200000001,Ama\n"
    bad, good = phones(text_of(BytesIO(octets)).read())
    assert "is not UTF-8" in bad
    assert good == "233200000001"


@pytest.mark.parametrize("phones", [contact_phones, campaign_phones])
def test_lines_that_hold_nothing_are_passed_over_also_before_the_header(phones: Phones) -> None:
    assert phones("\n  \nname;phone\n;\n ; \nAma;233200000001\n") == ["233200000001"]


@pytest.mark.parametrize("header", ["mobile,mobile", "Phone No,x,phone_no", "tel,Tel"])
def test_a_header_that_names_the_phone_column_twice_is_refused(header: str) -> None:
    text, named = f"{header}\n{','.join(['233200000000'] * 3)}\n", {"phone": header.split(",")[0]}
    with pytest.raises(InvalidRequest, match="is a second column for phone: column 1 is the first"):
        Sheet(io.StringIO(text), None, "GH", named)
    with pytest.raises(InvalidRequest, match="names a column twice"):
        next(Numbers(io.StringIO(text), None, "GH", named["phone"]).rows([]))


@pytest.mark.parametrize("name", ["=SUM(A1)", "+1 to everything", "@ama", "-", "plain", "'quoted"])
def test_a_cell_that_was_made_harmless_for_spreadsheets_is_read_as_it_was_by_both(
    name: str,
) -> None:
    """So an exported file of contacts makes the same campaign as the contacts themselves."""
    line = line_of((neutralize("+233201234567"), neutralize(name)), ",")
    text = f"phone,name\r\n{line}"
    assert contact_phones(text) == campaign_phones(text) == ["233201234567"]
    [row] = Numbers(io.StringIO(text), None, "GH").rows([])
    assert isinstance(row, NumberRow)
    assert row.values["name"] == name
