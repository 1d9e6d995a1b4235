"""Makes spreadsheets to upload."""

from io import BytesIO
from typing import Any

from openpyxl import Workbook


def spreadsheet(*rows: list[Any]) -> bytes:
    """Returns an XLSX file of one sheet, which has these rows."""
    book, octets = Workbook(), BytesIO()
    assert book.active is not None
    for row in rows:
        book.active.append(row)
    book.save(octets)
    return octets.getvalue()
