"""Storage quotas hold below HTTP: for two at once, contacts' files, campaigns' recipients, and the
operator's commands.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import campaigns, wallet
from heliograph.accounts import quotas, storage_of_keys
from heliograph.accounts.quotas import quotas_of, set_quotas, used_today
from heliograph.accounts.tables import storage_used
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.campaigns.tables import campaign_recipients
from heliograph.campaigns.tables import campaigns as campaigns_table
from heliograph.contacts.tables import contacts
from heliograph.database.database import Database
from heliograph.jobs.pruning import prune_all
from heliograph.messages.tables import sends
from heliograph.plugin.tables import site_logs
from heliograph.wallet.wallet import keys_counted
from tests.support.capability.campaigns import add_contacts, now, write_down
from tests.support.capability.commands import Run
from tests.support.capability.sending import House
from tests.support.factories import awaited, grant, open_account, open_route, phones, send_request

THREADS = 8
LEFT_OVER_S = 5.0
pytestmark = pytest.mark.usefixtures("at_noon")


def allow(db: Database, account_id: str, **octets_of_kinds: int | None) -> None:
    with db.write() as tx:
        set_quotas(
            tx,
            account_id,
            {quotas.StoredKind(kind): octets for kind, octets in octets_of_kinds.items()},
        )


def used(db: Database, account_id: str, kind: quotas.StoredKind, *, sandbox: bool = False) -> int:
    with db.read() as tx:
        return used_today(tx, account_id, clock.now_ms()).get((kind, sandbox), 0)


def count(db: Database, table: sa.Table) -> int:
    with db.read() as tx:
        return int(tx.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def test_many_at_once_store_no_more_than_one_after_the_other(db: Database, amina_id: str) -> None:
    """The test uses threads where a service has processes: the counter's row is the lock. Whoever
    is refused has counted nothing.
    """
    allow(db, amina_id, events=1_000)
    together = Barrier(THREADS)

    def charge(tx: Connection, octets: int) -> None:
        now_ms = clock.now_ms()
        quotas.charge(tx, amina_id, quotas.StoredKind.EVENTS, octets, sandbox=False, now_ms=now_ms)

    def store(number: int) -> int:
        together.wait()
        stored = 0
        for octets in (90, 7) * 10:
            try:
                db.transact(lambda tx: charge(tx, octets))  # noqa: B023
                stored += octets
            except quotas.StorageQuotaReached:
                pass
        return stored

    with ThreadPoolExecutor(THREADS) as pool:
        stored = sum(pool.map(store, range(THREADS)))
    assert stored == used(db, amina_id, quotas.StoredKind.EVENTS)
    assert 1_000 - 7 < stored <= 1_000


@awaited
async def test_keys_of_two_processes_at_once_pass_the_quota_once(postgresql_url: str) -> None:
    house = House(postgresql_url)
    other = House(postgresql_url, like=house)
    try:
        size = storage_of_keys.octets_of("POST /sms/send", "k000")
        allow(house.db, house.amina_id, keys=10 * size)
        requests = [
            send_request(house.amina_id, phone, key=f"k{number:03d}")
            for number, phone in enumerate(phones(60))
        ]
        await asyncio.gather(house.cache.refresh(), other.cache.refresh())
        outcomes = await asyncio.gather(
            *(
                one.acceptor.accept(request)
                for one, request in zip([house, other] * 30, requests, strict=True)
            ),
            return_exceptions=True,
        )
        refused = [
            outcome for outcome in outcomes if isinstance(outcome, quotas.StorageQuotaReached)
        ]
        assert (len(refused), house.count(sends), house.credits()) == (50, 10, 990)
        with house.db.read() as tx:
            assert keys_counted(tx, house.amina_id).used(clock.now_ms(), sandbox=False) == 10 * size
        house.assert_sound()
    finally:
        await other.close()
        await house.close()


@awaited
async def test_a_sandbox_key_is_counted_and_the_wallet_holds_what_it_held(house: House) -> None:
    """The wallet's row is written for its count alone: a partner's for its customer, and in
    sandbox, where nobody pays.
    """
    customer = open_account(house.db, "bilal", credits=50, parent_id=house.amina_id)
    with house.db.read() as tx:
        before = [wallet.wallet_of(tx, account_id) for account_id in (house.amina_id, customer)]
    await house.cache.refresh()
    outcomes = await asyncio.gather(
        house.acceptor.accept(
            send_request(house.amina_id, sandbox=True, key="one", sender="SANDBOX")
        ),
        house.acceptor.accept(
            send_request(
                customer, sandbox=True, key="two", sender="SANDBOX", key_account_id=house.amina_id
            )
        ),
    )
    assert len(outcomes) == 2
    with house.db.read() as tx:
        assert [
            wallet.wallet_of(tx, account_id) for account_id in (house.amina_id, customer)
        ] == before
        keys = keys_counted(tx, house.amina_id)
    now_ms, size = clock.now_ms(), storage_of_keys.octets_of("POST /sms/send", "one")
    assert (keys.used(now_ms, sandbox=True), keys.used(now_ms, sandbox=False)) == (2 * size, 0)


def test_a_file_of_contacts_stops_where_the_quota_is_and_goes_on_when_it_is_raised(
    db: Database, amina_id: str, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "contacts.csv"
    file.write_text("phone,name\n" + "".join(f"{phone},Kofi {phone}\n" for phone in phones(2_500)))
    allow(db, amina_id, contacts=750_000)
    refused = run("contact", "import", str(file), "--account", "amina")
    assert (refused.status, "octets of contacts a day" in refused.err) == (1, True)
    assert count(db, contacts) == 2_000, "whole batches: the rest of the file would be too much"
    assert run("contact", "opt-out", "233209999999", "--account", "amina").status == 0, (
        "nobody is refused to opt out"
    )
    assert run("quota", "set", "amina", "contacts=5MB").status == 0
    assert run("contact", "import", str(file), "--account", "amina").status == 0
    assert count(db, contacts) == 2_501
    size = used(db, amina_id, quotas.StoredKind.CONTACTS)
    assert size < 2_500 * 400, "a million such contacts fit into what every account has"
    assert run("contact", "import", str(file), "--account", "amina").status == 0
    assert used(db, amina_id, quotas.StoredKind.CONTACTS) == size, (
        "what changes nothing takes nothing"
    )


@pytest.mark.parametrize("message", ["hello", "hello {name}"])
def test_an_audience_that_is_too_much_to_write_down_leaves_a_draft_or_fails_at_its_time(
    db: Database, amina_id: str, message: str
) -> None:
    open_route(db)
    grant(db, amina_id, 1_000)
    add_contacts(db, amina_id, [{"phone": phone, "name": "Kofi"} for phone in phones(20)])
    allow(db, amina_id, recipients=1_999)
    draft, due = (write_down(db, amina_id, message=message) for _ in range(2))
    with pytest.raises(quotas.StorageQuotaReached):
        campaigns.launch(db, draft.id)
    assert (now(db, draft).status, count(db, campaign_recipients)) == ("draft", 0)
    with db.write() as tx:
        campaigns.schedule(tx, due.id, clock.now_ms() + 1_000)
    clock.move(2_000)
    assert campaigns.start_due(db) == []
    assert (now(db, due).status, now(db, due).status_reason, count(db, campaign_recipients)) == (
        "failed",
        "storage_quota_reached",
        0,
    )
    allow(db, amina_id, recipients=20_000)
    assert campaigns.launch(db, draft.id).campaign.status == "sending"
    assert used(db, amina_id, quotas.StoredKind.RECIPIENTS) >= 20 * 100


def test_a_file_of_numbers_that_is_too_much_makes_no_campaign(
    db: Database, amina_id: str, run: Run, tmp_path: Path
) -> None:
    open_route(db)
    file = tmp_path / "numbers.csv"
    file.write_text("phone,city\n" + "".join(f"{phone},Accra\n" for phone in phones(50)))
    command = (
        "campaign",
        "create",
        "sale",
        "--account",
        "amina",
        "--sender",
        "AMINA",
        "--message",
        "In {city}",
        "--numbers",
        str(file),
    )
    allow(db, amina_id, recipients=4_000)
    refused = run(*command)
    assert (refused.status, "octets of recipients a day" in refused.err) == (1, True), refused
    assert (count(db, campaign_recipients), count(db, campaigns_table)) == (0, 0)
    allow(db, amina_id, recipients=10_000)
    assert run(*command).status == 0
    assert used(db, amina_id, quotas.StoredKind.RECIPIENTS) == 50 * (100 + len("In Accra"))


def test_the_operator_sees_and_sets_quotas_and_old_counts_go(
    db: Database, amina_id: str, run: Run
) -> None:
    with db.write() as tx:
        quotas.charge(
            tx, amina_id, quotas.StoredKind.LOGS, 500, sandbox=True, now_ms=clock.now_ms()
        )
    listed = {record["kind"]: record for record in run("quota", "show", "amina", "--json").json}
    assert list(listed) == [kind.value for kind in quotas.StoredKind]
    assert listed["logs"] == {
        "account_id": ids.text_of_raw("acc", amina_id),
        "kind": "logs",
        "octets_a_day": 50_000_000,
        "used_today": 0,
        "used_today_sandbox": 500,
        "default": True,
    }
    changed = run("quota", "set", "amina", "logs=2MB", "events=none", "contacts=3", "--json").json
    assert [(record["octets_a_day"], record["default"]) for record in changed[:3]] == [
        (2_000_000, False),
        (None, False),
        (3, False),
    ]
    assert "OCTETS A DAY" in run("quota", "set", "amina", "logs=default", "events=0").out
    with db.read() as tx:
        assert [
            (usage.octets_a_day, usage.is_default) for usage in quotas_of(tx, amina_id)[:3]
        ] == [
            (50_000_000, True),
            (0, False),
            (3, False),
        ]
    for wrong in ("logs", "logs=", "bogs=1MB", "logs=1.5MB", "logs=-1", "logs=1PB"):
        refused = run("quota", "set", "amina", wrong)
        assert (refused.status, "kinds are logs, events" in refused.err) == (2, True), wrong
    assert run("quota", "set", "amina", "logs=999999TB").status == 2
    assert run("quota", "show", "nobody").status == 1

    @awaited
    async def prune() -> None:
        await prune_all(db)
        await db.close_hot()

    prune()
    assert count(db, storage_used) == 1
    clock.move(3 * DAY_MS)
    prune()
    assert count(db, storage_used) == 0


def test_a_customers_quotas_are_shown_and_set_as_its_partners(
    db: Database, amina_id: str, run: Run
) -> None:
    """The keys that its own key uses are an exception."""
    open_account(db, "dede", parent_id=amina_id)
    refused = run("quota", "set", "dede", "logs=2MB")
    assert (refused.status, ids.text_of_raw("acc", amina_id) in refused.err) == (1, True)
    allow(db, amina_id, logs=7)
    changed = {
        record["kind"]: record for record in run("quota", "set", "dede", "keys=3", "--json").json
    }
    assert (changed["logs"]["account_id"], changed["logs"]["octets_a_day"]) == (
        ids.text_of_raw("acc", amina_id),
        7,
    )
    assert (changed["keys"]["account_id"][:4], changed["keys"]["octets_a_day"]) == ("cus_", 3)
    with db.read() as tx:
        assert [
            usage.is_default
            for usage in quotas_of(tx, amina_id)
            if usage.kind is quotas.StoredKind.KEYS
        ] == [True]


def test_a_clock_that_is_behind_counts_in_the_day_that_there_is(
    db: Database, amina_id: str
) -> None:
    allow(db, amina_id, logs=100)
    now_ms = clock.now_ms()
    for at_ms, octets in ((now_ms, 60), (now_ms - DAY_MS, 40)):
        with db.write() as tx:
            quotas.charge(tx, amina_id, quotas.StoredKind.LOGS, octets, sandbox=False, now_ms=at_ms)
    with pytest.raises(quotas.StorageQuotaReached), db.write() as tx:
        quotas.charge(tx, amina_id, quotas.StoredKind.LOGS, 1, sandbox=False, now_ms=now_ms)
    with db.write() as tx:
        quotas.charge(
            tx, amina_id, quotas.StoredKind.LOGS, 100, sandbox=False, now_ms=now_ms + DAY_MS
        )


def test_new_accounts_have_a_cautious_cap_and_customers_their_partners(
    db: Database, amina_id: str, run: Run
) -> None:
    made = run("account", "create", "kofi", "--country", "GH", "--currency", "GHS", "--json").json
    assert made["daily_credits"] == 10_000
    assert (
        run(
            "account",
            "create",
            "ama",
            "--country",
            "GH",
            "--currency",
            "GHS",
            "--daily-credits",
            "none",
            "--json",
        ).json["daily_credits"]
        is None
    )
    assert (
        run(
            "account",
            "create",
            "esi",
            "--country",
            "GH",
            "--currency",
            "GHS",
            "--daily-credits",
            "7",
            "--json",
        ).json["daily_credits"]
        == 7
    )
    assert count(db, site_logs) == 0
