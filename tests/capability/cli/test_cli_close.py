"""`heliograph account close` is refused while anything is owed, and then names all of it and what
settles it. The tests also ask what a closed account can no longer do.
"""

import asyncio
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import accounts, campaigns, connect, wallet
from heliograph.accounts.tables import account_history
from heliograph.audit.charges import verify_charges
from heliograph.base import clock, ids
from heliograph.carriers import SubmitOutcome
from heliograph.connect.provision import Provisioned
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.messages.tables import queue
from heliograph.webhooks import endpoints
from tests.support.books import assert_books_agree
from tests.support.capability.campaigns import add_contacts, write_down
from tests.support.capability.commands import BILAL, Run, text
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint, events
from tests.support.factories import SENDER, awaited, issue_key, phones

COMMAND = re.compile(r"heliograph ((?:account|campaign|message|webhook) .*)$")


@pytest.fixture
def account(run: Run) -> str:
    """Returns the id of an account whose wallet is empty, as commands take it."""
    return str(
        run(
            "account", "create", "Amina Foods", "--country", "GH", "--currency", "GHS", "--json"
        ).json["id"]
    )


@pytest.fixture
def settled(house: House) -> Iterator[House]:
    """Yields a house that nothing is awaited of."""
    yield house
    house.db.close()


def raw(text_id: str) -> str:
    found = ids.raw_of_text("acc", text_id) or ids.raw_of_text("cus", text_id)
    assert found is not None
    return found


def told(run: Run, account: str) -> list[list[str]]:
    """Returns the commands that a refusal names, one for each line."""
    refused = run("account", "close", account)
    assert (refused.status, refused.out) == (1, "")
    first, *lines = refused.err.splitlines()
    assert (
        first == f"heliograph: The account {account} cannot be closed yet. Do this first, in this"
        " order:"
    )
    found = [COMMAND.search(line) for line in lines]
    assert lines
    assert all(found), lines
    return [shlex.split(each[1]) for each in found if each is not None]


def proven(db: Database) -> None:
    """Asserts that the books are right, by `ledger verify` and by SQL alone."""
    with db.read() as tx:
        read_one_snapshot(tx)
        assert [*wallet.verify(tx), *verify_charges(tx)] == []
    assert_books_agree(db)


def settle(run: Run, db: Database, account: str) -> Any:
    """Runs each command that the refusal names as it stands there, once, and returns the account as
    it is closed then.
    """
    for command in told(run, account):
        said = run(*command)
        assert said.status == 0, (command, said.err)
    closed = run("account", "close", account, "--json")
    assert closed.status == 0, closed.err
    proven(db)
    return closed.json


def test_an_account_that_owes_nothing_is_closed_and_its_history_says_why(
    run: Run, account: str, db: Database
) -> None:
    closed = run(
        "account", "close", "Amina Foods", "--reason", "contract ended", "--by", "kofi", "--json"
    ).json
    assert (closed["status"], closed["status_reason"], closed["status_by"]) == (
        "closed",
        "contract ended",
        "kofi",
    )
    assert closed["closed_at"] == closed["status_since"] is not None
    assert run("account", "show", account, "--json").json == closed
    [listed] = run("account", "list", "--json").json
    assert (listed["status"], listed["closed_at"]) == ("closed", closed["closed_at"])
    table = run("account", "list").out.splitlines()
    assert "CLOSED AT" in table[0].upper()
    assert closed["closed_at"] in table[1]
    with db.read() as tx:
        kept = tx.execute(sa.select(account_history.c.status, account_history.c.reason)).all()
    assert [tuple(row) for row in kept] == [("closed", "contract ended")]


def test_a_reason_of_two_lines_closes_nothing(run: Run, account: str) -> None:
    assert run("account", "close", account, "--reason", "a\nb").status == 2
    assert run("account", "show", account, "--json").json["status"] == "active"


def test_a_closed_account_is_not_opened_nor_changed_again(
    run: Run, account: str, db: Database
) -> None:
    closed = run("account", "close", account, "--json").json
    since = (
        f"heliograph: The account {account} has been closed since {closed['closed_at']}. A closed"
        " account is not opened again.\n"
    )
    for refused in (
        ("account", "close", account),
        ("account", "resume", account),
        ("account", "suspend", account),
        ("account", "set", account, "--daily-credits", "1"),
        ("account", "set", account, "--low-balance", "1"),
        ("key", "create", "--account", account, "--mode", "live", "--permissions", "all"),
        ("webhook", "add", "https://shop.example/hook", "--account", account, "--events", "all"),
    ):
        said = run(*refused)
        assert (said.status, said.out, said.err) == (1, "", since), refused
    for refused in (
        ("credits", "grant", "--account", account, "--credits", "1", "--reason", "x"),
        ("wallet", "topup", "--account", account, "--amount", "1", "--reason", "x"),
    ):
        said = run(*refused)
        assert (said.status, said.err) == (
            1,
            "heliograph: This account is closed: nothing of it can be changed any more.\n",
        ), refused
    assert run("account", "show", account, "--json").json == closed
    with pytest.raises(accounts.AccountClosed), db.write() as tx:
        connect.provision(tx, raw(account), BILAL, sandbox=True, now_ms=clock.now_ms())


def test_a_closed_account_can_be_renamed_and_so_gives_its_name_back(run: Run, account: str) -> None:
    run("account", "close", account)
    renamed = run("account", "rename", account, "Amina Foods (closed)", "--json").json
    assert (renamed["name"], renamed["status"]) == ("Amina Foods (closed)", "closed")
    assert (
        run("account", "create", "Amina Foods", "--country", "GH", "--currency", "GHS").status == 0
    )


def test_keys_of_both_modes_are_revoked_and_endpoints_disabled_for_good(
    run: Run, account: str, db: Database
) -> None:
    for sandbox in (False, True):
        issue_key(db, raw(account), sandbox=sandbox)
        endpoint(db, raw(account), sandbox=sandbox)
    assert run("account", "close", account).status == 0  # nothing waits for the endpoints
    revoked = [key["revoked_at"] for key in run("key", "list", "--account", account, "--json").json]
    assert len(revoked) == 2
    assert all(revoked)
    listed = run("webhook", "list", "--account", account, "--json").json
    assert [each["status"] for each in listed] == ["disabled", "disabled"]
    assert "has been closed since" in run("webhook", "enable", listed[0]["id"]).err


def test_credits_and_money_are_owed_until_they_are_paid_out_through_the_ledger(
    run: Run, account: str, db: Database
) -> None:
    run("credits", "grant", "--account", account, "--credits", 7, "--reason", "gift")
    run("wallet", "topup", "--account", account, "--amount", "50.25", "--reason", "bank")
    assert (
        "its wallet holds 7 SMS credits and 50.25 GHS: heliograph account pay-out"
        in run("account", "close", account).err
    )
    settle(run, db, account)
    entries = run("wallet", "transactions", "--account", account, "--json").json
    assert [
        (entry["type"], entry["credits"], entry["amount"], entry["description"])
        for entry in entries[:2]
    ] == [("adjustment", 0, -50.25, "account closed"), ("adjustment", -7, 0, "account closed")]


@pytest.mark.parametrize("sandbox", [False, True])
@awaited
async def test_queued_messages_are_owed_until_they_are_canceled_and_paid_back(
    house: House, run: Run, sandbox: bool
) -> None:
    account = text(house.db, house.amina_id)
    if sandbox:
        await asyncio.to_thread(
            run, "account", "pay-out", account, "--reason", "to begin with none"
        )
    await house.send(phones(3), sandbox=sandbox, sender="SANDBOX" if sandbox else SENDER)
    commands = await asyncio.to_thread(told, run, account)
    assert commands == [
        ["message", "cancel", "--account", account],
        ["account", "pay-out", account, "--reason", "account closed"],
    ]
    await asyncio.to_thread(settle, run, house.db, account)
    assert [(row.status, row.error_code, row.refunded) for row in house.messages()] == [
        ("failed", "canceled", 0 if sandbox else 1)
    ] * 3
    assert house.count(queue) == 0


@awaited
async def test_messages_in_doubt_are_owed_until_the_operator_has_asked_the_carrier(
    house: House, run: Run
) -> None:
    account = text(house.db, house.amina_id)
    link = await house.submitted(phones(2))
    on_the_wire = await asyncio.to_thread(told, run, account)
    assert on_the_wire[0] == ["message", "list", "--account", account, "--status", "queued"]
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    commands = await asyncio.to_thread(told, run, account)
    assert commands[0][:6] == ["message", "settle", "--carrier", "carrier", "--account", account]
    await asyncio.to_thread(settle, run, house.db, account)
    assert house.statuses() == ["failed/canceled"] * 2


@awaited
async def test_what_was_sent_owes_nothing_and_its_receipts_come_after_the_closing(
    house: House, run: Run
) -> None:
    account = text(house.db, house.amina_id)
    link = await house.submitted("233201234567")
    [submission] = link.open.values()
    [ref] = link.answer(submission)
    await link.turn.run_once()
    await asyncio.to_thread(settle, run, house.db, account)
    link.receive(ref, submission.recipient)
    await link.turn.run_once()
    assert house.statuses() == ["delivered"]
    proven(house.db)


@pytest.mark.parametrize("status", ["scheduled", "sending", "paused"])
def test_campaigns_that_have_not_ended_are_owed_until_they_are_canceled(
    run: Run, settled: House, status: str
) -> None:
    account, db = text(settled.db, settled.amina_id), settled.db
    add_contacts(db, settled.amina_id, phones(3))
    draft, campaign = (campaigns.text_id(write_down(db, settled.amina_id)) for _ in range(2))
    steps: dict[str, list[tuple[str, ...]]] = {
        "scheduled": [
            ("schedule", campaign, "--at", clock.rfc3339(clock.now_ms() + clock.DAY_MS)[:16])
        ],
        "sending": [("launch", campaign)],
        "paused": [("launch", campaign), ("pause", campaign)],
    }
    for step in steps[status]:
        assert run("campaign", *step).status == 0
    assert told(run, account)[0] == ["campaign", "cancel", campaign]
    settle(run, db, account)
    assert run("campaign", "show", campaign, "--json").json["status"] == "canceled"
    # what was written down only stays so
    assert "suspended" in run("campaign", "launch", draft).err


def test_a_pay_out_that_cannot_be_is_refused_though_nothing_is_held(run: Run, account: str) -> None:
    for reason in ("", "two\nlines"):
        refused = run("account", "pay-out", account, "--reason", reason)
        assert (refused.status, "--reason must" in refused.err) == (2, True)
    assert run("account", "close", account).status == 0
    refused = run("account", "pay-out", account, "--reason", "late")
    assert (refused.status, "has been closed since" in refused.err) == (1, True)


def test_events_that_wait_are_owed_and_so_is_what_settling_will_tell(
    run: Run, account: str, db: Database
) -> None:
    run("credits", "grant", "--account", account, "--credits", 200, "--reason", "gift")
    made, _ = endpoint(db, raw(account), kinds=["wallet.low_balance"])
    disable = ["webhook", "disable", endpoints.text_id(made.id)]
    assert told(run, account)[-1] == disable  # nothing waits yet, and paying out will be told to it
    run("account", "pay-out", account, "--reason", "x")
    assert [event["event"] for event in events(db)] == ["wallet.low_balance"]
    assert told(run, account) == [disable]
    assert "has 1 event waiting for it" in run("account", "close", account).err
    settle(run, db, account)


def test_a_partner_is_closed_after_its_customers_whose_credits_and_money_go_back_to_it(
    run: Run, account: str, db: Database
) -> None:
    run("credits", "grant", "--account", account, "--credits", 100, "--reason", "gift")
    run("wallet", "topup", "--account", account, "--amount", "50", "--reason", "bank")
    with db.write() as tx:
        bilal, test, yen = (
            text_id(
                connect.provision(
                    tx,
                    raw(account),
                    BILAL._replace(external_ref=ref, **more),
                    sandbox=sandbox,
                    now_ms=clock.now_ms(),
                )
            )
            for ref, sandbox, more in (
                ("live", False, {"initial_credits": 30, "initial_balance": 12.5}),
                ("test", True, {"initial_credits": 9}),
                ("yen", False, {"currency": "JPY"}),
            )
        )
    run("wallet", "topup", "--account", yen, "--amount", "700", "--reason", "bank")
    run("credits", "grant", "--account", yen, "--credits", 4, "--reason", "gift")
    pay_out = ("--reason", "account closed")
    assert told(run, account) == [
        ["account", "pay-out", bilal, *pay_out],
        ["account", "close", bilal],
        ["account", "close", test],
        ["account", "pay-out", yen, *pay_out],
        ["account", "close", yen],
        ["account", "pay-out", account, *pay_out],
    ]
    settle(run, db, account)
    entries = run("wallet", "transactions", "--account", account, "--json").json
    assert [(entry["type"], entry["credits"], entry["amount"]) for entry in entries[:4]] == [
        ("adjustment", 0, -50),
        ("adjustment", -104, 0),
        ("transfer_in", 4, 0),
        ("transfer_in", 30, 12.5),
    ]
    # another currency than its partner's
    [paid, *_] = run("wallet", "transactions", "--account", yen, "--json").json
    assert (paid["type"], paid["amount"], paid["currency"]) == ("adjustment", -700, "JPY")
    assert run("account", "show", test, "--json").json["status"] == "closed"


def text_id(made: Provisioned) -> str:
    return str(connect.as_record(made.customer)["id"])


@awaited
async def test_everything_is_told_at_once_and_settled_by_the_commands_as_they_stand_there(
    house: House, run: Run
) -> None:
    account = text(house.db, house.amina_id)
    link = await house.submitted(phones(2))
    link.answer(*link.open.values(), outcome=SubmitOutcome.UNANSWERED)
    await link.turn.run_once()
    await house.send(phones(3))
    await house.send(phones(4), sandbox=True, sender="SANDBOX")
    await asyncio.to_thread(
        run, "wallet", "topup", "--account", account, "--amount", "9", "--reason", "bank"
    )
    with house.db.write() as tx:
        customer = text_id(
            connect.provision(
                tx,
                house.amina_id,
                BILAL._replace(initial_credits=5),
                sandbox=False,
                now_ms=clock.now_ms(),
            )
        )
    add_contacts(house.db, house.amina_id, phones(5))
    campaign = campaigns.text_id(
        campaigns.launch(house.db, write_down(house.db, house.amina_id).id).campaign
    )
    made, _ = endpoint(house.db, house.amina_id)
    refused = await asyncio.to_thread(run, "account", "close", account)
    assert [line.split(" (")[0].split(":")[0].strip() for line in refused.err.splitlines()[1:]] == [
        *[f"its Connect customer {customer}"] * 2,
        f"the campaign {campaign}",
        "2 messages are in doubt with the carrier carrier",
        "7 messages are queued",
        "its wallet holds 990 SMS credits and 9.00 GHS",
        f"the webhook endpoint {endpoints.text_id(made.id)} will be told of the above",
    ]
    assert (
        f"{customer} ('Bilal Stores'): its wallet holds 5 SMS credits: heliograph account pay-out"
        f" {customer} " in refused.err
    )
    await asyncio.to_thread(settle, run, house.db, account)
    assert house.statuses() == ["failed/canceled"] * 9
    assert house.credits() == 0
