"""GET and POST /connect/customers and GET /connect/customers/{id} provision customers, and say who
sees whom.
"""

from typing import Any

import pytest

from heliograph import accounts, keys
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest
from tests.support.api.cast import PHONE, TIER, Actor
from tests.support.api.service import Reply, Service
from tests.support.books import assert_books_agree

CUSTOMERS = "/connect/customers"
DEDE = {"full_name": "Dede Stores", "phone": "233209876543", "country_code": "GH"}


def provision(api: Service, who: Actor | str, **more: Any) -> Reply:
    return api.post(who, CUSTOMERS, {**DEDE, **more})


def key_of(api: Service, customer: dict[str, Any], *, sandbox: bool = False) -> str:
    """Returns a key of the customer's own, as the operator issues it."""
    with api.db.write() as tx:
        account = accounts.find(tx, customer["id"])
        return keys.issue(
            tx,
            account.id,
            name="own",
            sandbox=sandbox,
            tier=TIER[0],
            permissions=["all"],
            now_ms=clock.now_ms(),
        ).key


def held(api: Service, who: Actor | str, **query: Any) -> tuple[float, int]:
    reply = api.get(who, "/balance", **query)
    return reply.body["wallet"]["balance"], reply.body["sms_credits"]


def test_a_customer_is_made_and_found(api: Service, amina: Actor, chidi: Actor) -> None:
    made = provision(
        api,
        amina,
        email="dede@dede.example",
        external_ref=" shop-7 ",
        label="Accra",
        country_code="gh",
        phone="020 987 6543",
    )
    assert (made.status, made.body["created"], "warnings" in made.body) == (200, True, False)
    assert made.data | {"id": "", "created_at": ""} == {
        "id": "",
        "external_ref": "shop-7",
        "label": "Accra",
        "full_name": "Dede Stores",
        "phone": "233209876543",
        "country_code": "GH",
        "email": "dede@dede.example",
        "wallet": {"balance": 0, "currency": "GHS"},
        "sms_credits": 0,
        "status": "active",
        "sandbox": False,
        "created_at": "",
    }
    assert api.get(amina, f"{CUSTOMERS}/{made.data['id']}").data == made.data
    assert api.get(amina, CUSTOMERS, external_ref="shop-7").data == [made.data]
    assert api.get(amina, CUSTOMERS, external_ref="SHOP-7").data == []
    assert api.get(amina, CUSTOMERS).ids == [made.data["id"], api.bilal.text_id]
    assert api.get(chidi, CUSTOMERS).data == api.get(api.bilal, CUSTOMERS).data == []
    assert api.get(chidi, f"{CUSTOMERS}/{made.data['id']}").reason == "no_such_record"


def test_the_same_external_ref_is_the_same_customer_unchanged(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    first = provision(api, amina, external_ref="shop-7", initial_sms_credits=10)
    again = provision(
        api,
        amina,
        external_ref="shop-7",
        full_name="Another",
        label="x",
        initial_sms_credits=10**9,
        initial_wallet_balance=10**9,
        currency="KWD",
    )
    assert (again.status, again.body["created"], again.data) == (200, False, first.data)
    assert held(api, amina) == (50, 990)
    others = [
        provision(api, who, external_ref="shop-7") for who in (chidi, amina.key(sandbox=True))
    ]
    assert all(other.body["created"] for other in others)
    assert len({reply.data["id"] for reply in (first, *others)}) == 3
    assert provision(api, amina).data["id"] != provision(api, amina).data["id"], (
        "without one each is another"
    )


def test_what_it_begins_with_moves_from_the_partner_as_one_transaction(
    api: Service, amina: Actor
) -> None:
    made = provision(api, amina, initial_sms_credits=400, initial_wallet_balance=12.5)
    assert (made.data["wallet"], made.data["sms_credits"]) == (
        {"balance": 12.5, "currency": "GHS"},
        400,
    )
    assert held(api, amina) == (37.5, 600)
    given, received = (
        api.get(amina, "/wallet/transactions").data[0],
        api.get(amina, "/wallet/transactions", customer_id=made.data["id"]).data,
    )
    assert [entry["id"] for entry in received] == [given["id"]]
    for entry, figures in (
        (given, ("transfer_out", -12.5, -400, 37.5, 600)),
        (received[0], ("transfer_in", 12.5, 400, 12.5, 400)),
    ):
        assert (
            entry["type"],
            entry["amount"],
            entry["credits"],
            entry["balance_after"],
            entry["credits_after"],
        ) == figures
    assert_books_agree(api.db)


@pytest.mark.parametrize(
    ("wish", "reason", "required", "available"),
    [
        (
            {"initial_sms_credits": 1_001, "initial_wallet_balance": 1},
            "insufficient_credits",
            1_001,
            1_000,
        ),
        (
            {"initial_sms_credits": 1, "initial_wallet_balance": 50.01},
            "insufficient_balance",
            50.01,
            50,
        ),
    ],
)
def test_a_partner_that_holds_less_makes_no_customer(
    api: Service, amina: Actor, wish: dict[str, Any], reason: str, required: float, available: float
) -> None:
    reply = provision(api, amina, external_ref="shop-7", **wish)
    assert (reply.status, reply.code, reply.reason) == (402, "INSUFFICIENT_CREDITS", reason)
    assert (reply.error["required"], reply.error["available"]) == (required, available)
    assert (api.get(amina, CUSTOMERS).ids, held(api, amina)) == ([api.bilal.text_id], (50, 1_000))
    assert provision(api, amina, external_ref="shop-7").body["created"]


def test_its_currency_is_the_partners_unless_it_begins_with_no_money(
    api: Service, amina: Actor
) -> None:
    assert provision(
        api, amina, currency="kwd", initial_wallet_balance=0, initial_sms_credits=5
    ).data["wallet"] == {"balance": 0, "currency": "KWD"}
    assert provision(api, amina, currency="ghs", initial_wallet_balance=1).data["wallet"] == {
        "balance": 1,
        "currency": "GHS",
    }
    refused = provision(api, amina, currency="KWD", initial_wallet_balance=1)
    assert (refused.status, refused.code, refused.reason, refused.bad_fields) == (
        400,
        "INVALID_REQUEST",
        "currency_mismatch",
        ["currency"],
    )
    refused = provision(api, amina, initial_wallet_balance=1.001)
    assert (refused.status, refused.reason, refused.bad_fields) == (
        400,
        "invalid_field",
        ["initial_wallet_balance"],
    )
    assert_books_agree(api.db)


def test_every_bad_field_is_named(api: Service, amina: Actor) -> None:
    bad = {
        "full_name": "cus_x",
        "phone": "123",
        "country_code": "Ghana",
        "email": "dede",
        "external_ref": "x" * 129,
        "label": "a\nb",
        "initial_sms_credits": -1,
        "initial_wallet_balance": "1",
        "currency": "GHC",
    }
    assert sorted(api.post(amina, CUSTOMERS, bad).bad_fields) == sorted(bad)
    assert api.post(amina, CUSTOMERS, {}).bad_fields == ["full_name", "country_code", "phone"]
    for field, value in (
        ("initial_wallet_balance", -0.01),
        ("initial_sms_credits", True),
        ("initial_wallet_balance", True),
        ("full_name", " "),
        ("email", "a b@c"),
        ("email", "a@b..c"),
        ("currency", "XTS"),
        ("country_code", "gb-eng"),
        ("initial_sms_credits", 10**15),
    ):
        assert provision(api, amina, **{field: value}).bad_fields == [field], (field, value)
    for amount in (b"1.00000000000000000001", b"1e-400"):
        wish = (
            b'{"full_name": "Dede", "phone": "233201234567", "country_code": "GH",'
            b' "initial_wallet_balance": %b}' % amount
        )
        assert api.post(amina, CUSTOMERS, content=wish).bad_fields == ["initial_wallet_balance"], (
            amount
        )
    assert provision(api, amina, status="suspended", id="cus_1", parent_id="x").body["warnings"]
    assert api.get(amina, CUSTOMERS, external_ref="x" * 129).bad_fields == ["external_ref"]


def test_a_customer_has_no_customers(api: Service, bilal: Actor) -> None:
    for key in (bilal.key(), bilal.key(sandbox=True)):
        reply = api.post(key, CUSTOMERS, content=b"{")
        assert (reply.status, reply.code, reply.reason) == (403, "FORBIDDEN", "nested_customer")


def test_customers_are_paged(api: Service, amina: Actor) -> None:
    made = [api.bilal.text_id, *(provision(api, amina).data["id"] for _ in range(4))]
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        reply = api.get(amina, CUSTOMERS, **query)
        seen += reply.ids
        if (cursor := reply.body["next_cursor"]) is None:
            break
        provision(api, amina)
        query["cursor"] = cursor
    assert seen == made[::-1]


def test_a_customer_is_a_full_account_and_its_partner_acts_for_it(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    dede = provision(api, amina, initial_sms_credits=10).data
    own = key_of(api, dede)
    assert (
        api.post(
            own, "/sms/send", {"sender": "AMINA", "message": "hi", "recipients": [PHONE]}
        ).reason
        == "sender_not_approved"
    )
    Actor(api.db, "dede", accounts_id(api, dede), dede["id"]).sender("DEDE")
    api.refresh()
    by_itself = api.send(own, [PHONE], sender="DEDE")
    by_partner = api.send(amina, [PHONE], sender="DEDE", customer_id=dede["id"])
    assert (held(api, own), held(api, amina, customer_id=dede["id"]), held(api, amina)) == (
        (0, 8),
        (0, 8),
        (50, 990),
    )
    assert (
        api.get(own, "/reports").ids
        == api.get(amina, "/reports", customer_id=dede["id"]).ids
        == [by_partner["message_id"], by_itself["message_id"]]
    )
    assert api.get(amina, "/reports").ids == api.get(chidi, "/reports").ids == []
    hers = api.send(amina, [PHONE])["message_id"]
    for who, message_id, query in (
        (own, hers, {}),
        (amina, by_itself["message_id"], {}),
        (amina, hers, {"customer_id": dede["id"]}),
        (chidi, by_itself["message_id"], {}),
    ):
        assert api.get(who, f"/messages/{message_id}", **query).reason == "no_such_record"
    assert (
        api.get(amina, "/sender-ids", customer_id=dede["id"]).data[0]["customer_id"] == dede["id"]
    )
    for query in ({"customer_id": dede["id"]}, {"customer_id": api.bilal.text_id}):
        assert (
            api.get(chidi, "/balance", **query).reason
            == api.get(own, "/balance", **query).reason
            == "no_such_record"
        )


def accounts_id(api: Service, customer: dict[str, Any]) -> str:
    with api.db.read() as tx:
        return accounts.find(tx, customer["id"]).id


def test_suspension_reaches_customers_and_is_shown(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    mine, theirs = f"{CUSTOMERS}/{bilal.text_id}", amina.key()
    bilal.suspend()
    api.refresh()
    assert api.get(theirs, mine).data["status"] == "suspended"
    assert api.post(theirs, f"{mine}/credits", {"credits": 1}).reason == "account_suspended"
    assert (
        api.post(theirs, "/sender-ids", {"sender": "BILAL", "customer_id": bilal.text_id}).reason
        == "account_suspended"
    )
    assert held(api, bilal) == held(api, amina, customer_id=bilal.text_id) == (5, 100)
    with api.db.write() as tx:
        accounts.resume(tx, bilal.account_id)
    api.refresh()
    assert api.get(theirs, mine).data["status"] == "active"
    assert api.post(theirs, f"{mine}/credits", {"credits": 1}).status == 200
    amina.suspend()
    api.refresh()
    assert api.get(theirs, mine).data["status"] == "suspended"
    assert api.post(bilal, "/sender-ids", {"sender": "BILAL"}).reason == "account_suspended"
    assert (
        provision(api, amina).reason
        == api.post(theirs, f"{mine}/credits", {"credits": 1}).reason
        == "account_suspended"
    )


def test_a_sandbox_customer_lives_in_sandbox_only_and_costs_nothing(
    api: Service, amina: Actor
) -> None:
    sandbox = amina.key(sandbox=True)
    dede = provision(
        api, sandbox, external_ref="shop-7", initial_sms_credits=5_000, initial_wallet_balance=75.25
    ).data
    assert (dede["sandbox"], dede["wallet"]["balance"], dede["sms_credits"]) == (True, 75.25, 5_000)
    assert held(api, sandbox) == held(api, amina) == (50, 1_000)
    own = key_of(api, dede, sandbox=True)
    assert held(api, own) == held(api, sandbox, customer_id=dede["id"]) == (75.25, 5_000)
    assert api.send(own, [PHONE], sender="SANDBOX")["credits_remaining"] == 5_000
    assert api.get(own, "/wallet/transactions").data == []
    assert (
        api.post(
            own, "/sms/send", {"sender": "SANDBOX", "message": "hi", "recipients": [PHONE]}
        ).data["credits_used"]
        == 0
    )
    with pytest.raises(InvalidRequest, match="must be sandbox"):
        key_of(api, dede)
    assert api.get(sandbox, CUSTOMERS).ids == [dede["id"]]
    assert (
        api.get(amina, CUSTOMERS).ids,
        api.get(amina, CUSTOMERS, external_ref="shop-7").ids,
    ) == ([api.bilal.text_id], [])
    for who, customer_id in ((amina, dede["id"]), (sandbox, api.bilal.text_id)):
        assert api.get(who, f"{CUSTOMERS}/{customer_id}").reason == "no_such_record"
        assert api.get(who, "/balance", customer_id=customer_id).reason == "no_such_record"
    assert_books_agree(api.db)


def test_a_key_makes_one_customer_and_replays(api: Service, amina: Actor) -> None:
    first = api.post(amina, CUSTOMERS, {**DEDE, "initial_sms_credits": 10}, key="k-1")
    again = api.post(amina, CUSTOMERS, {**DEDE, "initial_sms_credits": 10}, key="k-1")
    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    assert api.post(amina, CUSTOMERS, DEDE, key="k-1").reason == "idempotency_key_reused"
    assert (
        api.post(amina, CUSTOMERS, {**DEDE, "initial_sms_credits": 10**6}, key="k-2").status == 402
    )
    assert api.post(amina, CUSTOMERS, DEDE, key="k-2").body["created"]
    assert held(api, amina) == (50, 990)
