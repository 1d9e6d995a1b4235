"""GET /balance and GET /wallet/balance show what a wallet holds, to those who may see it."""

import pytest

from tests.support.api.cast import Actor
from tests.support.api.service import Service

BOTH = pytest.mark.parametrize("path", ["/balance", "/wallet/balance"])


@BOTH
def test_a_balance_has_the_specifications_shape(api: Service, amina: Actor, path: str) -> None:
    reply = api.get(amina, path)
    assert (reply.status, reply.body) == (
        200,
        {
            "success": True,
            "wallet": {"balance": 50, "currency": "GHS"},
            "sms_credits": 1_000,
            "sandbox": False,
        },
    )


@BOTH
def test_a_sandbox_key_sees_the_real_figures_and_that_it_is_one(
    api: Service, amina: Actor, path: str
) -> None:
    reply = api.get(amina.key(sandbox=True), path)
    assert reply.body == api.get(amina, path).body | {"sandbox": True}


@BOTH
def test_a_partner_sees_its_customers_balance_and_nobody_elses(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor, path: str
) -> None:
    assert api.get(amina, path, customer_id=bilal.text_id).body["sms_credits"] == 100
    for stranger in (
        chidi.text_id,
        chidi.text_id.replace("acc_", "cus_"),
        amina.text_id.replace("acc_", "cus_"),
        "cus_0",
        "nobody",
    ):
        reply = api.get(amina, path, customer_id=stranger)
        assert (reply.status, reply.code, reply.reason) == (404, "NOT_FOUND", "no_such_record")
    assert api.get(chidi, path, customer_id=bilal.text_id).status == 404
    assert api.get(bilal, path, customer_id=bilal.text_id).status == 404


@BOTH
def test_acting_for_a_customer_takes_its_own_permission(
    api: Service, amina: Actor, bilal: Actor, path: str
) -> None:
    reply = api.get(amina.key("wallet.read"), path, customer_id=bilal.text_id)
    assert (reply.status, reply.code, reply.reason) == (403, "FORBIDDEN", "missing_permission")
    assert "connect.customers" in reply.error["message"]
    assert (
        api.get(
            amina.key("wallet.read", "connect.customers"), path, customer_id=bilal.text_id
        ).status
        == 200
    )


def test_a_suspended_account_still_reads_its_balance(api: Service, amina: Actor) -> None:
    amina.suspend()
    api.refresh()
    assert api.get(amina, "/balance").status == 200
