"""Published clients call the same endpoints by other names (docs/api.md, "Other names of
endpoints").
"""

import sqlalchemy as sa

from heliograph.plugin.tables import site_events, site_logs
from tests.support.api.cast import PHONE, Actor
from tests.support.api.databases import ON_SQLITE
from tests.support.api.requests_of import make_campaign
from tests.support.api.service import Service

pytestmark = ON_SQLITE

SEND = {"sender": "AMINA", "recipients": [PHONE]}
SITE = {"site_url": "https://shop.example"}


def test_messages_send_is_sms_send_under_one_idempotency_key(api: Service, amina: Actor) -> None:
    first = api.post(amina, "/messages/send", {**SEND, "body": "hello"}, key="k")
    assert (
        first.status,
        api.get(amina, f"/messages/{first.data['message_id']}").data["message"],
    ) == (200, "hello")
    again = api.post(amina, "/sms/send", {**SEND, "body": "hello"}, key="k")
    assert (again.data, again.headers["idempotent-replayed"]) == (first.data, "true")
    assert (
        api.post(amina, "/messages/send", {**SEND, "body": "other"}, key="k").reason
        == "idempotency_key_reused"
    )
    assert api.post(amina, "/messages/send", {**SEND, "body": "a", "message": "b"}).bad_fields == [
        "body"
    ]
    assert (
        api.post(amina.key("sms.read"), "/messages/send", {**SEND, "body": "hello"}).reason
        == "missing_permission"
    )
    assert api.get(amina, "/messages/send").reason == "no_such_record", "it is a message's path"


def test_wordpress_is_sitebuilder(api: Service, amina: Actor) -> None:
    assert (
        api.post(amina, "/wordpress/connect", SITE).body["site"]
        == api.post(amina, "/sitebuilder/connect", SITE).body["site"]
    )
    entry = {**SITE, "event": "sent", "external_ref": "1"}
    assert (
        api.post(amina, "/wordpress/logs", entry).data["ids"]
        == api.post(amina, "/sitebuilder/logs", entry).data["ids"]
    )
    event = {**SITE, "event": "updated", "payload": {}}
    first = api.post(amina, "/wordpress/events", event, key="k")
    assert api.post(amina, "/sitebuilder/events", event, key="k").data == first.data
    amina.suspend()
    api.refresh()
    assert api.post(amina, "/wordpress/connect", SITE).reason == "account_suspended"


def test_a_site_may_be_left_out_where_there_is_one(api: Service, amina: Actor) -> None:
    log, event = (
        {"event": "sent", "message": "hello", "meta": {"order": 7}},
        {"event": "updated", "payload": [], "meta": []},
    )
    assert api.post(amina, "/wordpress/connect", {}).bad_fields == ["site_url"]
    for path, body in (("logs", log), ("events", event)):
        assert api.post(amina, f"/wordpress/{path}", body).reason == "site_not_connected", path
    api.post(amina, "/wordpress/connect", SITE)
    named = api.post(amina, "/wordpress/connect", {"site_name": "Amina's"}).body["site"]
    assert (named["site_url"], named["site_name"]) == (SITE["site_url"], "Amina's")
    assert (
        api.post(
            amina, "/wordpress/logs", {"logs": [log, {**log, **SITE, "message_type": "otp"}]}
        ).data["received"]
        == 2
    )
    assert api.post(amina, "/wordpress/events", event).status == 200
    with api.db.read() as tx:
        logs = tx.execute(
            sa.select(site_logs.c.body, site_logs.c.meta).order_by(site_logs.c.id)
        ).all()
        assert [tuple(row) for row in logs] == [("hello", '{"order":7}'), (None, None)]
        assert tuple(tx.execute(sa.select(site_events.c.payload, site_events.c.meta)).one()) == (
            "{}",
            "{}",
        )
    api.post(amina.key(sandbox=True), "/wordpress/connect", {"site_url": "https://staging.example"})
    assert api.post(amina.key(sandbox=True), "/wordpress/logs", log).data["received"] == 1, (
        "the sites of sandbox are others"
    )
    api.post(amina, "/wordpress/connect", {"site_url": "https://other.example"})
    for path, body in (("connect", {}), ("logs", log), ("events", event)):
        assert api.post(amina, f"/wordpress/{path}", body).bad_fields == ["site_url"], path


def test_the_description_has_the_first_names_only(api: Service) -> None:
    assert not {
        "/messages/send",
        "/wordpress/connect",
        "/wordpress/logs",
        "/wordpress/events",
    } & set(api.contract.document["paths"])


def test_messages_of_a_campaign_are_those_of_its_report(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    campaign = make_campaign(api, amina.key())
    api.send(amina, [PHONE])
    assert (
        api.get(amina, f"/campaigns/{campaign}/messages").body
        == api.get(amina, "/reports", campaignId=campaign).body
    )
    assert api.get(chidi, f"/campaigns/{campaign}/messages").reason == "no_such_record"
    assert (
        api.get(amina, f"/campaigns/{campaign}/messages", campaignId=campaign).reason
        == "invalid_query"
    )
    assert (
        api.get(amina.key("campaigns.read"), f"/campaigns/{campaign}/messages").reason
        == "missing_permission"
    )
    customer = api.post(
        amina, "/connect/customers", {"full_name": "dede", "phone": PHONE, "country_code": "GH"}
    ).data["id"]
    assert (
        api.get(amina, f"/campaigns/{campaign}/messages", customer_id=customer).reason
        == "no_such_record"
    ), "it is amina's own"
