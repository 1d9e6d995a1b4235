"""POST /connect/customers/{id}/credits moves credits between a partner and its customer."""

from typing import Any

import pytest

from heliograph import accounts, senders, wallet
from heliograph.base import clock, ids
from heliograph.base.clock import DAY_MS
from heliograph.wallet import ledger
from tests.support.api.cast import PHONE, Actor
from tests.support.api.service import Reply, Service
from tests.support.books import assert_books_agree


def move(
    api: Service,
    who: Actor | str,
    customer_id: str,
    credits: Any,
    *,
    key: str | None = None,
    **more: Any,
) -> Reply:
    return api.post(
        who, f"/connect/customers/{customer_id}/credits", {"credits": credits, **more}, key=key
    )


def credits_of(api: Service, *who: Actor) -> list[int]:
    return [api.get(actor, "/balance").body["sms_credits"] for actor in who]


def test_credits_are_moved_to_a_customer_and_back(api: Service, amina: Actor, bilal: Actor) -> None:
    there = move(api, amina, bilal.text_id, 300, reference=" inv-17 ")
    assert there.data | {"transaction_id": "", "created_at": ""} == {
        "transaction_id": "",
        "customer_id": bilal.text_id,
        "credits": 300,
        "sms_credits": 400,
        "credits_remaining": 700,
        "reference": "inv-17",
        "sandbox": False,
        "created_at": "",
    }
    back = move(api, amina, bilal.text_id, -50)
    assert (back.data["credits"], back.data["sms_credits"], back.data["credits_remaining"]) == (
        -50,
        350,
        750,
    )
    assert credits_of(api, amina, bilal) == [750, 350]
    for actor, types in (
        (amina, ["transfer_in", "transfer_out"]),
        (bilal, ["transfer_out", "transfer_in"]),
    ):
        entries = api.get(actor, "/wallet/transactions").data[:2]
        assert [entry["type"] for entry in entries] == types
        assert [entry["id"] for entry in entries] == [
            back.data["transaction_id"],
            there.data["transaction_id"],
        ]
        assert [entry["reference"] for entry in entries] == [None, "inv-17"]
    assert api.get(amina, "/wallet/transactions", type="transfer_in").ids == [
        back.data["transaction_id"]
    ]
    assert_books_agree(api.db)


@pytest.mark.parametrize(
    ("credits", "required", "available"), [(1_001, 1_001, 1_000), (-101, 101, 100)]
)
def test_neither_side_falls_below_zero(
    api: Service, amina: Actor, bilal: Actor, credits: int, required: int, available: int
) -> None:
    reply = move(api, amina, bilal.text_id, credits, key="k-1")
    assert (reply.status, reply.code, reply.reason) == (
        402,
        "INSUFFICIENT_CREDITS",
        "insufficient_credits",
    )
    assert (reply.error["required"], reply.error["available"]) == (required, available)
    assert credits_of(api, amina, bilal) == [1_000, 100]
    assert (
        move(api, amina, bilal.text_id, 1_000 if credits > 0 else -100, key="k-1").status == 200
    ), "the key is free"
    assert_books_agree(api.db)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"credits": 0},
        {"credits": 1.5},
        {"credits": "5"},
        {"credits": True},
        {"credits": 10**15},
        {"credits": None},
    ],
)
def test_a_number_that_cannot_be_moved_is_refused(
    api: Service, amina: Actor, bilal: Actor, body: dict[str, Any]
) -> None:
    reply = api.post(
        amina, f"/connect/customers/{bilal.text_id}/credits", {**body, "reference": "x" * 129}
    )
    assert (reply.status, reply.reason, reply.bad_fields) == (
        400,
        "invalid_field",
        ["credits", "reference"],
    )


def test_what_a_wallet_cannot_hold_is_refused(api: Service, amina: Actor, bilal: Actor) -> None:
    with api.db.write() as tx:
        ledger.grant(tx, bilal.account_id, wallet.CREDITS_MAX - 100, "all there are", now_ms=0)
    reply = move(api, amina, bilal.text_id, 1)
    assert (reply.status, reply.bad_fields) == (400, ["credits"])


def test_nobody_elses_customer_is_found(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    for who, customer_id in (
        (chidi, bilal.text_id),
        (amina, chidi.text_id),
        (amina, ids.new("cus")),
        (amina, "x" * 2_000),
        (amina, bilal.text_id[4:]),
        (bilal, bilal.text_id),
        (amina, bilal.text_id.upper()),
        (amina.key(sandbox=True), bilal.text_id),
    ):
        for key in (None, "k-1"):
            assert (reply := move(api, who, customer_id, 1, key=key)).reason == "no_such_record", (
                reply
            )
    assert credits_of(api, amina, bilal, chidi) == [1_000, 100, 100]


def test_in_sandbox_only_the_customers_figures_change(api: Service, amina: Actor) -> None:
    sandbox = amina.key(sandbox=True)
    dede = api.post(
        sandbox,
        "/connect/customers",
        {"full_name": "Dede", "phone": "233201234567", "country_code": "GH"},
    ).data["id"]
    moved = move(api, sandbox, dede, 5_000, reference="r")
    assert moved.data | {"created_at": ""} == {
        "transaction_id": None,
        "customer_id": dede,
        "credits": 5_000,
        "sms_credits": 5_000,
        "credits_remaining": 1_000,
        "reference": "r",
        "sandbox": True,
        "created_at": "",
    }
    refused = move(api, sandbox, dede, -5_001)
    assert (refused.status, refused.error["required"], refused.error["available"]) == (
        402,
        5_001,
        5_000,
    )
    assert (
        move(api, sandbox, dede, -4_999).data["sms_credits"]
        == api.get(sandbox, f"/connect/customers/{dede}").data["sms_credits"]
        == 1
    )
    assert credits_of(api, amina) == [1_000]
    assert_books_agree(api.db)


def test_a_key_moves_once_and_belongs_to_the_customer_it_moved_to(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    other = api.post(
        amina,
        "/connect/customers",
        {"full_name": "Dede", "phone": "233201234567", "country_code": "GH"},
    ).data["id"]
    first = move(api, amina, bilal.text_id, 10, key="k-1")
    again = move(api, amina, bilal.text_id, 10, key="k-1")
    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    assert move(api, amina, bilal.text_id, 11, key="k-1").reason == "idempotency_key_reused"
    assert move(api, amina, other, 10, key="k-1").data["sms_credits"] == 10
    assert credits_of(api, amina, bilal) == [980, 110]


def cap(api: Service, who: Actor, credits: int) -> None:
    with api.db.write() as tx:
        accounts.change(tx, who.account_id, daily_credits=credits)
    api.refresh()


def test_what_is_moved_counts_toward_the_partners_daily_credits(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    """Otherwise, a key makes customers, and each of them may spend as much again."""
    api.move_clock((DAY_MS * 3 // 2 - clock.now_ms() % DAY_MS) % DAY_MS)
    cap(api, amina, 500)
    assert move(api, amina, bilal.text_id, 300).status == 200
    for body in ({"initial_sms_credits": 201}, {"initial_sms_credits": 201, "external_ref": "x"}):
        refused = api.post(
            amina,
            "/connect/customers",
            {"full_name": "Dede", "phone": PHONE, "country_code": "GH", **body},
        )
        assert (refused.status, refused.code, refused.reason) == (
            429,
            "RATE_LIMITED",
            "daily_cap_reached",
        ), refused
        assert 0 < int(refused.headers["Retry-After"]) <= DAY_MS // 2_000 + 1
    assert len(api.get(amina, "/connect/customers").data) == 1, "none was made"
    made = api.post(
        amina,
        "/connect/customers",
        {"full_name": "Dede", "phone": PHONE, "country_code": "GH", "initial_sms_credits": 150},
    )
    assert made.status == 200
    assert move(api, amina, bilal.text_id, 51).reason == "daily_cap_reached"
    send = {
        "sender": "AMINA",
        "message": "hello",
        "recipients": [str(233_200_000_000 + number) for number in range(51)],
    }
    assert api.post(amina, "/sms/send", send).reason == "daily_cap_reached", (
        "its own sends count with them"
    )
    assert (
        api.post(amina, "/sms/send", {**send, "recipients": send["recipients"][:50]}).status == 200
    )
    assert credits_of(api, amina, bilal) == [500, 400]
    api.move_clock(DAY_MS)
    assert move(api, amina, bilal.text_id, 450).status == 200, "another day"
    assert_books_agree(api.db)


def test_taking_back_gives_back_what_was_moved_that_day_and_is_left(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    api.move_clock((DAY_MS * 3 // 2 - clock.now_ms() % DAY_MS) % DAY_MS)
    cap(api, amina, 100)
    assert move(api, amina, bilal.text_id, 100).status == 200
    assert move(api, amina, bilal.text_id, -150).status == 200, "of which 50 are of earlier days"
    assert move(api, amina, bilal.text_id, 100).status == 200
    assert move(api, amina, bilal.text_id, 1).reason == "daily_cap_reached"
    with api.db.write() as tx:
        senders.approve(
            tx,
            senders.register(
                tx, bilal.account_id, "BILAL", sandbox=False, now_ms=clock.now_ms()
            ).id,
            now_ms=clock.now_ms(),
        )
    api.refresh()
    send = {
        "sender": "BILAL",
        "message": "hello",
        "recipients": [str(233_200_000_000 + number) for number in range(60)],
    }
    assert api.post(bilal, "/sms/send", send).status == 200
    assert move(api, amina, bilal.text_id, -90).status == 200, (
        "of which 60 were spent, and others are taken in their place"
    )
    assert move(api, amina, bilal.text_id, 41).reason == "daily_cap_reached"
    assert move(api, amina, bilal.text_id, 40).status == 200
    assert_books_agree(api.db)
