"""Storage quotas hold over HTTP: what would be too much today is a 429 that stores nothing, while a
replay, the other mode and other accounts go on.
"""

from typing import Any, Final

import pytest
import sqlalchemy as sa

from heliograph.accounts import quotas
from heliograph.base.clock import DAY_MS
from heliograph.contacts.tables import contacts
from heliograph.messages.tables import sends
from heliograph.plugin.tables import site_events, site_logs
from heliograph.requests.tables import idempotency_keys
from tests.support.api.cast import PHONE, Actor
from tests.support.api.quotas import allow, assert_full, rows, used
from tests.support.api.service import Service

URL: Final = "https://shop.example"
TEXT: Final = "x" * 700
# 2 × (300 + 15 + 700)
LOGS: Final = {"logs": [{"site_url": URL, "event": "order_completed", "body": TEXT}] * 2}
EVENT: Final = {"site_url": URL, "event": "cart", "payload": {"text": TEXT}}
pytestmark = pytest.mark.usefixtures("at_noon")


def link(api: Service, *whose: Any) -> None:
    for who in whose:
        assert api.post(who, "/sitebuilder/connect", {"site_url": URL}).status == 200


@pytest.mark.parametrize(
    ("kind", "path", "body", "table"),
    [
        (quotas.StoredKind.LOGS, "/sitebuilder/logs", LOGS, site_logs),
        (quotas.StoredKind.EVENTS, "/sitebuilder/events", EVENT, site_events),
    ],
    ids=["logs", "events"],
)
def test_what_a_plugin_tells_is_held_by_day_account_and_mode(
    api: Service,
    amina: Actor,
    chidi: Actor,
    kind: quotas.StoredKind,
    path: str,
    body: dict[str, Any],
    table: sa.Table,
) -> None:
    sandbox = amina.key(sandbox=True)
    link(api, amina, chidi, sandbox)
    allow(api, amina, **{kind.value: 2_500})
    first = api.post(amina, path, body, key="first")
    assert first.status == 200, first
    size = used(api, amina, kind)
    assert 900 < size <= 2_500
    while size + used(api, amina, kind) <= 2_500:
        assert api.post(amina, path, body).status == 200
    before = rows(api, table)
    assert_full(api.post(amina, path, body, key="second"))
    assert rows(api, table) == before
    assert api.post(amina, path, {**body, "nonsense": 1, "event": 5, "logs": 5}).status == 400, (
        "form comes first"
    )
    elsewhere = (
        {**EVENT, "site_url": "https://no.example"}
        if kind is quotas.StoredKind.EVENTS
        else {"logs": [{**LOGS["logs"][0], "site_url": "https://no.example"}]}
    )
    assert api.post(amina, path, elsewhere).status == 404, "and so does what is not there"
    again = api.post(amina, path, body, key="first")
    assert (again.status, again.data, again.headers["Idempotent-Replayed"]) == (
        200,
        first.data,
        "true",
    ), "a replay stores nothing"
    assert (
        api.post(amina, path, {**body, "more": 1}, key="first").reason == "idempotency_key_reused"
    )
    assert api.post(sandbox, path, body).status == 200
    assert api.post(chidi, path, body).status == 200
    api.move_clock(DAY_MS // 2)
    assert api.post(amina, path, body, key="second").status == 200, (
        "the next day, and the key was left free"
    )
    allow(api, amina, **{kind.value: None})
    assert [api.post(amina, path, body).status for _ in range(3)] == [200] * 3


def test_a_log_that_was_told_before_takes_nothing(api: Service, amina: Actor) -> None:
    link(api, amina)
    entry = {"site_url": URL, "event": "sent", "body": TEXT, "external_ref": "1"}
    assert api.post(amina, "/sitebuilder/logs", entry).status == 200
    allow(api, amina, logs=used(api, amina, quotas.StoredKind.LOGS))
    assert api.post(amina, "/sitebuilder/logs", entry).status == 200
    assert_full(api.post(amina, "/sitebuilder/logs", {**entry, "external_ref": "2"}))


def test_contacts_count_when_they_are_made_and_what_they_grow_by(
    api: Service, amina: Actor
) -> None:
    allow(api, amina, contacts=1_000)
    made = api.post(amina, "/contacts", {"phone": PHONE, "custom": {"note": "n" * 400}})
    assert made.status == 200, made
    size = used(api, amina, quotas.StoredKind.CONTACTS)
    assert 700 < size < 800
    assert_full(api.post(amina, "/contacts", {"phone": "233201234568"}))
    assert_full(
        api.put(
            amina,
            f"/contacts/{made.data['id']}",
            {"custom": {"note": "n" * 400, "more": "m" * 400}},
        )
    )
    assert (
        api.put(
            amina,
            f"/contacts/{made.data['id']}",
            {"custom": {"note": "m" * 400}, "opted_out": True},
        ).data["opted_out"]
        is True
    )
    assert (
        api.post(amina, "/contacts", {"phone": "233201234569", "opted_out": True}).status == 200
    ), "nobody is refused to opt out"
    assert (used(api, amina, quotas.StoredKind.CONTACTS), rows(api, contacts)) == (size, 2)
    assert api.post(amina.key(sandbox=True), "/contacts", {"phone": "233201234568"}).status == 200


def test_nobody_is_refused_to_opt_out_however_full_all_quotas_are(
    api: Service, amina: Actor
) -> None:
    made = api.post(amina, "/contacts", {"phone": "233201234567"}).data
    allow(api, amina, contacts=0, answers=0)
    for _ in range(2):
        reply = api.post(amina, "/contacts", {"phone": PHONE, "opted_out": True}, key="out")
        assert (reply.status, reply.body["data"]["opted_out"]) == (200, True), reply
        assert "Idempotent-Replayed" not in reply.headers, "the answer is not kept"
    more = {
        "phone": "233201234568",
        "opted_out": True,
        "name": "Kofi",
        "custom": {"note": "n" * 400},
    }
    for number in range(2):
        reply = api.post(amina, "/contacts", more, key="more")
        assert reply.status == 200, reply
        assert (reply.data["opted_out"], reply.data["name"], reply.data["custom"]) == (
            True,
            None,
            {},
        )
        assert reply.body["created"] is (number == 0)
        assert "Only opted_out was stored" in reply.body["warnings"][0]
    put = api.put(
        amina, f"/contacts/{made['id']}", {"opted_out": True, "custom": {"note": "n" * 400}}
    )
    assert (put.status, put.data["opted_out"], put.data["custom"], len(put.body["warnings"])) == (
        200,
        True,
        {},
        1,
    )
    assert_full(
        api.put(
            amina, f"/contacts/{made['id']}", {"opted_out": False, "custom": {"note": "n" * 400}}
        )
    )
    assert_full(api.post(amina, "/contacts", {"phone": "233201234570", "opted_out": False}))
    assert_full(api.post(amina, "/contacts", {"phone": PHONE, "opted_out": False}, key="back"))
    assert (rows(api, idempotency_keys), used(api, amina, quotas.StoredKind.ANSWERS)) == (0, 0)
    allow(api, amina, answers=2_000)
    assert [
        api.post(amina, "/contacts", {"phone": PHONE, "opted_out": True}, key="out").headers.get(
            "Idempotent-Replayed"
        )
        for _ in range(2)
    ] == [None, "true"], "as long as there is room, it is"


def test_a_partner_and_its_customers_are_held_together(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    """A key makes customers, so a quota for each of them would not limit the key."""
    allow(api, amina, contacts=1_000)
    other = api.post(
        amina, "/connect/customers", {"full_name": "Dede", "phone": PHONE, "country_code": "GH"}
    ).data["id"]
    body = {"phone": PHONE, "custom": {"note": "n" * 250}}
    assert api.post(amina, "/contacts", {**body, "customer_id": bilal.text_id}).status == 200
    refused = api.post(amina, "/contacts", {**body, "customer_id": other})
    assert_full(refused)
    assert "1000" not in refused.error["message"], (
        "a customer may have asked, whom its partner's figures do not concern"
    )
    assert_full(api.post(amina, "/contacts", body))
    assert_full(api.post(bilal, "/contacts", {**body, "phone": "233201234568"}))
    assert 500 < used(api, amina, quotas.StoredKind.CONTACTS) <= 1_000
    assert (used(api, bilal, quotas.StoredKind.CONTACTS), rows(api, contacts)) == (0, 1)
    assert api.post(chidi, "/contacts", body).status == 200


LONG: Final = "😀😁😂🤣" * 30


def test_what_is_kept_of_a_rejected_recipient_is_short_and_not_escaped(
    api: Service, amina: Actor
) -> None:
    body = {"sender": "AMINA", "message": "hello", "recipients": [PHONE, LONG, "Zoë", "9" * 41]}
    reply = api.post(amina, "/sms/send", body, key="one")
    assert reply.status == 200, reply
    assert [one["recipient"] for one in reply.data["rejected"]] == [
        LONG[:40] + "…",
        "Zoë",
        "9" * 40 + "…",
    ]
    assert [one["index"] for one in reply.data["rejected"]] == [1, 2, 3]
    assert api.post(amina, "/sms/send", body, key="one").data == reply.data
    with api.db.read() as tx:
        stored = tx.execute(sa.select(sends.c.exceptions)).scalar_one()
    assert LONG[:40] + "…" in stored
    assert len(stored.encode()) < 400


def test_what_sandbox_sends_and_rejected_recipients_store_is_held(
    api: Service, amina: Actor, bilal: Actor
) -> None:
    sandbox = amina.key(sandbox=True)
    body = {
        "sender": "SANDBOX",
        "message": "hello",
        "recipients": [str(233_200_000_100 + number) for number in range(9)],
    }
    allow(api, amina, sends=25_000)
    first = api.post(sandbox, "/sms/send", body, key="first")
    assert (first.status, used(api, amina, quotas.StoredKind.SENDS, sandbox=True)) == (200, 10_005)
    assert api.post(sandbox, "/sms/send", body).status == 200
    assert_full(api.post(sandbox, "/sms/send", body, key="second"))
    assert api.post(sandbox, "/sms/send", {**body, "dry_run": True}).status == 200, (
        "which stores nothing"
    )
    assert (
        api.post(sandbox, "/sms/send", body, key="first").headers["Idempotent-Replayed"] == "true"
    )
    assert api.post(sandbox, "/otp/send", {"phone": PHONE}).status == 200, "two rows still fit"
    assert rows(api, sends) == 3
    used_before = used(api, amina, quotas.StoredKind.SENDS, sandbox=True)
    assert 22_000 < used_before <= 25_000, "what is refused is not counted"
    own = api.post(
        sandbox, "/connect/customers", {"full_name": "Dede", "phone": PHONE, "country_code": "GH"}
    ).data["id"]
    assert_full(api.post(sandbox, "/sms/send", {**body, "customer_id": own}))
    live = {
        "sender": "AMINA",
        "message": "hello",
        "recipients": [PHONE] + [f"nobody {number}" for number in range(999)],
    }
    credits = api.get(amina, "/balance").body["sms_credits"]
    assert (
        api.post(amina, "/sms/send", {**live, "recipients": live["recipients"][:400]}).status == 200
    )
    assert 10_000 < used(api, amina, quotas.StoredKind.SENDS) <= 25_000
    refused = api.post(amina, "/sms/send", live)
    assert_full(refused)
    assert api.get(amina, "/balance").body["sms_credits"] == credits - 1, (
        "and what is refused is not charged"
    )
    assert api.post(amina, "/sms/send", {**live, "recipients": body["recipients"]}).status == 200, (
        "what goes out is paid for"
    )
    api.move_clock(DAY_MS)
    assert api.post(sandbox, "/sms/send", body, key="second").status == 200
