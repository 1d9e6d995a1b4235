"""Operators see an account's campaigns in the console, and pause, resume and cancel one."""

import pytest

from heliograph import accounts, campaigns
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.campaigns import Campaign, states
from heliograph.campaigns.campaign import by_id
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from tests.support.capability.campaigns import add_contacts, now, write_down
from tests.support.console.logs import logged, told
from tests.support.console.looked_up import page_of
from tests.support.console.operators import sign_in_operator
from tests.support.factories import grant, open_account, open_carrier, phones
from tests.support.portal.visitor import Visitor

X = {"reason": "complaints"}
TEXT = "mangoes are back"


@pytest.fixture
def sending(db: Database, amina_id: str) -> Campaign:
    """Returns a campaign of amina's that is being sent to three people."""
    open_carrier(db, "gh-main")
    grant(db, amina_id, credits=7)
    add_contacts(db, amina_id, phones(3))
    drafted = write_down(db, amina_id, message=TEXT)
    return campaigns.launch(db, drafted.id).campaign


def path_of(db: Database, campaign: Campaign) -> str:
    return f"{page_of(db, campaign.account_id)}/campaigns/{campaigns.text_id(campaign)}"


def test_a_campaign_is_paused_resumed_and_canceled_with_a_line_in_each_log(
    visitor: Visitor, db: Database, sending: Campaign
) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    account, path = page_of(db, sending.account_id), path_of(db, sending)
    assert f'href="{account}/campaigns"' in visitor.get(account).text
    listed = visitor.get(f"{account}/campaigns").text
    assert f'href="{path}">Spring<' in listed
    assert 'data-name="Messages">3<' in listed
    assert "It stops for 3 recipients whose messages have not left" in visitor.get(path).text
    for do, status in (("pause", "paused"), ("resume", "sending"), ("cancel", "canceled")):
        visitor.get(path)
        done = visitor.post(path, {"do": do, **X})
        assert (done.status_code, done.headers["location"]) == (303, path)
        assert now(db, sending).status == status
        assert f'class="badge {status}"' in visitor.get(path).text
    assert "nothing can be done with it any more" in visitor.get(path).text
    assert f'action="{path}"' not in visitor.get(path).text
    changes = [(each.action, each.before, each.after) for each in logged(db)]
    assert changes == [
        ("campaign.cancel", "Spring: sending", "Spring: canceled"),
        ("campaign.resume", "Spring: paused (paused_by_operator)", "Spring: sending"),
        ("campaign.pause", "Spring: sending", "Spring: paused (paused_by_operator)"),
    ]
    assert {(each.record, each.reason) for each in logged(db)} == {
        (campaigns.text_id(sending), "complaints")
    }
    assert told(db, sending.account_id) == ["campaign.cancel", "campaign.resume", "campaign.pause"]


def test_the_text_of_a_campaign_is_on_no_page_of_the_console(
    visitor: Visitor, db: Database, sending: Campaign
) -> None:
    sign_in_operator(visitor, db)
    account = page_of(db, sending.account_id)
    for path in (account, f"{account}/campaigns", path_of(db, sending)):
        page = visitor.get(path)
        assert (page.status_code, TEXT in page.text) == (200, False), path


def test_one_that_has_paused_by_itself_is_kept_from_going_on(
    visitor: Visitor, db: Database, sending: Campaign
) -> None:
    sign_in_operator(visitor, db)
    with db.write() as tx:
        campaigns.pause(tx, sending.id, states.INSUFFICIENT_CREDITS)
    path = path_of(db, sending)
    assert "Keep the campaign paused" in visitor.get(path).text
    assert visitor.post(path, {"do": "pause", **X}).status_code == 303
    assert now(db, sending).status_reason == states.PAUSED_BY_OPERATOR
    assert "Keep the campaign paused" not in visitor.get(path).text
    [entry] = logged(db)
    assert entry.before == "Spring: paused (insufficient_credits)"


def test_what_is_so_already_is_told_of_quietly(
    visitor: Visitor, db: Database, sending: Campaign
) -> None:
    sign_in_operator(visitor, db)
    path = path_of(db, sending)
    visitor.get(path)
    sent = [{"do": "cancel", **X}] * 2
    answers = visitor.post_at_once(path, sent, lambda tx: by_id(tx, sending.id, lock=True))
    assert [answer.status_code for answer in answers] == [303, 303]
    late = visitor.post(path, sent[0])
    assert "That was done already" in visitor.get(late.headers["location"]).text
    assert len(logged(db)) == 1


def test_what_the_command_refuses_the_page_refuses_with_the_same_words(
    visitor: Visitor, db: Database, sending: Campaign
) -> None:
    sign_in_operator(visitor, db)
    path = path_of(db, sending)
    with db.write() as tx:
        campaigns.pause(tx, sending.id)
        accounts.suspend(tx, sending.account_id)
    visitor.get(path)
    refused = visitor.post(path, {"do": "resume", **X})
    assert refused.status_code == 400
    assert "The account is suspended: it sends nothing." in refused.text
    assert 'value="complaints"' in refused.text, "what was typed stays"
    with db.write() as tx:
        campaigns.cancel(tx, sending.id, now_ms=clock.now_ms())
    refused = visitor.post(path, {"do": "pause", **X})
    assert refused.status_code == 400
    assert "This campaign is canceled; only one that is sending can become paused." in refused.text
    assert list(logged(db)) == []


def test_a_campaign_that_is_scheduled_can_be_canceled_only(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    draft = write_down(db, amina_id)
    with db.write() as tx:
        campaigns.schedule(tx, draft.id, clock.now_ms() + DAY_MS)
    path = path_of(db, draft)
    page = visitor.get(path).text
    assert ("Pause the campaign" in page, "Resume the campaign" in page) == (False, False)
    assert "Nothing of it was sent." in page
    assert visitor.post(path, {"do": "cancel", **X}).status_code == 303
    assert now(db, draft).status == states.CANCELED


def test_a_campaign_of_another_account_is_not_found_there(
    visitor: Visitor, db: Database, sending: Campaign
) -> None:
    sign_in_operator(visitor, db)
    chidi = page_of(db, open_account(db, "chidi"))
    path = f"{chidi}/campaigns/{campaigns.text_id(sending)}"
    visitor.get(chidi)
    assert visitor.get(path).status_code == 404
    assert visitor.post(path, {"do": "cancel", **X}).status_code == 404
    assert now(db, sending).status == states.SENDING


@pytest.mark.judged_in_python
def test_who_lacks_the_right_sees_a_campaign_and_stops_none(
    visitor: Visitor, db: Database, sending: Campaign
) -> None:
    path = path_of(db, sending)
    sign_in_operator(visitor, db, OperatorRole.FINANCE)
    assert f'action="{path}"' not in visitor.get(path).text
    assert visitor.post(path, {"do": "cancel", **X}).status_code == 403
    assert now(db, sending).status == states.SENDING


@pytest.mark.judged_in_python
def test_a_campaign_is_stopped_with_a_reason_and_a_fresh_sign_in(
    visitor: Visitor, db: Database, sending: Campaign
) -> None:
    path = path_of(db, sending)
    sign_in_operator(visitor, db)
    visitor.get(path)
    page = visitor.post(path, {"do": "cancel", "reason": ""})
    assert (page.status_code, page.text.count('id="reason-error"')) == (400, 1)
    clock.move(11 * 60_000)
    assert "Confirm that it is you" in visitor.post(path, {"do": "cancel", **X}).text
    assert now(db, sending).status == states.SENDING
