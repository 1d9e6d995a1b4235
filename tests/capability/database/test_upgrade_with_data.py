"""A database that is full, with the schema of an earlier version, is upgraded. It loses
nothing, and this version works with it.
"""

import pytest
import sqlalchemy as sa

from heliograph.audit.audit import audit
from heliograph.base import clock
from heliograph.campaigns.advance import Advancer
from heliograph.console.pages import PAGES
from heliograph.console.seen_pages.seen_portal import FILES, SEEN
from heliograph.database import migrate, schema
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.jobs.ledger_hours import add_up_hour
from heliograph.messages.accept import Chunker
from heliograph.messages.accept.response import response_of_send
from heliograph.messages.tables import messages
from heliograph.opt_outs import OptOutOwner, OptOutSource
from heliograph.opt_outs.read import find_suppressed
from heliograph.wallet.verify_hours import verify_hours
from tests.support.api.inbound_texts import store_inbound
from tests.support.capability.campaigns import now
from tests.support.capability.doubtful import Beside
from tests.support.capability.furnished import (
    BACK,
    KEPT,
    OPTED_OUT,
    OUT_BY_FILE,
    OUT_BY_KEY,
    OUT_BY_USER,
    OUT_IN_SANDBOX,
    OUT_LATER,
    Furnished,
    furnish,
)
from tests.support.capability.sending import House
from tests.support.console.opened_console import opened_console
from tests.support.console.operators import member_of, own_keyword, own_number
from tests.support.services.earlier_schema import bring_to, columns_of, replace_rows, rows_of

BEFORE = "0037"
LOOKS_MAX = 20
# what people's work fills, and what migrations since then have read, or given columns and indexes
CHANGED = (
    *("accounts", "users", "members", "customers", "wallets", "ledger_entries"),
    *("carriers", "routes", "rates", "sends", "messages", "queue", "inflight", "carrier_refs"),
    *("unmatched_receipts", "operator_decisions", "contacts", "opt_outs", "opt_out_changes"),
    *("senders", "sites", "webhook_endpoints", "webhook_events", "webhook_queue", "campaigns"),
    *("campaign_recipients", "service_samples", "rollups", "ledger_hours", "idempotency_keys"),
    *("alert_rules", "watched_wallets", "user_sessions"),
)


def upgraded(house: House, url: str) -> House:
    """Returns a house in another database, which had the earlier schema and the rows of this one,
    and was upgraded. Asserts that it has kept them all.
    """
    earlier = Database(url)
    bring_to(earlier, BEFORE)
    columns = columns_of(earlier)
    rows = rows_of(house.db, columns)
    assert {name for name in CHANGED if not rows[name]} == set()
    replace_rows(earlier, columns, rows)
    assert rows_of(earlier, columns) == rows
    migrate.upgrade(url)
    with earlier.read() as tx:
        assert schema.is_current(tx)
    assert rows_of(earlier, columns) == rows
    earlier.close()
    return House(url, like=house)


def assert_who_has_opted_out_is_left_alone(house: House) -> None:
    with house.db.read() as tx:
        of_live, of_sandbox = (
            find_suppressed(
                tx, OptOutOwner(house.amina_id, sandbox), (*OPTED_OUT, OUT_IN_SANDBOX, BACK, KEPT)
            )
            for sandbox in (False, True)
        )
    assert of_live == {
        OUT_BY_KEY: OptOutSource.API,
        OUT_BY_USER: OptOutSource.PORTAL,
        OUT_BY_FILE: OptOutSource.IMPORT,
        OUT_LATER: OptOutSource.API,
    }
    assert of_sandbox == {OUT_IN_SANDBOX: OptOutSource.API}
    asked = [*OPTED_OUT, BACK]
    answer = response_of_send(Beside(house).do(lambda there: there.send(asked)).send)
    assert [each["reason"] for each in answer["rejected"]] == ["opted_out"] * len(OPTED_OUT)
    assert answer["accepted"] == 1


def assert_the_campaign_that_was_under_way_ends(house: House, made: Furnished) -> None:
    async def expand(there: House) -> None:
        advancer = Advancer(there.db, Chunker(there.cache, there.queue), there.woken.append)
        for _ in range(LOOKS_MAX):
            await there.cache.refresh()
            await advancer.once()
            if now(there.db, made.launched).expanded:
                return
        raise AssertionError("not all of them have become messages")

    Beside(house).do(expand)
    of_group = sa.select(messages.c.recipient).where(
        messages.c.send_id.in_(
            sa.text("SELECT id FROM sends WHERE group_id = :group").bindparams(
                group=made.launched.group_id
            )
        )
    )
    with house.db.read() as tx:
        reached = {str(each) for each in tx.execute(of_group).scalars()}
    assert {KEPT, BACK} <= reached
    assert not reached & {*OPTED_OUT, OUT_IN_SANDBOX}


def assert_the_books_are_right(house: House) -> None:
    while add_up_hour(house.db):
        pass
    house.assert_sound()
    with house.db.read() as tx:
        read_one_snapshot(tx)
        assert audit(tx).findings == []
        assert verify_hours(tx, clock.now_ms()) == []


def assert_every_page_of_the_console_opens(house: House, made: Furnished) -> None:
    with house.db.write() as tx:
        text = store_inbound(tx, house.amina_id)
    known = {
        **made.there._asdict(),
        "carrier": "carrier",
        "message": made.messages[0],
        "sheet": made.sheet,
        "recipient": made.recipient,
        "keyword": own_keyword(house.db, house.amina_id),
        "inbound": text,
        "number": own_number(house.db, house.amina_id),  # the first version had no numbers
        "user": member_of(house.db, house.amina_id),
    }
    with opened_console(house.db) as visitor:
        for page in PAGES:
            if page.is_form or page.path.startswith(SEEN) or page.path.endswith(FILES):
                continue
            path = page.path.format(**known)
            answer = visitor.get(path)
            while answer.status_code == 303:
                answer = visitor.get(answer.headers["location"])
            assert answer.status_code == 200, f"{path}: {answer.text}"
        account = visitor.get(f"/console/accounts/{made.there.account}").text
        assert "amina.example" in account


@pytest.mark.usefixtures("quick_hashes")
def test_a_full_database_is_upgraded_and_works(database_url: str, bare_url_beside: str) -> None:
    before = House(database_url)
    made = furnish(before)
    house = upgraded(before, bare_url_beside)
    assert house.credits() == before.credits()
    assert_who_has_opted_out_is_left_alone(house)
    assert_the_campaign_that_was_under_way_ends(house, made)
    assert_the_books_are_right(house)
    assert_every_page_of_the_console_opens(house, made)
    for each in (before, house):
        each.db.close()
