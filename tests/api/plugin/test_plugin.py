"""GET /account/status and the endpoints below /sitebuilder serve the plugin of a shop."""

import json
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.database.pruning import prune
from heliograph.plugin.site import SITES_PER_ACCOUNT_MAX
from heliograph.plugin.tables import KEPT, site_events, site_logs, sites
from heliograph.wallet import ledger
from tests.support.api.cast import Actor
from tests.support.api.service import Service

URL = "https://shop.example"
LOG = {"site_url": URL, "event": "order_completed"}


def link(api: Service, who: Actor | str, url: str = URL, **more: Any) -> dict[str, Any]:
    reply = api.post(who, "/sitebuilder/connect", {"site_url": url, **more})
    assert reply.status == 200, reply
    return dict(reply.body["site"])


def test_a_site_by_another_name_is_not_taken_for_the_only_one(api: Service, amina: Actor) -> None:
    old = link(api, amina)
    for name in ("site", "url", "website"):
        reply = api.post(
            amina, "/sitebuilder/connect", {name: "https://new.example", "site_name": "New"}
        )
        assert (reply.status, reply.reason, reply.bad_fields) == (400, "unknown_field", [name])
        assert "did you mean site_url?" in reply.error["message"]
        assert (
            api.post(
                amina, "/sitebuilder/connect", {"site_url": URL, name: "https://new.example"}
            ).body["site"]
            == old
        )


def stored(api: Service, table: sa.Table) -> list[Any]:
    with api.db.read() as tx:
        return list(tx.execute(sa.select(table).order_by(table.c.id)).mappings())


def test_the_status_is_that_of_the_keys_account_also_while_it_is_suspended(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    account = api.get(bilal, "/account/status").body["account"]
    assert account == {
        "id": bilal.text_id,
        "name": "bilal",
        "status": "active",
        "sms_credits": 100,
        "wallet_balance": 5,
        "wallet_currency": "GHS",
        "api_key_prefix": bilal.key()[:12],
        "low_balance": False,
        "sandbox": False,
    }
    api.send(amina, ["233201234567"] * 1)
    assert api.get(amina, "/account/status").body["account"]["sms_credits"] == 999
    assert api.get(bilal.key(sandbox=True), "/account/status").body["account"]["sandbox"] is True
    with api.db.write() as tx:
        ledger.adjust_credits(tx, bilal.account_id, -1, "spent", now_ms=clock.now_ms())
    amina.suspend()
    api.refresh()
    account = api.get(bilal, "/account/status").body["account"]
    assert (account["status"], account["low_balance"], account["sms_credits"]) == (
        "suspended",
        True,
        99,
    )


@pytest.mark.parametrize(
    ("given", "spelt"),
    [
        ("https://shop.example/", URL),
        ("HTTPS://SHOP.example:443", URL),
        ("http://shop.example:80/store//", "http://shop.example/store"),
        ("http://localhost:8080/Wp", "http://localhost:8080/Wp"),
        ("https://büro.example", "https://xn--bro-hoa.example"),
        ("https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443"),
        (" https://shop.example ", URL),
    ],
)
def test_a_site_has_one_spelling(api: Service, amina: Actor, given: str, spelt: str) -> None:
    first = link(api, amina, given, site_name="One", platform="woocommerce")
    assert first["site_url"] == spelt
    assert link(api, amina, spelt, plugin_version="1.7.2") == first, "what is not said is kept"
    assert link(api, amina, given, site_name="Two") == {**first, "site_name": "Two"}
    [row] = stored(api, sites)
    assert (row["platform"], row["plugin_version"]) == ("woocommerce", "1.7.2")


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    "url",
    [
        "",
        "shop.example",
        "ftp://shop.example",
        "https://",
        "https://user:pass@shop.example",
        "https://shop.example?a=1",
        "https://shop.example/#x",
        "https://shop.example:99999",
        "https://shop example",
        "https://shop.example/\n",
        "https://-shop.example",
        "https://[::1",
        "https://" + "a" * 255,
        "javascript:alert(1)",
        7,
        ["https://shop.example"],
    ],
)
def test_what_is_no_address_is_refused_by_all_three(api: Service, amina: Actor, url: Any) -> None:
    for path, more in (
        ("connect", {}),
        ("logs", {"event": "x"}),
        ("events", {"event": "x", "payload": {}}),
    ):
        reply = api.post(amina, f"/sitebuilder/{path}", {"site_url": url, **more})
        assert (reply.status, reply.reason, reply.bad_fields) == (
            400,
            "invalid_field",
            ["site_url"],
        ), reply
    assert stored(api, sites) == []


def test_all_bad_fields_are_named_together_by_their_place_and_nothing_is_stored(
    api: Service, amina: Actor
) -> None:
    link(api, amina)
    logs = [
        LOG,
        {"site_url": "?", "event": "", "cost": -1, "recipient": "a\nb"},
        7,
        {**LOG, "cost": True, "body": 5, "external_ref": "x" * 129},
    ]
    reply = api.post(amina, "/sitebuilder/logs", {"logs": logs})
    assert (reply.status, reply.reason) == (400, "invalid_field")
    assert sorted(reply.bad_fields) == sorted(
        [
            "logs[1].site_url",
            "logs[1].event",
            "logs[1].cost",
            "logs[1].recipient",
            "logs[2]",
            "logs[3].cost",
            "logs[3].body",
            "logs[3].external_ref",
        ]
    )
    not_entries: list[Any] = [[], {}, "x", [LOG] * 101]
    for bad in not_entries:
        assert api.post(amina, "/sitebuilder/logs", {"logs": bad}).bad_fields == ["logs"]
    not_payloads: list[Any] = [[1], "x", None, {"x": "y" * 65_536}]
    for payload in not_payloads:
        assert api.post(amina, "/sitebuilder/events", {**LOG, "payload": payload}).bad_fields == [
            "payload"
        ]
    assert (
        api.post(amina, "/sitebuilder/events", {**LOG, "payload": {"x": "y" * 65_528}}).status
        == 200
    ), "64 KiB"
    assert stored(api, site_logs) == []


def test_a_log_entry_is_stored_once_by_its_sites_own_id(api: Service, amina: Actor) -> None:
    link(api, amina)
    link(api, amina, "https://other.example")
    entry = {
        **LOG,
        "external_ref": "1",
        "cost": 0.05,
        "body": "Hello",
        "message_id": "msg_x",
        "surprise": 1,
    }
    first = api.post(amina, "/sitebuilder/logs", entry)
    assert (first.data["received"], first.body["warnings"]) == (
        1,
        ["unknown field 'surprise' was ignored"],
    )
    told = api.post(
        amina,
        "/sitebuilder/logs",
        {
            "logs": [
                entry,
                {**LOG, "external_ref": "2"},
                {**LOG, "external_ref": "2"},
                {**entry, "site_url": "https://other.example/"},
                LOG,
                LOG,
            ]
        },
    )
    assert told.data["received"] == 6
    ids = told.data["ids"]
    assert [ids[0], ids[1]] == [first.data["ids"][0], ids[2]]
    assert len(set(ids)) == 5 == len(stored(api, site_logs))
    assert (stored(api, site_logs)[0]["cost"], stored(api, site_logs)[0]["body"]) == (0.05, "Hello")


def test_equal_entries_at_once_are_stored_once(api: Service, amina: Actor) -> None:
    link(api, amina)
    logs = [{**LOG, "external_ref": str(k)} for k in range(10)]
    replies = api.at_once(
        *(
            api.requested("POST", amina, "/sitebuilder/logs", json={"logs": logs[k:] + logs[:k]})
            for k in range(10)
        )
    )
    assert {reply.status for reply in replies} == {200}
    assert (
        len(stored(api, site_logs))
        == 10
        == len({id_ for reply in replies for id_ in reply.data["ids"]})
    )
    links = api.at_once(
        *(
            api.requested(
                "POST", amina, "/sitebuilder/connect", json={"site_url": "https://new.example"}
            )
            for _ in range(10)
        )
    )
    assert len({reply.body["site"]["id"] for reply in links}) == 1


def test_the_text_of_a_one_time_password_is_not_stored(api: Service, amina: Actor) -> None:
    link(api, amina)
    sent = api.post(amina, "/otp/send", {"phone": "233201234567"}).data
    text = api.send(amina, ["233201234568"])
    told = [
        *({**LOG, "message_type": kind} for kind in ("otp", "OTP", "login_Otp")),
        {**LOG, "event": "sms_OTP_sent"},
        *(
            {**LOG, "message_id": given}
            for own in (sent["message_id"], sent["id"])
            for given in (own, own.upper())
        ),
    ]
    plain = [
        {**LOG, "message_id": message_id} for message_id in (text["message_id"], "msg_1", "7", None)
    ]
    reply = api.post(
        amina,
        "/sitebuilder/logs",
        {"logs": [{**entry, "body": "123456 is your code"} for entry in told + plain]},
    )
    assert (reply.status, reply.data["received"]) == (200, 12)
    assert [row["body"] for row in stored(api, site_logs)] == [None] * 8 + [
        "123456 is your code"
    ] * 4
    for event in ("otp", "sms_OTP_sent", "order_paid"):
        assert (
            api.post(
                amina, "/sitebuilder/events", {**LOG, "event": event, "payload": {"code": 123456}}
            ).status
            == 200
        )
    assert [json.loads(row["payload"]) for row in stored(api, site_events)] == [
        {},
        {},
        {"code": 123456},
    ]


def test_a_site_is_its_accounts_and_modes(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    mine = link(api, amina)
    for who in (bilal, chidi, amina.key(sandbox=True)):
        for path in ("logs", "events"):
            reply = api.post(who, f"/sitebuilder/{path}", {**LOG, "payload": {}})
            assert (reply.status, reply.code, reply.reason) == (
                404,
                "NOT_FOUND",
                "site_not_connected",
            )
        assert link(api, who)["id"] != mine["id"]
    assert stored(api, site_logs) == stored(api, site_events) == []
    reply = api.post(
        amina, "/sitebuilder/logs", {"logs": [LOG, {**LOG, "site_url": "https://unknown.example"}]}
    )
    assert (reply.status, reply.reason) == (404, "site_not_connected")
    assert stored(api, site_logs) == [], "all of them, or none"


def test_a_repeated_request_acts_once(api: Service, amina: Actor) -> None:
    link(api, amina)
    body = {**LOG, "payload": {"a": 1}}
    for path in ("logs", "events"):
        replies = [api.post(amina, f"/sitebuilder/{path}", body, key="once") for _ in range(2)]
        assert replies[0].data == replies[1].data
        assert replies[1].headers["idempotent-replayed"] == "true"
        assert (
            api.post(amina, f"/sitebuilder/{path}", {**body, "event": "y"}, key="once").reason
            == "idempotency_key_reused"
        )
    assert (len(stored(api, site_logs)), len(stored(api, site_events))) == (1, 1)


def test_an_account_links_so_many_sites_at_most(api: Service, amina: Actor) -> None:
    row = {**link(api, amina), "account_id": amina.account_id}
    with api.db.write() as tx:
        first = dict(tx.execute(sa.select(sites)).mappings().one())
        tx.execute(
            sites.insert(),
            [
                {**first, "id": f"{k:032x}", "site_url": f"https://{k}.example"}
                for k in range(1, SITES_PER_ACCOUNT_MAX)
            ],
        )
    reply = api.post(amina, "/sitebuilder/connect", {"site_url": "https://more.example"})
    assert (reply.status, reply.bad_fields) == (400, ["site_url"])
    assert link(api, amina)["id"] == row["id"]


def test_what_was_told_is_forgotten_after_90_days(api: Service, amina: Actor) -> None:
    link(api, amina)
    api.post(amina, "/sitebuilder/logs", LOG)
    api.post(amina, "/sitebuilder/events", {**LOG, "payload": {}})

    async def pruned(now_ms: int) -> int:
        gone = 0
        for kept in KEPT:
            async with api.db.hot() as tx:
                gone += await prune(tx, kept, now_ms)
        return gone

    now_ms = clock.now_ms()
    assert api.run(pruned(now_ms + 89 * 86_400_000)) == 0
    assert api.run(pruned(now_ms + 91 * 86_400_000)) == 2
