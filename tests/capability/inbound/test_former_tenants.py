"""A STOP to a shared number from a phone that nobody has texted lately may be meant for any who
ever did, and for none who did not.
"""

import pytest
import sqlalchemy as sa

from heliograph import senders
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.base.errors import ServiceError
from heliograph.base.paging import PageWanted
from heliograph.inbound import add_number, as_inbound_record, set_catch_all
from heliograph.inbound.read import inbound_page, newest_inbound
from heliograph.messages.tables import answering_sends
from heliograph.opt_outs import OptOutOwner, OptOutSource, suppress
from heliograph.opt_outs.read import opt_outs_of
from tests.support.capability.inbox import written
from tests.support.capability.line import Line
from tests.support.capability.sending import House
from tests.support.capability.sent_messages import store_sent
from tests.support.capability.webhooks import endpoint, events
from tests.support.factories import PHONE, awaited, grant, open_account

SHARED = "4568"
OUT = {(SHARED, OptOutSource.KEYWORD)}
WHOLE = ("", OptOutSource.KEYWORD)


class Tenants:
    """Stands for amina, bilal and chidi, who share a number, and have texted PHONE from it ten days
    ago, but for chidi. Amina has also texted it from her name since.
    """

    def __init__(self, house: House) -> None:
        self.line = Line(house)
        self.db = house.db
        self.ids = {"amina": house.amina_id}
        self.ids |= {name: open_account(house.db, name) for name in ("bilal", "chidi")}
        now_ms = clock.now_ms()
        with house.db.write() as tx:
            add_number(tx, SHARED, "carrier", None, now_ms=now_ms)
            for account_id in self.ids.values():
                record = senders.register(tx, account_id, SHARED, sandbox=False, now_ms=now_ms)
                senders.approve(tx, record.id, now_ms=now_ms)
            for name in ("amina", "bilal"):
                store_sent(tx, self.ids[name], SHARED, PHONE, at_ms=now_ms - 10 * DAY_MS)
            store_sent(tx, self.ids["chidi"], "CHIDI", PHONE, at_ms=now_ms - DAY_MS)
            store_sent(tx, self.ids["chidi"], SHARED, PHONE, at_ms=now_ms, sandbox=True)
        for name, account_id in self.ids.items():
            grant(house.db, account_id, 100)
            if name != "amina":  # she listens already
                endpoint(house.db, account_id, kinds=["contact.opted_out"])

    async def close(self) -> None:
        await self.line.close()

    def out(self, name: str) -> set[tuple[str, OptOutSource]]:
        with self.db.read() as tx:
            found = opt_outs_of(tx, OptOutOwner(self.ids[name], False), PHONE)
        return {(each.scope.sender, each.source) for each in found}


@pytest.fixture
def tenants(house: House) -> Tenants:
    return Tenants(house)


@awaited
async def test_everybody_who_has_ever_texted_the_phone_heeds_stop_and_nobody_sees_it(
    tenants: Tenants,
) -> None:
    house = tenants.line.house
    await house.send([PHONE])
    await tenants.line.says("hello", "Stop!", to=SHARED)
    assert [tenants.out(name) for name in tenants.ids] == [OUT, OUT, set()]
    assert house.statuses()[-1] == "queued", "her name is another sender"
    refused = await house.tried([PHONE], sender=SHARED)
    assert isinstance(refused, ServiceError)
    with house.db.read() as tx:
        for account_id in tenants.ids.values():
            assert inbound_page(tx, account_id, PageWanted(10, None), sandbox=False) == []
        unowned = newest_inbound(tx, limit=10, unowned=True)
    assert [(each.text, each.keyword) for each in unowned] == [("Stop!", "stop"), ("hello", None)]
    told = [each["data"] for each in events(house.db)]
    assert [(each["sender"], each["keyword"], each["inbound_id"]) for each in told] == [
        (SHARED, "stop", None)
    ] * 2
    assert house.woken == [{house.carrier_id}], "nobody confirms it: each of them would"


@awaited
async def test_start_lifts_what_such_a_stop_has_made_and_nothing_else(tenants: Tenants) -> None:
    with tenants.db.write() as tx:
        owner, now_ms = OptOutOwner(tenants.ids["bilal"], False), clock.now_ms()
        suppress(tx, owner, [PHONE], source=OptOutSource.KEYWORD, now_ms=now_ms)
    await tenants.line.says("STOP", to=SHARED)
    await tenants.line.says("start", to=SHARED)
    assert tenants.out("amina") == set()
    assert tenants.out("bilal") == {("", OptOutSource.KEYWORD)}, "it was another number's"
    await tenants.line.says("help", to=SHARED)
    assert [tenants.out(name) for name in ("amina", "chidi")] == [set(), set()]


@awaited
async def test_the_catch_all_account_heeds_it_as_its_own_and_the_others_too(
    tenants: Tenants,
) -> None:
    with tenants.db.write() as tx:
        set_catch_all(tx, SHARED, None, tenants.ids["amina"], now_ms=clock.now_ms())
    await tenants.line.says("stop", to=SHARED)
    assert tenants.out("amina") == {("", OptOutSource.KEYWORD)}
    assert (tenants.out("bilal"), tenants.out("chidi")) == (OUT, set())


@awaited
async def test_whoever_has_texted_the_phone_lately_is_meant_alone(tenants: Tenants) -> None:
    with tenants.db.write() as tx:
        store_sent(tx, tenants.ids["bilal"], SHARED, PHONE, at_ms=clock.now_ms() - DAY_MS)
    await tenants.line.says("stop", to=SHARED)
    assert tenants.out("bilal") == {("", OptOutSource.KEYWORD)}
    assert (tenants.out("amina"), tenants.out("chidi")) == (set(), set())


@awaited
async def test_a_stop_that_comes_once_more_is_a_text_of_who_has_texted_the_phone_since(
    tenants: Tenants,
) -> None:
    stop, hello = written("STOP", 7_001, to=SHARED), written("hello", 7_002, to=SHARED)
    now_ms = clock.now_ms()
    for later_ms, name in enumerate(("bilal", "amina")):
        with tenants.db.write() as tx:
            store_sent(tx, tenants.ids[name], SHARED, PHONE, at_ms=now_ms - 10 + later_ms)
        await tenants.line.carries(stop, hello, stop)
    assert [tenants.out(name) for name in tenants.ids] == [{WHOLE}, {WHOLE}, set()]
    seen = {}
    with tenants.db.read() as tx:
        for name, account_id in tenants.ids.items():
            found = inbound_page(tx, account_id, PageWanted(10, None), sandbox=False)
            seen[name] = {as_inbound_record(each)["id"]: str(each.text) for each in found}
        confirmations = set(tx.scalars(sa.select(answering_sends.c.inbound_id)))
    assert [sorted(texts.values()) for texts in seen.values()] == [
        ["STOP"],
        ["STOP", "hello"],
        [],
    ]
    named = {each["account_id"]: each["data"]["inbound_id"] for each in events(tenants.db)}
    for name in ("amina", "bilal"):
        told = named[ids.text_of_raw("acc", tenants.ids[name])]
        assert seen[name][told] == "STOP"
        assert ids.raw_of_text("inb", told) in confirmations
