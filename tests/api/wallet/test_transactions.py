"""GET /wallet/transactions lists each change of a wallet, with the figures after it."""

from typing import Any

import pytest
from sqlalchemy.engine import Connection

from heliograph import wallet
from heliograph.base import clock, ids
from heliograph.wallet import ledger
from heliograph.wallet.tables import ledger_entries, wallets
from tests.support.api.cast import Actor
from tests.support.api.service import Service


def transfer(tx: Connection, giver: Actor, taker: Actor, *, credits: int) -> None:
    """Stores a transfer like one between a partner and its customer: it is one entry, and both see
    it.
    """
    after = {}
    for actor, change in ((giver, -credits), (taker, credits)):
        before = wallet.wallet_of(tx, actor.account_id)
        after[actor.name] = before.sms_credits + change
        tx.execute(
            wallets.update()
            .where(wallets.c.account_id == actor.account_id)
            .values(sms_credits=after[actor.name])
        )
    now_ms = clock.now_ms()
    tx.execute(
        ledger_entries.insert().values(
            id=ids.raw_of_number(ids.new_number(now_ms)),
            account_id=giver.account_id,
            counterpart_id=taker.account_id,
            type="transfer_out",
            currency="GHS",
            amount_minor=0,
            credits=-credits,
            balance_after_minor=5_000,
            credits_after=after[giver.name],
            counterpart_balance_after_minor=500,
            counterpart_credits_after=after[taker.name],
            description="Credits",
            created_at_ms=now_ms,
        )
    )


def test_each_change_of_the_wallet_is_listed_with_the_figures_after_it(
    api: Service, amina: Actor
) -> None:
    send = api.send(amina, ["233201234567", "233201234568"])
    charge, topup, grant = api.get(amina, "/wallet/transactions").data
    assert {
        name: charge[name] for name in charge if name not in ("id", "created_at", "description")
    } == {
        "type": "sms_charge",
        "amount": 0,
        "currency": "GHS",
        "credits": -2,
        "balance_after": 50,
        "credits_after": 998,
        "reference": send["send_id"],
    }
    assert (topup["type"], topup["amount"], topup["credits"], topup["balance_after"]) == (
        "topup",
        50,
        0,
        50,
    )
    assert (
        grant["type"],
        grant["amount"],
        grant["credits"],
        grant["credits_after"],
        grant["description"],
    ) == ("credit_grant", 0, 1_000, 1_000, "to begin with")


def test_a_transfer_is_seen_from_both_sides(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    with api.db.write() as tx:
        transfer(tx, amina, bilal, credits=30)
    given, received = (
        api.get(amina, "/wallet/transactions").data[0],
        api.get(bilal, "/wallet/transactions").data[0],
    )
    assert (given["type"], given["credits"], given["credits_after"]) == ("transfer_out", -30, 970)
    assert (
        received["type"],
        received["credits"],
        received["credits_after"],
        received["balance_after"],
    ) == ("transfer_in", 30, 130, 5)
    assert given["id"] == received["id"]
    assert api.get(bilal, "/wallet/transactions", type="transfer_in").ids == [given["id"]]
    assert api.get(bilal, "/wallet/transactions", type="transfer_out").ids == []
    assert (
        api.get(amina, "/wallet/transactions", customer_id=bilal.text_id).ids
        == api.get(bilal, "/wallet/transactions").ids
    )
    assert given["id"] not in api.get(chidi, "/wallet/transactions").ids


def test_a_range_of_time_takes_its_beginning_and_leaves_its_end(api: Service, amina: Actor) -> None:
    for _ in range(3):
        api.move_clock(60_000)
        with api.db.write() as tx:
            ledger.grant(tx, amina.account_id, 1, "one more", now_ms=clock.now_ms())
    third, second, first, *_ = api.get(amina, "/wallet/transactions").data
    found = api.get(
        amina, "/wallet/transactions", since=first["created_at"], until=third["created_at"]
    )
    assert found.ids == [second["id"], first["id"]]
    assert api.get(
        amina, "/wallet/transactions", since=third["created_at"].replace("Z", "+00:00")
    ).ids == [third["id"]]


def test_sandbox_has_no_transactions(api: Service, amina: Actor) -> None:
    reply = api.get(amina.key(sandbox=True), "/wallet/transactions")
    assert (reply.status, reply.body) == (200, {"success": True, "data": [], "next_cursor": None})


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "101"}, "limit"),
        ({"limit": "0"}, "limit"),
        ({"limit": "٣"}, "limit"),
        ({"type": "gift"}, "type"),
        ({"since": "yesterday"}, "since"),
        ({"until": "2026-02-30T00:00:00Z"}, "until"),
        ({"cursor": "AAAA"}, "cursor"),
        ({"page": "2"}, "page"),
        ({"cursor": "é"}, "cursor"),
    ],
)
def test_a_bad_parameter_is_named(
    api: Service, amina: Actor, query: dict[str, str], field: str
) -> None:
    reply = api.get(amina, "/wallet/transactions", **query)
    assert (reply.status, reply.code, reply.reason, reply.bad_fields) == (
        400,
        "INVALID_REQUEST",
        "invalid_query",
        [field],
    )


def test_the_ledger_is_paged_through_entries_of_both_sides(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    for round_ in range(4):
        with api.db.write() as tx:
            transfer(tx, amina, bilal, credits=1)
            ledger.grant(tx, bilal.account_id, 1, f"round {round_}", now_ms=clock.now_ms())
    whole = api.get(bilal, "/wallet/transactions").ids
    assert len(whole) == 2 + 2 * 4
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 3}
    while True:
        reply = api.get(bilal, "/wallet/transactions", **query)
        assert len(reply.ids) <= 3
        seen += reply.ids
        if reply.body["next_cursor"] is None:
            break
        query["cursor"] = reply.body["next_cursor"]
    assert seen == whole


def test_a_batch_is_listed_in_the_order_of_its_figures(api: Service, amina: Actor) -> None:
    body = {"sender": "AMINA", "message": "hi", "recipients": ["233201234567"]}
    api.at_once(*(api.requested("POST", amina, "/sms/send", json=body) for _ in range(40)))
    credits_after = [
        entry["credits_after"]
        for entry in api.get(amina, "/wallet/transactions", type="sms_charge").data
    ]
    assert credits_after == list(range(960, 1_000))
