"""Commands show and change numbers and the texts that came to them. The tests also ask what becomes
of texts after their days, and when a person asks.
"""

import json

import sqlalchemy as sa

from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.base.paging import PageWanted
from heliograph.carriers import HandsetText, PartOf
from heliograph.database.database import Database
from heliograph.inbound.receive.record import record
from heliograph.inbound.tables import inbound, inbound_parts, numbers
from heliograph.jobs.retention import retain
from heliograph.messages.retention import read_retention
from heliograph.text import GSM_7
from tests.support.capability.commands import Run
from tests.support.factories import awaited, open_account, open_carrier

PHONE, OTHER = "233201234567", "233201234568"
PAST_MS = 8 * DAY_MS


async def came(
    db: Database, carrier_id: int, sender: str, to: str, text: str, at_ms: int | None = None
) -> None:
    digest = f"{hash((sender, to, text)) & (1 << 128) - 1:032x}"
    arrived = HandsetText(
        sender=sender,
        recipient=to,
        alphabet=GSM_7,
        octets=text.encode(),
        part=None,
        digest=digest,
        token=None,
    )
    async with db.hot() as tx:
        await record(tx, carrier_id, [arrived], at_ms or clock.now_ms())


def kept(db: Database) -> list[tuple[str | None, str | None]]:
    with db.read() as tx:
        columns = inbound.c
        query = sa.select(columns.sender, columns.text).order_by(columns.id)
        return [(row[0], row[1]) for row in tx.execute(query)]


def test_a_number_is_added_listed_and_removed(db: Database, run: Run) -> None:
    amina_id = open_account(db)
    open_carrier(db, "gh-main")
    open_carrier(db, "gh-spare", prefix=None)
    added = run("number", "add", "4567", "--carrier", "gh-main", "--account", "amina", "--json")
    made = json.loads(added.out)
    assert (made["number"], made["carrier"]) == ("4567", "gh-main")
    assert made["account_id"].startswith("acc_")
    again = run("number", "add", "4567", "--carrier", "gh-main")
    assert again.status == 2, again
    assert "4567 of the carrier gh-main is there already" in again.err
    wrong = run("number", "add", "45x7", "--carrier", "gh-main")
    assert "must have 3 to 15 digits" in wrong.err
    assert run("number", "add", "4567", "--carrier", "gh-spare").status == 0
    listed = json.loads(run("number", "list", "--json").out)
    assert {(each["number"], each["carrier"], each["account_id"]) for each in listed} == {
        ("4567", "gh-main", made["account_id"]),
        ("4567", "gh-spare", None),
    }
    table = run("number", "list").out
    assert all(each in table for each in ("OPT OUT SCOPE", "FIRST WORD")), "how keywords count"
    which = run("number", "remove", "4567")
    assert "gh-main, gh-spare have" in which.err
    assert run("number", "remove", "4567", "--carrier", "gh-main").status == 0
    assert run("number", "remove", "4567").status == 0
    assert "There is no number" in run("number", "remove", "4567").err
    with db.read() as tx:
        told = audit_log.page(tx, amina_id, PageWanted(10, None))
    assert [(each.entry.action, each.entry.record) for each in told] == [
        ("number.remove", made["id"]),
        ("number.add", made["id"]),
    ]


def removed_of(db: Database, account_id: str) -> list[str | None]:
    """Returns the numbers that an account's audit log says it has lost."""
    with db.read() as tx:
        told = audit_log.page(tx, account_id, PageWanted(10, None))
    return [each.entry.detail for each in told if each.entry.action == "number.remove"]


def test_numbers_go_with_their_carrier_and_their_accounts_are_told(db: Database, run: Run) -> None:
    amina_id, bilal = open_account(db), open_account(db, "bilal")
    open_carrier(db, "gh-main")
    open_carrier(db, "gh-spare", prefix=None)
    run("number", "add", "4567", "--carrier", "gh-main", "--account", "amina")
    run("number", "add", "4568", "--carrier", "gh-main")
    run("number", "add", "4569", "--carrier", "gh-main")
    run("number", "set", "4569", "--catch-all", "bilal")
    run("number", "add", "4567", "--carrier", "gh-spare", "--account", "bilal")
    refused = run("carrier", "remove", "gh-main")
    assert "still has routes" in refused.err
    assert (removed_of(db, amina_id), removed_of(db, bilal)) == ([], [])
    run("route", "remove", "")
    assert run("carrier", "remove", "gh-main").status == 0
    with db.read() as tx:
        assert tx.execute(sa.select(sa.func.count()).select_from(numbers)).scalar_one() == 1
    assert (removed_of(db, amina_id), removed_of(db, bilal)) == (["4567"], ["4569"])


@awaited
async def test_the_operator_sees_whose_texts_came_and_which_are_nobodys(
    db: Database, run: Run
) -> None:
    open_account(db)
    carrier_id = open_carrier(db, "gh-main")
    run("number", "add", "4567", "--carrier", "gh-main", "--account", "amina")
    await came(db, carrier_id, PHONE, "4567", "=1+1 <b>hello</b>")
    await came(db, carrier_id, OTHER, "9999", "whose?")
    listed = json.loads(run("inbound", "list", "--json").out)
    assert [(each["from"], each["to"], each["text"]) for each in listed] == [
        (OTHER, "9999", "whose?"),
        (PHONE, "4567", "=1+1 <b>hello</b>"),
    ]
    assert listed[1]["complete"] is True
    assert listed[1]["carrier"] == "gh-main"
    of_amina = json.loads(run("inbound", "list", "--account", "amina", "--json").out)
    assert [each["from"] for each in of_amina] == [PHONE]
    assert of_amina[0]["account_id"].startswith("acc_")
    nobodys = json.loads(run("inbound", "list", "--unowned", "--json").out)
    assert [(each["from"], each["account_id"]) for each in nobodys] == [(OTHER, None)]
    assert "hello" in run("inbound", "list", "--limit", "2").out
    for each in listed:
        assert json.loads(run("inbound", "show", each["id"], "--json").out) == each
    missing = run("inbound", "show", "inb_1")
    assert (missing.status, missing.err) == (1, "heliograph: There is no such inbound text.\n")
    await db.close_hot()


@awaited
async def test_texts_are_erased_after_their_days_and_deleted_after_more(db: Database) -> None:
    carrier_id = open_carrier(db, "gh-main")
    now_ms = clock.now_ms()
    await came(db, carrier_id, PHONE, "4567", "long ago", now_ms - 50 * DAY_MS)
    await came(db, carrier_id, PHONE, "4567", "old", now_ms - PAST_MS)
    await came(db, carrier_id, PHONE, "4567", "new", now_ms)
    await retain(db, read_retention(7, 40))
    assert kept(db) == [(None, None), (PHONE, "new")]
    with db.read() as tx:
        pdus = tx.execute(sa.select(inbound.c.pdu).order_by(inbound.c.id)).scalars().all()
    assert pdus[0] is None
    assert pdus[1] is not None
    await db.close_hot()


@awaited
async def test_a_number_is_erased_from_what_it_sent_to_the_account_or_to_nobody(
    db: Database, run: Run
) -> None:
    open_account(db)
    open_account(db, "kofi", sender=None)
    carrier_id = open_carrier(db, "gh-main")
    for number, account in (("4567", "amina"), ("4568", "kofi")):
        run("number", "add", number, "--carrier", "gh-main", "--account", account)
    await came(db, carrier_id, PHONE, "4567", "to amina")
    await came(db, carrier_id, OTHER, "4567", "call 020 123 4567")
    await came(db, carrier_id, OTHER, "4567", "nothing of it")
    await came(db, carrier_id, PHONE, "4568", "to kofi")
    await came(db, carrier_id, PHONE, "9999", "to nobody")
    for as_dialled in (f"0{PHONE[3:]}", f"00{PHONE}"):
        await came(db, carrier_id, as_dialled, "4567", "to amina again")
        await came(db, carrier_id, as_dialled, "9999", "to nobody again")
    erased = run("erase", PHONE, "--account", "amina", "--yes")
    assert erased.status == 0, erased
    assert kept(db) == [
        (None, None),
        (OTHER, None),
        (OTHER, "nothing of it"),
        (PHONE, "to kofi"),
        *[(None, None)] * 5,
    ]
    with db.read() as tx:
        assert tx.execute(sa.select(sa.func.count()).select_from(inbound_parts)).scalar_one() == 0
    await db.close_hot()


@awaited
async def test_a_part_that_waits_is_erased_where_its_carrier_leaves_the_country_code_out(
    db: Database, run: Run
) -> None:
    open_account(db)
    carrier_id = open_carrier(db, "gh-main")
    run("number", "add", "4567", "--carrier", "gh-main", "--account", "amina")
    for place, sender in enumerate((PHONE, OTHER)):
        part = HandsetText(
            sender=sender[3:],
            recipient="4567",
            alphabet=GSM_7,
            octets=b"the first part of two",
            part=PartOf(reference=7, total=2, number=1),
            digest=f"{place:032x}",
            token=None,
            is_national=True,
        )
        async with db.hot() as tx:
            await record(tx, carrier_id, [part], clock.now_ms())
    assert run("erase", PHONE, "--account", "amina", "--yes").status == 0
    with db.read() as tx:
        assert tx.execute(sa.select(inbound_parts.c.sender)).scalars().all() == [OTHER[3:]]
    await db.close_hot()
