"""The console shows money by day, and proofs of the ledger."""

import csv
from io import StringIO

from heliograph import users, wallet
from heliograph.base import clock
from heliograph.base.clock import DAY_MS, rfc3339
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.jobs.ledger_hours import add_up_hour
from heliograph.jobs.proofs import Proofs
from heliograph.portal.languages.formats import NARROW
from heliograph.users import OperatorRole
from heliograph.wallet import account_ledger, ledger, prices
from heliograph.wallet.ledger import post
from tests.support.console.operators import sign_in_operator
from tests.support.factories import open_account
from tests.support.portal.visitor import Visitor

CREDITS = ("Bought", "Granted", "Adjusted", "Spent", "Refunded", "Moved")
MONEY = ("Added", "Adjusted", "Paid for credits", "Moved")


def lived(db: Database, account_id: str, days_ago: int) -> None:
    at_ms = clock.now_ms() - days_ago * DAY_MS
    with db.write() as tx:
        ledger.topup(tx, account_id, "1250.50", "paid", now_ms=at_ms)
        ledger.grant(tx, account_id, 1_000, "welcome", now_ms=at_ms)
        prices.set_price(tx, "GHS", "1", 20)
        prices.buy_credits(tx, account_id, 400, now_ms=at_ms)
        for kind, credits in (("sms_charge", -321), ("sms_refund", 21)):
            post(
                tx,
                account_id,
                kind,
                ledger.SALES_ID,
                credits=credits,
                description="s",
                now_ms=at_ms,
            )


def money_of(visitor: Visitor) -> str:
    return visitor.get("/console/money?account=amina").headers["location"]


def row(day: str, *cells: str, names: tuple[str, ...] = CREDITS) -> str:
    numbers = "".join(
        f'<td class="number{" nothing" if cell == "–" else ""}" data-name="{name}">'
        f"{cell.replace(',', NARROW)}</td>"
        for name, cell in zip(names, cells, strict=False)
    )
    return f"<tr><td>{day}</td>{numbers}</tr>"


def test_a_day_shows_what_was_sold_spent_and_given_back(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    assert "has no entry of the last 30 days" in visitor.get("/console/money").text
    other = open_account(db, "other")
    for account_id, days_ago in ((amina_id, 2), (other, 2), (amina_id, 0)):
        lived(db, account_id, days_ago)
    assert "are still being added up" in visitor.get("/console/money").text
    for file in ("/console/money/days", f"{money_of(visitor)}/days/export"):
        early = visitor.get(file)  # which would be without them, and nothing in it would say so
        assert early.status_code == 503
        assert "are still being added up" in early.text
    while add_up_hour(db):
        pass
    today, before = (rfc3339(clock.now_ms() - ago * DAY_MS)[:10] for ago in (0, 2))
    everybody = visitor.get("/console/money").text
    assert row(today, "400", "1,000", "–", "321", "21") in everybody
    assert row(before, "800", "2,000", "–", "642", "42") in everybody
    assert row("<strong>30 days</strong>", "1,200", "3,000", "–", "963", "63") in everybody
    assert row(before, "2\u202f501.00 GHS", "–", "40.00 GHS", names=MONEY) in everybody
    path = money_of(visitor)
    assert row(before, "400", "1,000", "–", "321", "21", "–") in visitor.get(f"{path}/days").text
    for file, account_ids in (
        ("/console/money/days", [amina_id, other]),
        (f"{path}/days/export", [amina_id]),
    ):
        rows = list(csv.DictReader(StringIO(visitor.get(file).text)))
        with db.read() as tx:
            entries = [
                entry
                for account_id in account_ids
                for entry in account_ledger.page(tx, account_id, PageWanted(50, None))
            ]
        assert sum(int(each["entries"]) for each in rows) == len(entries)
        assert sum(int(each["credits"]) for each in rows) == sum(e.credits for e in entries)
        assert round(sum(float(each["amount"]) for each in rows) * 100) == sum(
            entry.amount_minor for entry in entries
        )


def test_a_customers_days_show_what_its_partner_gave_it(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    bilal = open_account(db, "bilal", parent_id=amina_id)
    with db.write() as tx:
        ledger.grant(tx, amina_id, 100, "welcome", now_ms=clock.now_ms())
        ledger.topup(tx, amina_id, "5.00", "paid", now_ms=clock.now_ms())
        wallet.transfer(tx, amina_id, bilal, credits=70, amount_minor=150, description="given")
        wallet.transfer(tx, bilal, amina_id, credits=20, description="taken back")
    today = rfc3339(clock.now_ms())[:10]
    for name, granted, moved in (("bilal", "–", "50"), ("amina", "100", "−50")):
        path = visitor.get(f"/console/money?account={name}").headers["location"]
        shown = visitor.get(f"{path}/days").text
        assert row(today, "–", granted, "–", "–", "–", moved) in shown
    assert row(today, "5.00 GHS", "–", "–", "−1.50 GHS", names=MONEY) in shown
    everybody = visitor.get("/console/money").text
    assert row(today, "–", "100", "–", "–", "–") in everybody
    assert "Moved" not in everybody


def test_an_operator_asks_for_a_proof_and_sees_its_result_after_a_reload(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.FINANCE)
    path, job = "/console/money/proofs", Proofs(db)
    assert "Nobody has asked for a proof" in visitor.get(path).text
    for _ in range(2):
        assert visitor.post(path, {}).status_code == 303
    waiting = visitor.get(path).text
    assert "A proof waits" in waiting
    assert 'hx-trigger="every 5s"' in waiting
    assert "Prove the ledger now" not in waiting
    with db.read() as tx:
        logged = [each.entry.action for each in users.operator_entries(tx, PageWanted(9, None))]
    assert logged == ["ledger.verify"], "asked for twice, and begun once"
    assert "Asked for a proof of the ledger" in visitor.get("/console/log").text
    job.start_next()
    assert job._prover is not None
    assert "A proof" in visitor.get(path).text
    job._prover.join(60)
    assert "The ledger is proven." in visitor.get(path).text
    visitor.post(path, {})
    job.start_next()
    job.start_next()
    job.stop()
    assert "The last proof was broken off" in visitor.get(path).text


def test_an_auditor_may_look_at_proofs_and_not_ask_for_one(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    assert "Prove the ledger now" not in visitor.get("/console/money/proofs").text
    assert visitor.post("/console/money/proofs", {}).status_code == 403
