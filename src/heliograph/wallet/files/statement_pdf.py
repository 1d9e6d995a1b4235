"""Draws a month's statement as a PDF: what the account held, sums by type, and every line, on as
many pages as it takes. No database is read here.

What people have written, names and reasons, is drawn and never read as markup. The fonts hold the
letters that are written from left to right and stand for themselves, such as Latin, Greek and
Cyrillic ones. Other letters would come out wrong, so a box stands for each, and the last line says
so.
"""

import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from heliograph.base.clock import rfc3339
from heliograph.wallet.files.statement import EntrySums, MonthStatement
from heliograph.wallet.files.statement_lines import StatementLine, StatementLines
from heliograph.wallet.money import exponent

if TYPE_CHECKING:
    from reportlab.pdfgen.canvas import Canvas

FONTS: Final = Path(__file__).parents[1] / "fonts"
PLAIN: Final = "DejaVuSansCondensed"
BOLD: Final = "DejaVuSansCondensed-Bold"
BOX: Final = "\u25a1"  # stands for what cannot be drawn
_CODE_MAX: Final = 0xFFFF  # of a character that the library names to who copies or searches text
# in points, on A4 paper
WIDTH: Final = 595.28
HEIGHT: Final = 841.89
MARGIN: Final = 48.0
SIZE: Final = 8.5
LEADING: Final = 12.5
TIME_X: Final = MARGIN
TYPE_X: Final = 128.0
TEXT_X: Final = 210.0
TEXT_WIDTH: Final = 190.0
CREDITS_RIGHT: Final = 470.0
MONEY_RIGHT: Final = WIDTH - MARGIN
TOP: Final = HEIGHT - 109.0  # below the head of a page
BOTTOM: Final = 64.0  # above its foot
TYPE_WORDS: Final = {
    "topup": "Money added",
    "credit_purchase": "Credits bought",
    "credit_grant": "Credits granted",
    "sms_charge": "Messages sent",
    "sms_refund": "Refunds",
    "transfer_in": "Received",
    "transfer_out": "Given",
    "adjustment": "Adjusted",
}


class StatementHolder(NamedTuple):
    """Names the account that a statement is of."""

    text_id: str
    name: str


class _StatementRow(NamedTuple):
    """Holds the cells of a table's row. A description has as many lines as it needs."""

    at: str
    type: str
    text: tuple[str, ...]
    credits: str
    money: str
    is_bold: bool = False


def pdf_of_statement(
    holder: StatementHolder, of: MonthStatement, lines: StatementLines, now_ms: int
) -> bytes:
    """Returns the file."""
    from reportlab.pdfgen.canvas import Canvas

    _load_fonts()
    to_file = BytesIO()
    canvas = Canvas(to_file, pagesize=(WIDTH, HEIGHT), pageCompression=1)
    canvas.setTitle(_drawable(f"Statement {of.month}, {holder.name}"))
    rows = [*_sums(of), *_entry_rows(of, lines)]
    pages = list(_paginate(rows))
    for number, on_page in enumerate(pages, 1):
        _draw_head(canvas, holder, of, now_ms)
        y = TOP
        for row in on_page:
            y = _draw_row(canvas, row, y)
        _draw_foot(canvas, _note(holder, of, lines), f"Page {number} of {len(pages)}")
        canvas.showPage()
    canvas.save()
    return to_file.getvalue()


def _sums(of: MonthStatement) -> Iterator[_StatementRow]:
    yield _figures(
        of, "Held when the month began", of.opening.sms_credits, of.opening.balance_minor
    )
    for each in of.sums:
        yield _sum(of, each)
    yield _figures(
        of, "Held when it ended, or now", of.closing.sms_credits, of.closing.balance_minor
    )


def _entry_rows(of: MonthStatement, lines: StatementLines) -> Iterator[_StatementRow]:
    title = "The entries, by day and kind" if lines.are_by_day else "The entries"
    yield _StatementRow("", "", (), "", "")
    yield _StatementRow(
        title if lines.lines else "There was no entry", "", (), "", "", is_bold=True
    )
    for each in lines.lines:
        yield _line(of, each)


def _figures(of: MonthStatement, label: str, credits: int, amount_minor: int) -> _StatementRow:
    money = _money(amount_minor, of.currency)
    return _StatementRow(label, "", (), f"{credits:,}", money, is_bold=True)


def _sum(of: MonthStatement, each: EntrySums) -> _StatementRow:
    count = "1 entry" if each.entries == 1 else f"{each.entries:,} entries"
    money = _signed_money(each.amount_minor, of.currency)
    return _StatementRow(TYPE_WORDS[each.type], "", (count,), _signed(each.credits), money)


def _line(of: MonthStatement, each: StatementLine) -> _StatementRow:
    return _StatementRow(
        each.at,
        TYPE_WORDS[each.type],
        _wrap(_drawable(each.description)),
        _signed(each.credits),
        _signed_money(each.amount_minor, of.currency),
    )


def _note(holder: StatementHolder, of: MonthStatement, lines: StatementLines) -> str:
    if not of.is_proven:
        return "The entries do not add up to the figures. The ledger must be verified."
    texts = [holder.name, *(each.description for each in lines.lines)]
    if any(_drawable(text) != _normal(text) for text in texts):
        return f"{BOX} stands for a letter that this file cannot show; the CSV file has it."
    return "The entries add up to the figures."


def _paginate(rows: list[_StatementRow]) -> Iterator[list[_StatementRow]]:
    on_page: list[_StatementRow] = []
    y = TOP
    for row in rows:
        if y - _height(row) < BOTTOM:
            yield on_page
            on_page, y = [], TOP
        on_page.append(row)
        y -= _height(row)
    yield on_page


def _height(row: _StatementRow) -> float:
    return LEADING * max(1, len(row.text))


def _draw_head(canvas: "Canvas", holder: StatementHolder, of: MonthStatement, now_ms: int) -> None:
    name = _wrap(_drawable(holder.name), BOLD, 14.0, 330.0)
    canvas.setFont(BOLD, 14)
    canvas.drawString(MARGIN, HEIGHT - 58, name[0] + ("…" if len(name) > 1 else ""))
    canvas.drawRightString(MONEY_RIGHT, HEIGHT - 58, f"Statement {of.month}")
    canvas.setFont(PLAIN, SIZE)
    canvas.drawString(MARGIN, HEIGHT - 72, holder.text_id)
    made = rfc3339(now_ms)[: len("2026-11-26T09:30")].replace("T", " ")
    canvas.drawRightString(MONEY_RIGHT, HEIGHT - 72, f"All times are in UTC. Made {made}.")
    titles = _StatementRow(
        "Time", "What", ("Description",), "SMS credits", f"Money, {of.currency}", True
    )
    _draw_row(canvas, titles, HEIGHT - 92)
    canvas.setLineWidth(0.6)
    canvas.line(MARGIN, HEIGHT - 96, MONEY_RIGHT, HEIGHT - 96)


def _draw_foot(canvas: "Canvas", note: str, page: str) -> None:
    canvas.setFont(PLAIN, SIZE)
    canvas.drawString(MARGIN, 40, note)
    canvas.drawRightString(MONEY_RIGHT, 40, page)


def _draw_row(canvas: "Canvas", row: _StatementRow, y: float) -> float:
    """Draws a row, and returns where the next one stands."""
    canvas.setFont(BOLD if row.is_bold else PLAIN, SIZE)
    canvas.drawString(TIME_X, y, row.at)
    canvas.drawString(TYPE_X, y, row.type)
    canvas.drawRightString(CREDITS_RIGHT, y, row.credits)
    canvas.drawRightString(MONEY_RIGHT, y, row.money)
    for number, line in enumerate(row.text):
        canvas.drawString(TEXT_X, y - LEADING * number, line)
    return y - _height(row)


def _wrap(
    text: str, font: str = PLAIN, size: float = SIZE, width: float = TEXT_WIDTH
) -> tuple[str, ...]:
    """Breaks a text into lines of a width, at spaces where there are some."""
    widths = _face(font).charWidths
    most = width * 1_000 / size
    lines: list[str] = []
    line, used = "", 0.0
    for character in text:
        wide = float(widths.get(ord(character), _face(font).defaultWidth))
        if used + wide > most:
            beginning, space, rest = line.rpartition(" ")
            lines.append(beginning if space else line)
            line = rest if space else ""
            used = float(sum(widths.get(ord(each), 0) for each in line))
        line, used = line + character, used + wide
    return (*lines, line)


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _drawable(text: str) -> str:
    """Returns a text with a box for each character that would not be drawn as it is written."""
    return "".join(each if _is_drawable(each) else BOX for each in _normal(text))


def _is_drawable(character: str) -> bool:
    # of one direction, and no mark that stands above another letter (Unicode, UAX #9 and #44)
    return (
        ord(character) <= _CODE_MAX
        and ord(character) in _face(PLAIN).charToGlyph
        and ord(character) in _face(BOLD).charToGlyph
        and unicodedata.bidirectional(character) not in ("R", "AL", "AN", "NSM")
        and unicodedata.category(character)[0] != "C"
    )


def _money(minor: int, currency: str) -> str:
    places = exponent(currency)
    return f"{Decimal(minor).scaleb(-places):,.{places}f}"


def _signed(credits: int) -> str:
    return f"{credits:+,}" if credits else "–"


def _signed_money(minor: int, currency: str) -> str:
    return ("+" if minor > 0 else "") + _money(minor, currency) if minor else "–"


@cache
def _load_fonts() -> None:
    """Reads the fonts, once in a process."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    for name in (PLAIN, BOLD):
        pdfmetrics.registerFont(TTFont(name, str(FONTS / f"{name}.ttf")))


@cache
def _face(font: str) -> Any:
    """Returns what is known of a font: its glyphs, and how wide they are."""
    from reportlab.pdfbase import pdfmetrics

    _load_fonts()
    known: Any = pdfmetrics.getFont(font)  # one of ours; its own type has no face
    return known.face
