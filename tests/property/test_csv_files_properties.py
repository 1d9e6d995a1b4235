"""A file is read alike as contacts and as a campaign's numbers: they have the same column of
phones, the same other columns, the same cells, and the same bad rows.
"""

from io import BytesIO
from typing import TypeAlias

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from heliograph.base.csv.cells import line_of, neutralize
from heliograph.base.csv.columns import PHONE_COLUMNS
from heliograph.base.csv.reader import text_of
from heliograph.base.errors import InvalidRequest
from heliograph.campaigns import Numbers
from heliograph.campaigns.audience.numbers_file import NumberRow
from heliograph.contacts.csv_file import ContactRow, Sheet

PHONES = ("233201234567", "233207654321")
PHONE_NAMES = (*PHONE_COLUMNS, "Phone Number", "MOBILE", " Tel ", "Téléphone")
NAMES = (*PHONE_NAMES, "town", "Town", "size", "'=sum", " color ", "")
PARTS = (*PHONES, "Ama", "", " ", "é", '"x"', "a,b;c", "=1+1", "-7", "\udcff", " '=2")
# of the rows by their lines: the phone, and what the other columns say; None of one left out
Found: TypeAlias = dict[int, tuple[str, dict[str, str]] | None]


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Makes a file with a header that has a phone column; some lines are bad or hold nothing."""
    names = [
        draw(st.sampled_from(PHONE_NAMES)),
        *draw(st.lists(st.sampled_from(NAMES), max_size=4)),
    ]
    header = draw(st.permutations(names))
    cell = st.sampled_from(PHONES) | st.sampled_from(PARTS)
    rows = draw(st.lists(st.lists(cell, min_size=len(header), max_size=len(header)), max_size=4))
    mark = draw(st.sampled_from(",;\t"))
    lines = [line_of(map(neutralize, cells), mark) for cells in (header, *rows)]
    odd = st.sampled_from(("\r\n", f"{mark} {mark}\r\n", '"a"b\r\n'))
    for place in draw(st.lists(st.integers(0, len(lines)), max_size=2)):
        lines.insert(place, draw(odd))
    begin = draw(st.sampled_from(("", "\N{ZERO WIDTH NO-BREAK SPACE}")))
    return (begin + "".join(lines)).encode("utf-8", "surrogateescape")


def as_contacts(octets: bytes) -> tuple[str, Found]:
    """Returns what the phone column is called, and the rows."""
    sheet = Sheet(text_of(BytesIO(octets)), None, "GH")
    found: Found = {}
    for row in sheet.rows():
        found[row.line] = None
        if isinstance(row, ContactRow):
            assert row.change.phone is not None
            parts = {name: value or "" for name, value in row.change.parts.items()}
            found[row.line] = (row.change.phone.digits, parts)
    return sheet.layout.names[sheet.layout.fields["phone"]], found


def as_numbers(octets: bytes, phone_column: str) -> Found:
    return {
        row.line: (
            row.phone.digits,
            {name: value for name, value in row.values.items() if name != phone_column},
        )
        if isinstance(row, NumberRow)
        else None
        for row in Numbers(text_of(BytesIO(octets)), None, "GH").rows([])
    }


@given(files())
@example(b"mobile,mobile\n233201234567,233207654321\n")
@example(b"\n\nnumber;phone\n1;233201234567\n2;\xff\n")
def test_a_file_is_read_alike_as_contacts_and_as_a_campaigns_numbers(octets: bytes) -> None:
    try:
        phone_column, found = as_contacts(octets)
    except InvalidRequest:
        event("refused")
        with pytest.raises(InvalidRequest):
            as_numbers(octets, "")
        return
    event(f"{sum(row is not None for row in found.values())} good rows")
    assert as_numbers(octets, phone_column) == found
