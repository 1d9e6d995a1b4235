"""A month's PDF is read back by a program that others wrote, and its sums are the ledger's."""

import re
from io import BytesIO
from pathlib import Path

import pytest
from pypdf import PdfReader

from heliograph import accounts, wallet
from heliograph.base import clock
from heliograph.base.clock import rfc3339
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.wallet import account_ledger, files, ledger
from heliograph.wallet.files import StatementHolder, lines_of_statement, pdf_of_statement
from heliograph.wallet.files.statement_lines import ENTRIES_LISTED_MAX
from tests.support.capability.commands import runner
from tests.support.factories import open_account

FIGURES = re.compile(r"([+-]?[\d,]+|–) ([+-]?[\d,]+\.\d\d|–)$")


def text_of(octets: bytes) -> list[str]:
    """Returns the text of each page, line by line as a person reads it."""
    pages = [
        page.extract_text(extraction_mode="layout") for page in PdfReader(BytesIO(octets)).pages
    ]
    return [re.sub(r"[ \xa0]+", " ", page) for page in pages]


def figures_of(line: str) -> tuple[int, int]:
    """Returns the credits and the minor units at the end of a line."""
    found = FIGURES.search(line.strip())
    assert found is not None, line
    credits, money = (figure.replace(",", "").replace("–", "0") for figure in found.groups())
    return int(credits), round(float(money) * 100)


def made(db: Database, account_id: str, now_ms: int) -> list[str]:
    with db.read() as tx:
        told = files.statement(tx, account_id, rfc3339(now_ms)[:7])
        lines = lines_of_statement(tx, account_id, told)
        account = accounts.by_id(tx, account_id)
    holder = StatementHolder(accounts.text_id(account), account.name)
    return text_of(pdf_of_statement(holder, told, lines, now_ms))


def test_the_sums_of_a_months_pdf_are_the_ledgers(db: Database, tmp_path: Path) -> None:
    now_ms = clock.now_ms()
    partner = open_account(db, "Amina Foods", credits=500)
    customer = open_account(db, "customer", parent_id=partner, sender=None)
    with db.write() as tx:
        ledger.topup(tx, partner, "1250.75", "paid", now_ms=now_ms)
        ledger.adjust_money(tx, partner, "-2.50", "fee", now_ms=now_ms)
        for number in range(90):
            ledger.grant(tx, partner, 1_000 + number, f"gift {number}", now_ms=now_ms)
        wallet.transfer(tx, partner, customer, credits=40, description="moved")
    month, file = rfc3339(now_ms)[:7], tmp_path / "statement.pdf"
    run = runner(db.url, tmp_path)
    said = run("wallet", "statement", "Amina Foods", str(file), "--month", month, "--format", "pdf")
    assert said.status == 0, said
    pages = text_of(file.read_bytes())
    assert len(pages) == 2
    for number, page in enumerate(pages, 1):
        assert "Amina Foods" in page
        assert f"Statement {month}" in page
        assert f"Page {number} of 2" in page
        assert "SMS credits Money, GHS" in page
        assert "The entries add up to the figures." in page
    lines = [line.strip() for page in pages for line in page.splitlines()]
    with db.read() as tx:
        told = files.statement(tx, partner, month)
        entries = account_ledger.page(tx, partner, PageWanted(1_000, None), told.span)
    words = {
        "topup": "Money added",
        "credit_grant": "Credits granted",
        "transfer_out": "Given",
        "adjustment": "Adjusted",
    }
    for each in told.sums:
        line = next(line for line in lines if re.match(rf"{words[each.type]} [\d,]+ entr", line))
        assert figures_of(line) == (each.credits, each.amount_minor)
    for said_of, figures in (("began", told.opening), ("it ended", told.closing)):
        line = next(line for line in lines if said_of in line)
        assert figures_of(line) == (figures.sms_credits, figures.balance_minor)
    listed = [figures_of(line) for line in lines if re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d ", line)]
    assert listed == [(entry.credits, entry.amount_minor) for entry in reversed(entries)]


def test_a_month_of_many_entries_lists_its_days(db: Database) -> None:
    now_ms = clock.now_ms()
    account_id = open_account(db, "busy")
    with db.write() as tx:
        for _ in range(ENTRIES_LISTED_MAX + 1):
            ledger.grant(tx, account_id, 2, "gift", now_ms=now_ms)
    (page,) = made(db, account_id, now_ms)
    day = rfc3339(now_ms)[:10]
    assert f"{day} Credits granted 1,001 entries +2,002 –" in page


def test_no_letter_keeps_a_program_from_reading_the_file(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    account_id = open_account(db, "Joy \N{GRINNING FACE} Foods \N{MATHEMATICAL BOLD CAPITAL A}")
    now_ms = clock.now_ms()
    with db.write() as tx:
        ledger.grant(tx, account_id, 7, "\N{GRINNING FACE}", now_ms=now_ms)
    (page,) = made(db, account_id, now_ms)
    assert "Joy □ Foods □" in page
    assert caplog.text == "", "what reads it has nothing to complain of"


def test_what_people_write_is_drawn_as_it_is_or_as_a_box(db: Database) -> None:
    now_ms = clock.now_ms()
    name = "<b>Zoë & Ёлка</b> عربي 中文 \\) Tj"
    account_id = open_account(db, name)
    long = "ten words that go on " * 10
    with db.write() as tx:
        ledger.grant(tx, account_id, 7, long.strip(), now_ms=now_ms)
        ledger.grant(tx, account_id, 7, '<img src="file:///etc/passwd"/>', now_ms=now_ms)
    (page,) = made(db, account_id, now_ms)
    assert "<b>Zoë & Ёлка</b> □□□□ □□ \\) Tj" in page
    assert "□ stands for a letter that this file cannot show" in page
    assert '<img src="file:///etc/passwd"/>' in page
    assert page.count("words") == 10, "long texts are wrapped, and nothing is left out"
