"""The console gives out two files: the statement of a month, and the ledger."""

import re
from io import BytesIO

from pypdf import PdfReader

from heliograph.base import clock
from heliograph.base.clock import rfc3339
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from heliograph.wallet import files, ledger
from tests.support.console.operators import sign_in_operator
from tests.support.factories import open_account
from tests.support.portal.visitor import Visitor


def test_an_auditor_saves_a_months_pdf_whose_sums_are_the_ledgers(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    now_ms = clock.now_ms()
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    with db.write() as tx:
        ledger.grant(tx, amina_id, 1_500, "welcome", now_ms=now_ms)
        ledger.topup(tx, amina_id, "12.50", "paid", now_ms=now_ms)
    path = visitor.get("/console/money?account=amina").headers["location"]
    assert f'href="{path}/statement.pdf?month={rfc3339(now_ms)[:7]}"' in visitor.get(path).text
    saved = visitor.get(f"{path}/statement.pdf")
    assert saved.headers["content-type"] == "application/pdf"
    assert f"statement-{path.rpartition('/')[2]}-" in saved.headers["content-disposition"]
    (page,) = PdfReader(BytesIO(saved.content)).pages
    text = re.sub(r" +", " ", page.extract_text(extraction_mode="layout"))
    with db.read() as tx:
        told = files.statement(tx, amina_id, rfc3339(now_ms)[:7])
    assert told.is_proven
    assert [each.credits for each in told.sums] == [0, 1_500]
    assert "Credits granted 1 entry +1,500 –" in text
    assert "Money added 1 entry – +12.50" in text
    assert "Held when it ended, or now 1,500 12.50" in text
    assert visitor.get(f"{path}/statement.pdf?month=2026-13").status_code == 400


def test_the_ledger_is_saved_of_all_accounts_or_of_one(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    other = open_account(db, "other")
    with db.write() as tx:
        for account_id in (amina_id, other):
            ledger.grant(tx, account_id, 5, "welcome", now_ms=clock.now_ms())
    path = "/console/money/ledger"
    assert 'name="format"' in visitor.get(path).text
    assert len(visitor.get(f"{path}/export?account=&month=&format=csv").text.splitlines()) == 3
    one = visitor.get(f"{path}/export?account=amina&month=&format=csv")
    assert len(one.text.splitlines()) == 2
    books = visitor.get(f"{path}/export?account=&month=&format=beancount")
    assert books.headers["content-disposition"] == 'attachment; filename="ledger.beancount"'
    assert books.headers["content-type"] == "text/plain; charset=utf-8"
    assert books.text.count(" balance ") == 2
    for query, wrong in (
        ("account=nobody&month=&format=csv", "was not found"),
        ("account=&month=2026-13&format=csv", "must be a year and a month"),
        ("account=&month=2026-113&format=csv", "must be a year and a month"),
        ("account=&month=9998-01&format=csv", "must be a month that has begun"),
        ("account=&month=&format=xls", "must be one of csv, beancount"),
    ):
        refused = visitor.get(f"{path}/export?{query}")
        assert refused.status_code == 400
        assert wrong in refused.text
