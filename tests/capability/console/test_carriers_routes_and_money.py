"""Operators change carriers, routes and money in the console."""

import re

import sqlalchemy as sa

from heliograph import carriers, pricing, users, wallet
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.paging import PageWanted
from heliograph.carriers import connection_settings, current_rates
from heliograph.carriers.tables import carriers as carriers_table
from heliograph.database.database import Database
from heliograph.messages.queue import HELD_FROM_US
from heliograph.messages.tables import inflight, queue
from heliograph.monitoring import MeasuredQueue, Sampler
from heliograph.users import OperatorRole
from heliograph.users.sign_ins import FRESH_MS
from heliograph.wallet import Figures, account_ledger, ledger, prices
from tests.support.console.looked_up import operators_did
from tests.support.console.operators import sign_in_operator
from tests.support.factories import SECRET_KEY, open_carrier
from tests.support.portal.visitor import EMAIL, Visitor, home_of, once_in
from tests.support.queued import unanswered, waiting_run

PASSWORD = "s3cret-9"
CARRIER = {
    "name": "gh-main",
    "host": "smpp.example.net",
    "port": "2775",
    "system_id": "amina",
    "password": PASSWORD,
    "tps": "50",
    "added_anyway": "yes",
    "reason": "contract 12",
}


def test_the_page_of_the_simulator_says_what_was_learnt_in_words(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    for learnt, said in (
        ("as_is", "as answers print them"),
        ("hex", "in base 16, and answers in base 10"),
        ("dec", "in base 10, and answers in base 16"),
    ):
        with db.write() as tx:
            tx.execute(sa.update(carriers_table).values(id_format=learnt))
        page = visitor.get("/console/carriers/simulator").text
        assert said in page
        assert "with the service" in page
        assert "1970" not in page, "it came with the service, not in 1970"


def test_a_carrier_is_added_paused_drained_resumed_and_removed(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    visitor.get("/console/carriers")
    assert visitor.post("/console/carriers", CARRIER).status_code == 303
    path = "/console/carriers/gh-main"
    page = visitor.get(path).text
    assert "smpp.example.net" in page
    assert PASSWORD not in page
    with db.read() as tx:
        stored = carriers.carrier_named(tx, "gh-main")
        assert connection_settings(tx, stored, SECRET_KEY).password == PASSWORD
        assert carriers.setting(stored, "tps") == 50
    for do, draining, paused in (
        ("pause", False, True),
        ("drain", True, True),
        ("resume", False, False),
    ):
        assert visitor.post(path, {"do": do, "reason": "maintenance"}).status_code == 303
        with db.read() as tx:
            stored = carriers.carrier_named(tx, "gh-main")
            assert (stored.draining, stored.paused) == (draining, paused)
    assert visitor.post(path, {"do": "drain", "reason": " "}).status_code == 400
    assert visitor.post(path, {"do": "drain", "reason": "it ends"}).status_code == 303
    assert visitor.post(path, {"do": "remove", "reason": "ended"}).status_code == 303
    assert 'href="/console/carriers/gh-main"' not in visitor.get("/console/carriers").text
    done = ("remove", "drain", "resume", "drain", "pause", "add")
    assert operators_did(db) == [f"carrier.{each}" for each in done]
    log = visitor.get("/console/log").text
    assert "Let a carrier drain" in log
    assert PASSWORD not in log


def test_the_list_of_carriers_tells_what_waited_at_the_last_sample(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    carrier_id = open_carrier(db, "gh-main")
    assert 'data-name="Waiting">–</td>' in visitor.get("/console/carriers").text
    sampler = Sampler()
    for waiting in (7, 70, 5_000):  # the first one only begins to count
        with db.write() as tx:
            sampler.take(tx, {carrier_id: MeasuredQueue(3, 4, waiting, 90)}, clock.now_ms())
        clock.move(by_ms=10_000)
    assert 'data-name="Waiting">5\u202f003</td>' in visitor.get("/console/carriers").text


def test_the_same_label_counts_the_same_on_the_list_the_page_and_now(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    carrier_id = open_carrier(db, "gh-main")
    with db.write() as tx:
        for rank_us, count in ((1, 30), (HELD_FROM_US, 2)):
            tx.execute(queue.insert().values(waiting_run(carrier_id, rank_us, count)))
        tx.execute(inflight.insert().values(unanswered(carrier_id)))
    sampler = Sampler()
    for _ in range(2):  # the first one only begins to count
        with db.write() as tx:
            sampler.take(tx, {carrier_id: MeasuredQueue(waiting_bulk=30)}, clock.now_ms())
        clock.move(by_ms=10_000)
    waits = "<dt>Messages waiting</dt><dd>30</dd>"
    page = visitor.get("/console/carriers/gh-main").text
    assert waits in page
    assert "<dt>Messages unanswered</dt><dd>1</dd>" in page
    assert "<dt>Messages held</dt><dd>2</dd>" in page
    assert waits in visitor.get("/console/now").text
    listed = visitor.get("/console/carriers").text
    assert ">Messages waiting</th>" in listed
    assert '<td class="number" data-name="Waiting">30</td>' in listed


def test_a_carrier_with_wrong_fields_is_refused_and_keeps_what_was_typed(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    visitor.get("/console/carriers")
    page = visitor.post("/console/carriers", {**CARRIER, "port": "99999", "host": ""})
    assert page.status_code == 400
    assert "must be an integer from 1 to 65535" in page.text
    assert 'value="gh-main"' in page.text
    assert PASSWORD not in page.text
    assert operators_did(db) == []


def test_a_carrier_that_a_route_leads_to_is_not_removed(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    visitor.get("/console/carriers")
    visitor.post("/console/carriers", CARRIER)
    route = {"do": "set route", "prefix": "233", "carrier": "gh-main", "reason": "start"}
    assert visitor.post("/console/routes", route).status_code == 303
    refused = visitor.post("/console/carriers/gh-main", {"do": "remove", "reason": "ended"})
    assert refused.status_code == 400
    said = "The carrier gh-main still has routes: 233. Set them to another carrier, or remove them."
    assert f'<p class="notice" role="alert">{said}</p>' in refused.text
    assert "<h2>Let it drain</h2>" in refused.text, "it stands on the carrier's page"
    assert visitor.post("/console/carriers/gh-main", {"do": "drain", "reason": "x"}).is_redirect
    again = visitor.post("/console/carriers/gh-main", {"do": "remove", "reason": "ended"})
    assert again.text.count('value="ended"') == 1, "the reason need not be typed again"
    assert operators_did(db) == ["carrier.drain", "route.set", "carrier.add"]


def test_the_page_of_routes_says_which_way_a_text_would_go_and_why(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    asked = visitor.get("/console/routes?to=233201234567").text
    assert "would be refused with no_route" in asked
    route = {"do": "set route", "prefix": "2332", "carrier": "simulator", "reason": "trial"}
    assert visitor.post("/console/routes", route).status_code == 303
    with db.write() as tx:
        current_rates.store(tx, "GH", 2)
        current_rates.store(tx, "233", 3, account_id=amina_id)
    general = visitor.get("/console/routes?to=233201234567").text
    assert "would go to simulator, and cost 2 credits a segment" in general
    assert "The route of prefix 2332 decides" in general
    assert "What simulator charges for it is not known." in general
    assert "The general rate for GH is 2 credits" in general
    own = visitor.get("/console/routes?to=233201234567&account=amina").text
    assert "amina&#39;s own rate for 233 is 3 credits" in own
    with db.write() as tx:
        pricing.set_cost(tx, "simulator", "233", "0.08", "GHS")
    asked = "/console/routes?to=233201234567"
    charged = "simulator charges 0.08 GHS a segment"
    assert f"{charged}. Credits are not sold in GHS" in visitor.get(asked).text
    with db.write() as tx:
        prices.set_price(tx, "GHS", 35, 1_000)
    sold = f"{charged}, and its credits are sold for"
    assert f"{sold} 0.07 GHS: the margin is -0.01 GHS, which is a loss." in visitor.get(asked).text
    of_amina = visitor.get(f"{asked}&account=amina").text
    assert f"{sold} 0.105 GHS: the margin is 0.025 GHS." in of_amina
    at_home = visitor.get("/console/routes?to=0201234567&account=amina").text
    assert "A text to 233201234567 would go to simulator" in at_home, "as by the command"
    wrong = visitor.get("/console/routes?to=12&account=amina")
    assert wrong.status_code == 400
    assert "must be a phone number" in wrong.text
    over = {"do": "remove route", "prefix": "2332", "reason": "over"}
    assert visitor.post("/console/routes", over).status_code == 303
    assert operators_did(db) == ["route.remove", "route.set"]
    log = visitor.get("/console/log").text
    for done in ("Set a route", "Removed a route"):
        assert f'{done}<br><span class="quiet">2332</span>' in log, "which one it was is said"


def test_carriers_that_share_a_route_by_weight_are_shown_with_their_parts(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    for name in ("mtn-a", "mtn-b", "gh-spare"):
        open_carrier(db, name, prefix=None)
    visitor.get("/console/routes")
    route = {"do": "set route", "prefix": "233", "carrier": "mtn-a, mtn-b:30", "reason": "cheaper"}
    refused = visitor.post("/console/routes", route)
    assert refused.status_code == 400
    assert "must name the carriers with a weight first" in refused.text
    assert 'value="mtn-a, mtn-b:30"' in refused.text
    route["carrier"] = "mtn-a:70, mtn-b:30,gh-spare"
    assert visitor.post("/console/routes", route).status_code == 303
    page = visitor.get("/console/routes?to=233201234567").text
    shown = (
        '<div><a href="/console/carriers/mtn-a">mtn-a</a> 70 of 100</div>'
        '<div><a href="/console/carriers/mtn-b">mtn-b</a> 30 of 100</div>'
        '<div>then <a href="/console/carriers/gh-spare">gh-spare</a></div>'
    )
    assert shown in page
    assert shown in visitor.get("/console/carriers/mtn-b").text
    assert "it shares by weight, mtn-a 70, mtn-b 30; then it tries gh-spare." in page
    taker = re.search("70 of 100 go to mtn-a, 30 to mtn-b; this number goes to (.*?)[.]<", page)
    assert taker is not None
    assert f"A text to 233201234567 would go to {taker[1]}, and cost" in page
    with db.write() as tx:
        carriers.pause_carrier(tx, taker[1])
    other = {"mtn-a": "mtn-b", "mtn-b": "mtn-a"}[taker[1]]
    alone = visitor.get("/console/routes?to=233201234567").text
    assert f"would go to {other}, and cost" in alone
    assert f"{taker[1]} is paused" in alone
    assert "this number goes to" not in alone
    with db.read() as tx:
        [entry] = users.operator_entries(tx, PageWanted(9, None))
    assert entry.entry.after == "mtn-a:70, mtn-b:30, gh-spare"


def test_finance_changes_a_wallet_with_a_reason_that_both_logs_tell(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.FINANCE)
    found = visitor.get("/console/money?account=amina")
    assert found.status_code == 303
    path = found.headers["location"]
    visitor.get(path)
    for form in (
        {"do": "grant", "credits": "500", "reason": "welcome"},
        {"do": "adjust credits", "credits": "-20", "reason": "granted twice"},
        {"do": "top up", "amount": "12.50", "reason": "bank transfer"},
        {"do": "adjust money", "amount": "-2.5", "reason": "fee"},
    ):
        once = once_in(visitor.get(path))
        assert visitor.post(path, {**form, "once": once}).status_code == 303
    for form in (
        {"do": "grant", "credits": "many", "reason": "x"},
        {"do": "grant", "credits": "5", "reason": ""},
    ):
        assert visitor.post(path, form).status_code == 400
    with db.read() as tx:
        assert wallet.wallet_of(tx, amina_id).figures == Figures(1_000, 480)
        actions = [
            entry.entry.action for entry in audit_log.page(tx, amina_id, PageWanted(9, None))
        ]
    told = ["wallet.adjust", "wallet.topup", "credits.adjust", "credits.grant"]
    assert actions == operators_did(db) == told
    stranger.sign_in(EMAIL, amina_id)
    assert "Granted SMS credits" in stranger.get(f"{home_of(db, amina_id)}/audit").text


def test_a_statement_is_saved_whose_sums_are_the_ledgers(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    with db.write() as tx:
        ledger.grant(tx, amina_id, 500, "welcome", now_ms=clock.now_ms())
        ledger.topup(tx, amina_id, "12.50", "paid", now_ms=clock.now_ms())
    path = visitor.get("/console/money?account=amina").headers["location"]
    assert "The entries add up to these figures" in visitor.get(path).text
    lines = [line.split(",") for line in visitor.get(f"{path}/statement").text.splitlines()]
    with db.read() as tx:
        entries = account_ledger.page(tx, amina_id, PageWanted(9, None))
    of_types = [line for line in lines if line[1] not in ("line", "opening", "closing")]
    assert sum(int(line[3]) for line in of_types) == sum(entry.credits for entry in entries)
    assert sum(float(line[4]) for line in of_types) * 100 == sum(e.amount_minor for e in entries)
    assert len(visitor.get(f"{path}/entries").text.splitlines()) == 1 + len(entries)
    assert visitor.get(f"{path}?month=2026-13").status_code == 400


def test_money_takes_a_fresh_sign_in(visitor: Visitor, db: Database, amina_id: str) -> None:
    sign_in_operator(visitor, db)
    path = visitor.get("/console/money?account=amina").headers["location"]
    visitor.get(path)
    clock.move(FRESH_MS)
    asked = visitor.post(path, {"do": "grant", "credits": "5", "reason": "welcome"})
    assert asked.status_code == 403
    clock.move(-FRESH_MS)
    with db.read() as tx:
        assert wallet.wallet_of(tx, amina_id).figures == Figures(0, 0)
