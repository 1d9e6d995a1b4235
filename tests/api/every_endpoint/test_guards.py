"""Over all endpoints, the key, the rate, the permission and the account decide who may ask (the
order is that of docs/api.md, "Order of judgement").
"""

from typing import Any

import sqlalchemy as sa

from heliograph import keys
from heliograph.base import clock, ids
from heliograph.keys import ALL_PERMISSIONS
from heliograph.keys.issue import digest, make_key
from heliograph.keys.tables import api_keys
from tests.support.api.cast import Actor
from tests.support.api.databases import ON_SQLITE
from tests.support.api.requests_of import (
    MAKERS,
    MIB,
    bearer,
    body_fields,
    examples,
    is_answered,
    make_customer,
    sent,
)
from tests.support.api.service import Service

pytestmark = ON_SQLITE

EXAMPLES = examples()


def test_without_a_key_that_is_one_nothing_is_answered_and_no_body_read(
    api: Service, amina: Actor
) -> None:
    good = amina.key()
    with api.db.write() as tx:
        revoked = keys.issue(
            tx,
            amina.account_id,
            name="old",
            sandbox=False,
            tier="standard",
            permissions=["all"],
            now_ms=clock.now_ms(),
        )
        keys.revoke(tx, revoked.record.id, now_ms=clock.now_ms())
        expired = keys.issue(
            tx,
            amina.account_id,
            name="short",
            sandbox=False,
            tier="standard",
            permissions=["all"],
            now_ms=clock.now_ms(),
            expires_at_ms=clock.now_ms() + 1_000,
        )
    api.move_clock(2_000)
    refused = {
        "missing_key": [[], [(b"authorization", b"Bearer")], [(b"authorization", b"Bearer  ")]],
        "invalid_key": [
            [(b"authorization", b"")],
            [(b"authorization", good.encode())],
            [(b"authorization", b"Basic " + good.encode())],
            [bearer(good[:-1])],
            [bearer(good + "x")],
            [bearer(good[:-1] + ("a" if good[-1] != "a" else "b"))],
            [bearer(good.replace("sk_live_", "sk_test_"))],
            [bearer(good.upper())],
            [bearer(make_key(sandbox=False))],
            [bearer(revoked.key)],
            [bearer(expired.key)],
            [bearer(good), bearer(good)],
            [bearer("x" * MIB)],
            [(b"authorization", b"Bearer \xff\xfe")],
            [(b"authorization", f"Bearer {good} {good}".encode())],
        ],
    }
    for example in EXAMPLES:
        for reason, attempts in refused.items():
            for headers in attempts:
                reply = sent(api, example, headers)
                assert (reply.status, reply.code, reply.reason) == (401, "UNAUTHORIZED", reason), (
                    str(example),
                    headers,
                )
                assert reply.headers["www-authenticate"] == "Bearer"
                assert "x-ratelimit-limit" not in reply.headers


def test_a_key_of_the_former_form_goes_on_working(api: Service, amina: Actor) -> None:
    former = "sk_live_0123456789ABCDEFGHIJKLMNOPQRSTUV28hqg7"
    hers = amina.key()
    with api.db.write() as tx:
        tx.execute(
            sa.update(api_keys)
            .where(api_keys.c.sha256 == digest(hers))
            .values(sha256=digest(former))
        )
    assert api.get(former, "/balance").status == 200


def test_the_scheme_is_read_in_any_case(api: Service, amina: Actor) -> None:
    assert (
        sent(api, EXAMPLES[0], [(b"authorization", f"bEARER {amina.key()}".encode())]).status == 200
    )


def test_each_endpoint_takes_its_own_permission_and_no_other(api: Service, amina: Actor) -> None:
    for example in EXAMPLES:
        for permission in ALL_PERMISSIONS:
            key = amina.key(permission)
            if permission == example.endpoint.permission:
                assert is_answered(api, key, example), (str(example), permission)
                continue
            reply = sent(api, example, [bearer(key)])
            assert (reply.status, reply.code, reply.reason) == (
                403,
                "FORBIDDEN",
                "missing_permission",
            ), (str(example), permission)
            assert example.endpoint.permission in reply.error["message"]


def test_a_suspended_account_reads_and_changes_nothing(api: Service, amina: Actor) -> None:
    for key in (amina.key(), amina.key(sandbox=True)):
        assert all(is_answered(api, key, example) for example in EXAMPLES)
    amina.suspend()
    api.refresh()
    for key in (amina.key(), amina.key(sandbox=True)):
        for example in EXAMPLES:
            if example.endpoint.method == "GET":
                assert is_answered(api, key, example), str(example)
            else:
                reply = sent(api, example, [bearer(key)])
                assert (reply.status, reply.code, reply.reason) == (
                    403,
                    "FORBIDDEN",
                    "account_suspended",
                ), str(example)


def test_another_accounts_and_the_other_modes_id_answer_exactly_like_a_random_one(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    with_id = [example for example in EXAMPLES if "{id}" in example.endpoint.path]
    assert {example.endpoint.path for example in with_id} == set(MAKERS)
    for example in with_id:
        mine = MAKERS[example.endpoint.path](api, amina.key())
        random = ids.new(mine.split("_")[0])
        for stranger in (chidi.key(), bilal.key(), amina.key(sandbox=True)):
            bodies = []
            for record_id in (mine, random):
                reply = api.request(
                    example.endpoint.method,
                    stranger,
                    example.endpoint.path.replace("{id}", record_id),
                    **example.sends,
                )
                assert (reply.status, reply.reason) == (404, "no_such_record"), str(example)
                bodies.append(reply.body | {"request_id": ""})
            assert bodies[0] == bodies[1]


def test_acting_for_a_customer_is_for_its_partner_with_the_permission(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    document = api.contract.document
    of_sandbox = make_customer(api, amina.key(sandbox=True))
    nobodys = (chidi.text_id, of_sandbox, ids.new("cus"), "x")  # to a live key
    for example in EXAMPLES:
        operation = document["paths"][example.endpoint.path][example.endpoint.method.lower()]
        if any(parameter["name"] == "customer_id" for parameter in operation["parameters"]):
            ways: list[dict[str, Any]] = [
                {"params": {"customer_id": who}} for who in (bilal.text_id, *nobodys)
            ]
        elif "customer_id" in body_fields(document, operation):
            ways = [
                {"json": {**(example.body or {}), "customer_id": who}}
                for who in (bilal.text_id, *nobodys)
            ]
        else:
            continue
        mine, *others = ways
        method, path = example.endpoint.method, example.path
        # its own permission is enough (docs/api.md, "Acting for a customer")
        takes_connect = not path.startswith("/sender-ids")
        alone = api.request(method, amina.key(example.endpoint.permission), path, **mine)
        assert (alone.reason == "missing_permission") is takes_connect, str(example)
        if "params" in mine and takes_connect:
            for query in (
                f"customer_id={bilal.text_id}&y=1",
                "limit=0&customer_id=x&customer_id=y",
                f"customer_id={'x' * 129}",
            ):
                alone = api.request(
                    method, amina.key(example.endpoint.permission), f"{path}?{query}"
                )
                assert (alone.status, alone.reason) == (403, "missing_permission"), (
                    str(example),
                    query,
                )
                assert api.request(method, amina, f"{path}?{query}").reason == "invalid_query", (
                    str(example),
                    query,
                )
        strangers = [
            api.request(method, key, path, **mine)
            for key in (chidi.key(), bilal.key(), amina.key(sandbox=True))
        ]
        for reply in (*strangers, *(api.request(method, amina, path, **other) for other in others)):
            assert (reply.status, reply.reason) == (404, "no_such_record"), str(example)


def test_a_key_in_another_form_is_told_which_form_was_found(api: Service, amina: Actor) -> None:
    key = amina.key()
    for header, said in (
        (f"Basic {key}", "the scheme Basic"),
        (key, "without the word Bearer"),
        (f'Bearer "{key}"', "in quotation marks"),
    ):
        reply = sent(api, EXAMPLES[0], [(b"authorization", header.encode())])
        assert (reply.status, reply.reason) == (401, "invalid_key")
        assert said in reply.error["message"]
        assert key not in reply.response.text


def test_a_key_makes_as_many_requests_a_minute_as_its_tier_says(api: Service, amina: Actor) -> None:
    api.move_clock(60_000 - clock.now_ms() % 60_000)  # to the beginning of a window
    key = amina.key(tier="free")
    for left in range(9, -1, -1):
        reply = api.get(key, "/balance" if left % 2 else "/nothing")
        assert reply.status == (200 if left % 2 else 404)
        assert (reply.headers["x-ratelimit-limit"], reply.headers["x-ratelimit-remaining"]) == (
            "10",
            str(left),
        )
        assert 0 < int(reply.headers["x-ratelimit-reset"]) <= 60
    for example in EXAMPLES:
        refused = sent(api, example, [bearer(key)])
        assert (refused.status, refused.code, refused.reason) == (
            429,
            "RATE_LIMITED",
            "rate_limited",
        ), str(example)
        assert refused.headers["retry-after"] == refused.headers["x-ratelimit-reset"]
        assert refused.headers["x-ratelimit-remaining"] == "0"
    assert api.get(key, "/nothing").status == 429
    assert api.get(amina, "/balance").status == 200, "each key has a rate of its own"
    api.move_clock(60_000)
    assert api.get(key, "/balance").headers["x-ratelimit-remaining"] == "9"


def test_a_change_of_a_key_or_account_takes_effect_within_a_second(
    api: Service, amina: Actor
) -> None:
    with api.db.write() as tx:
        issued = keys.issue(
            tx,
            amina.account_id,
            name="to be revoked",
            sandbox=False,
            tier="enterprise",
            permissions=["all"],
            now_ms=clock.now_ms(),
        )
    assert api.get(issued.key, "/balance").status == 200
    with api.db.write() as tx:
        keys.revoke(tx, issued.record.id, now_ms=clock.now_ms())
    until_s = clock.monotonic_s() + 1
    while api.get(issued.key, "/balance").status == 200:
        assert clock.monotonic_s() < until_s
    assert api.get(issued.key, "/balance").status == 401
