"""GET /campaigns lists an account's campaigns, and GET /campaigns/{id} shows one with its
statistics.
"""

import pytest
import sqlalchemy as sa

from heliograph import campaigns
from heliograph.base import ids
from heliograph.campaigns import Campaign
from heliograph.campaigns.tables import STATUSES
from heliograph.messages.tables import tallies
from tests.support.api.cast import Actor
from tests.support.api.service import Service
from tests.support.capability.campaigns import add_contacts, write_down

NOBODYS = ids.text_of_number("cmp", ids.new_number())


def text_id(campaign: Campaign) -> str:
    return campaigns.text_id(campaign)


def test_a_campaign_is_shown_with_statistics_that_are_sums_of_tallies(
    api: Service, amina: Actor
) -> None:
    add_contacts(amina.db, amina.account_id, ["233200000000", "233200000001"])
    draft = write_down(amina.db, amina.account_id, message="Hi {name}, {{now}}")
    campaign = campaigns.launch(amina.db, draft.id).campaign
    record = api.get(amina.key("campaigns.read"), f"/campaigns/{text_id(campaign)}").data
    nothing = {
        "queued": 0,
        "sent": 0,
        "delivered": 0,
        "failed": 0,
        "segments": 0,
        "credits_used": 0,
        "delivery_rate": None,
    }
    assert record == {
        "id": text_id(campaign),
        "name": "Spring",
        "status": "sending",
        "status_reason": None,
        "sender": "AMINA",
        "message": "Hi {name}, {{now}}",
        "recipients_total": 2,
        "scheduled_at": None,
        "started_at": record["started_at"],
        "completed_at": None,
        "created_at": record["created_at"],
        "sandbox": False,
        "statistics": nothing,
    }
    with amina.db.write() as tx:
        for slot, figures in enumerate(
            ((5, 1, 3, 0, 20, 18), (-2, 1, 0, 1, 0, -2), (0, -2, 999_996, 0, 0, 0))
        ):
            tx.execute(
                sa.insert(tallies).values(
                    group_id=campaign.group_id,
                    slot=slot,
                    **dict(
                        zip(
                            ("queued", "sent", "delivered", "failed", "segments", "credits"),
                            figures,
                            strict=True,
                        )
                    ),
                )
            )
    assert api.get(amina.key(), f"/campaigns/{text_id(campaign)}").data["statistics"] == {
        "queued": 3,
        "sent": 0,
        "delivered": 999_999,
        "failed": 1,
        "segments": 20,
        "credits_used": 16,
        "delivery_rate": 0.9999,
    }


def test_lists_are_newest_first_by_status_page_by_page_and_without_statistics(
    api: Service, amina: Actor
) -> None:
    made = [text_id(write_down(amina.db, amina.account_id, name=f"No {k}")) for k in range(3)]
    canceled = write_down(amina.db, amina.account_id)
    with amina.db.write() as tx:
        campaigns.cancel(tx, canceled.id, now_ms=1)
    key = amina.key()
    assert [one["id"] for one in api.get(key, "/campaigns", status="canceled").data] == [
        text_id(canceled)
    ]
    first = api.get(key, "/campaigns", status="draft", limit=2).body
    rest = api.get(key, "/campaigns", status="draft", limit=2, cursor=first["next_cursor"]).body
    assert [one["id"] for one in first["data"] + rest["data"]] == made[::-1]
    assert rest["next_cursor"] is None
    assert "statistics" not in first["data"][0]


@pytest.mark.parametrize(
    "query", [{"status": "done"}, {"statuz": "draft"}, {"limit": "0"}, {"cursor": "x"}]
)
def test_a_query_that_is_none_is_refused(api: Service, amina: Actor, query: dict[str, str]) -> None:
    reply = api.get(amina.key(), "/campaigns", **query)
    assert (reply.status, reply.reason) == (400, "invalid_query")
    if query.get("status") == "done":
        assert ", ".join(STATUSES) in reply.error["message"]


def test_others_campaigns_and_those_of_the_other_mode_are_not_found(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    campaign = text_id(write_down(amina.db, amina.account_id))
    for key in (chidi.key(), bilal.key(), amina.key(sandbox=True)):
        assert api.get(key, f"/campaigns/{campaign}").status == 404
        assert api.get(key, "/campaigns").data == []
    assert api.get(amina.key(), f"/campaigns/{NOBODYS}").status == 404
    assert api.get(amina.key("wallet.read"), "/campaigns").reason == "missing_permission"


def test_a_partner_reads_its_customers_campaigns(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    bilal.sender("AMINA")
    campaign = text_id(write_down(bilal.db, bilal.account_id))
    assert [
        one["id"] for one in api.get(amina.key(), "/campaigns", customer_id=bilal.text_id).data
    ] == [campaign]
    assert (
        api.get(amina.key(), f"/campaigns/{campaign}", customer_id=bilal.text_id).data["id"]
        == campaign
    )
    assert api.get(chidi.key(), "/campaigns", customer_id=bilal.text_id).status == 404
