"""Campaigns in the portal are written down, shown as recipients get them, priced, launched,
scheduled and steered.
"""

import html
import re
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import accounts, campaigns, senders
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.base.paging import PageWanted
from heliograph.database.database import Database
from heliograph.users import Role
from heliograph.wallet import ledger
from heliograph.wallet.tables import wallets
from tests.support.api.service import Loop
from tests.support.capability.campaigning import Running
from tests.support.capability.campaigns import (
    add_contacts,
    now,
    write_down,
    write_down_file,
    written,
)
from tests.support.capability.sending import House
from tests.support.factories import grant, open_account, open_route, phones
from tests.support.portal.campaign_pages import FORM, HOSTILE, path_of, those_of, words_of
from tests.support.portal.visitor import EMAIL, Visitor, home_of

PEOPLE: list[dict[str, Any] | str] = [
    {"phone": "233200000000", "name": "Ama", "tags": ["gold"], "custom": {"shop": "Accra"}},
    {"phone": "233200000001", "name": "Kofi", "tags": ["gold"], "opted_out": True},
    {"phone": "233200000002", "name": HOSTILE, "tags": ["new"]},
    {"phone": "233200000003", "tags": ["a, b"]},
    {"phone": "233200000004", "name": "Yaw"},
]
REACHED = [233200000000, 233200000002, 233200000003]  # by the tags gold, new and "a, b"
HOUR_MS = 3_600_000


@pytest.fixture
def ready(db: Database, amina_id: str) -> None:
    """Amina has ten credits, a route, and contacts."""
    open_route(db)
    grant(db, amina_id, 10)
    add_contacts(db, amina_id, PEOPLE)


@pytest.mark.usefixtures("ready")
def test_a_campaign_is_written_looked_at_and_launched(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/campaigns/new")
    text = "Hi {name|friend},\r\n{shop|our shop} is open."
    tags = {"audience": "tags", "tags": " gold \r\na, b\r\nnew"}
    answer = visitor.post(f"{home}/campaigns/new", {**FORM, "message": text, **tags})
    [draft] = those_of(db, amina_id)
    assert (answer.status_code, answer.headers["location"]) == (303, path_of(home, draft))
    assert draft.audience.tags == ("gold", "a, b", "new")
    page = visitor.get(path_of(home, draft)).text
    assert "Hi Ama,\nAccra is open." in page
    assert "Hi friend,\nour shop is open." in page
    assert "Hi &lt;script&gt;alert(1)&lt;/script&gt;,\nour shop is open." in page
    assert "<script>" not in page
    assert re.findall(r"<figcaption>(\d+)", page) == [str(number) for number in REACHED]
    assert "Recipients 3 Segments 3 Credits 3 Credits left 7" in words_of(page)
    asked = words_of(visitor.get(f"{path_of(home, draft)}/launch").text)
    assert "3 segments from AMINA to 3 recipients" in asked
    assert "Credits 3 The wallet holds 10 Left afterwards 7 Opted out 1" in asked
    assert now(db, draft).status == "draft"
    for _ in range(2):  # as by two clicks
        answer = visitor.post(f"{path_of(home, draft)}/launch")
        assert (answer.status_code, answer.headers["location"]) == (303, path_of(home, draft))
    with db.read() as tx:
        done = [each.entry.action for each in audit_log.page(tx, amina_id, PageWanted(100, None))]
    assert done.count("campaign.launch") == 1
    assert "It is about to start" in visitor.get(path_of(home, draft)).text
    assert campaigns.start_due(db) == [draft.id]
    assert list(written(db, draft)) == REACHED
    page = visitor.get(path_of(home, draft)).text
    assert "0 of 3 messages have left" in page
    assert f'/messages?campaignId={campaigns.text_id(draft)}&amp;mode=live"' in page


@pytest.mark.usefixtures("ready")
def test_what_cannot_be_launched_says_why_and_stays_a_draft(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    dear = write_down(db, amina_id, message="x" * 459)
    nobodys = write_down(db, amina_id, tags=["silver"])
    with db.write() as tx:
        [sender] = senders.usable(tx, amina_id, sandbox=False)
    for draft, why in (
        (dear, "This campaign takes 12 credits; the wallet holds 10."),
        (nobodys, "There is nobody to send this campaign to (its audience is empty)."),
    ):
        visitor.get(f"{path_of(home, draft)}/launch")
        refused = visitor.post(f"{path_of(home, draft)}/launch")
        assert why in html.unescape(refused.text)
        assert refused.status_code in (400, 402)
        assert now(db, draft).status == "draft"
    assert "Missing 2" in words_of(visitor.get(f"{path_of(home, dear)}/launch").text)
    with db.write() as tx:
        senders.suspend(tx, sender.id, "It was stolen.", now_ms=clock.now_ms())
    as_far = {"as_far_as_credits_reach": "yes"}
    refused = visitor.post(f"{path_of(home, dear)}/launch", as_far)
    assert "sender must be one that is approved" in refused.text
    assert now(db, dear).status == "draft"
    with db.write() as tx:
        senders.approve(tx, sender.id, now_ms=clock.now_ms())
    assert visitor.post(f"{path_of(home, dear)}/launch", as_far).status_code == 303
    assert campaigns.start_due(db) == [dear.id]


@pytest.mark.usefixtures("ready")
def test_what_the_daily_cap_leaves_of_today_is_said_before_a_launch(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    draft, sandbox = write_down(db, amina_id), write_down(db, amina_id, sandbox=True)
    today = clock.now_ms() // DAY_MS
    with db.write() as tx:
        tx.execute(
            wallets.update()
            .where(wallets.c.account_id == amina_id)
            .values(spent_day=today, spent_credits=2)
        )
    said = "the account can still spend {} The campaign pauses then{}"
    tomorrow = ", and goes on by itself tomorrow (UTC)."
    each_day = ", and goes on by itself each day (UTC). It takes {} more days, or longer if other"
    for cap, left, goes_on in (
        *((None, None, ""), (6, None, "")),
        (5, "3 credits today.", tomorrow),
        (3, "1 credit today.", tomorrow),
        (2, "0 credits today.", each_day.format(2)),
        (1, "0 credits today.", each_day.format(4)),
        (0, "0 credits today.", ". It goes on when the cap is raised."),
    ):
        with db.write() as tx:
            accounts.change(tx, amina_id, daily_credits=cap)
        for path in (path_of(home, draft), f"{path_of(home, draft)}/launch"):
            page = words_of(visitor.get(path).text)
            assert ("By its daily cap" in page) == (left is not None)
            assert left is None or said.format(left, goes_on) in page
    assert "By its daily cap" not in visitor.get(f"{path_of(home, sandbox)}/launch").text
    with db.write() as tx:  # what was spent on another day does not count
        tx.execute(wallets.update().values(spent_day=today - 1))
        accounts.change(tx, amina_id, daily_credits=4)
    assert "By its daily cap" not in visitor.get(f"{path_of(home, draft)}/launch").text


@pytest.mark.usefixtures("ready")
def test_a_campaign_is_scheduled_by_the_clocks_of_its_account_moved_and_canceled(
    at_noon: None, visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        accounts.change(tx, amina_id, time_zone="Asia/Kolkata")
    draft = write_down(db, amina_id)
    path = path_of(home, draft)
    day = f"{datetime.fromtimestamp(clock.now_ms() / 1_000, UTC):%Y-%m-%d}"
    visitor.get(path)
    as_far = {"as_far_as_credits_reach": "yes"}
    for at, why in (
        (f"{day}T17:00", "must be in the future"),
        (HOSTILE, "must be a time such as"),
        ("", "must be a time such as"),
        ("9999-12-31T23:59", "must be within a year"),
    ):
        refused = visitor.post(path, {"do": "schedule", "at": at, **as_far})
        assert refused.status_code == 400
        assert f'<span class="wrong" id="at-error">{why}' in refused.text
        assert f'name="at" value="{html.escape(at)}"' in refused.text
        assert "checked" in refused.text
        assert "<script>" not in refused.text
        assert now(db, draft) == draft
    assert visitor.post(path, {"do": "schedule", "at": f"{day}T18:00", **as_far}).status_code == 303
    found = now(db, draft)
    assert found.scheduled_at_ms == clock.now_ms() // HOUR_MS * HOUR_MS + HOUR_MS // 2
    assert found.as_far_as_credits_reach
    assert f"{day} 18:00 IST" in visitor.get(path).text
    visitor.post(path, {"do": "schedule", "at": f"{day}T19:00"})
    assert now(db, draft).scheduled_at_ms == found.scheduled_at_ms + HOUR_MS
    assert not now(db, draft).as_far_as_credits_reach
    assert visitor.post(path, {"do": "cancel"}).status_code == 303
    assert now(db, draft).status == "canceled"
    page = visitor.get(path).text
    assert "Launch …" not in page
    assert "Cancel …" not in page


@pytest.mark.usefixtures("ready")
def test_a_campaign_to_the_numbers_of_a_file_is_shown_like_others(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    lines = [f"{phone},{number}" for number, phone in enumerate(phones(4, first=50))]
    filled = write_down_file(db, amina_id, lines, columns="phone,owed", message="You owe {owed}.")
    page = visitor.get(path_of(home, filled)).text
    assert re.findall(r"You owe \d", page) == ["You owe 0", "You owe 1", "You owe 2"]
    assert "the numbers of a file" in page
    same = write_down_file(db, amina_id, phones(2, first=60), message="We open at nine.")
    page = visitor.get(path_of(home, same)).text
    assert page.count(">We open at nine.</blockquote>") == 1 + 2
    assert "Recipients 2 Segments 2 Credits 2 Credits left 8" in words_of(page)


@pytest.mark.usefixtures("ready")
def test_who_cannot_be_sent_to_is_told(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    draft = write_down(db, amina_id, message="{shop}{nmae}", tags=["gold", "new"])
    words = words_of(visitor.get(path_of(home, draft)).text)
    assert "Nothing can be sent to this contact. empty_text" in words
    assert "Cannot be sent to 1: empty_text" in words
    assert "None of the 2 contacts of the audience has a value for {nmae}" in words


@pytest.mark.usefixtures("ready")
def test_one_that_could_not_start_says_why_and_is_written_anew(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    draft = write_down(db, amina_id, name=HOSTILE, message="Hi {name}", tags=["gold", "a, b"])
    like = f"{home}/campaigns/new?from={campaigns.text_id(draft)}"
    assert like in visitor.get(path_of(home, draft)).text
    visitor.post(f"{path_of(home, draft)}/launch")
    with db.write() as tx:
        ledger.adjust_credits(tx, amina_id, -10, "spent", now_ms=clock.now_ms())
    assert campaigns.start_due(db) == []
    page = visitor.get(path_of(home, draft)).text
    assert "failed insufficient_credits The wallet holds too few credits." in words_of(page)
    assert like in page
    form = visitor.get(like).text
    assert f'name="name" value="{html.escape(HOSTILE)}"' in form
    assert ">\nHi {name}</textarea>" in form
    assert ">\ngold\na, b</textarea>" in form
    assert 'value="tags" checked' in form
    assert "<script>" not in page + form
    theirs = write_down(db, open_account(db, "chidi"), name="Secret plans")
    assert visitor.get(f"{home}/campaigns/new?from={campaigns.text_id(theirs)}").status_code == 404


def test_its_figures_are_shown_while_it_is_sent_paused_and_resumed(
    house: House, visitor: Visitor, run_loop: Loop
) -> None:
    visitor.sign_in(EMAIL, house.amina_id)
    home = home_of(house.db, house.amina_id)

    async def begin() -> Running:
        running = Running(house, 5)
        await running.look()
        return running

    running = run_loop(begin())
    path = path_of(home, running.campaign)
    page = visitor.get(path).text
    assert "0 of 5 messages have left" in page
    assert "Queued 5 Sent 0 Delivered 0 Failed 0 Opted out 0 Credits used 5" in words_of(page)
    for do, status in (("pause", "paused"), ("resume", "sending")):
        assert visitor.post(path, {"do": do}).headers["location"] == path
        assert running.state()[0] == status
        again = visitor.post(path, {"do": do})  # in another tab
        assert (again.status_code, again.headers["location"]) == (303, path)
        assert running.state()[0] == status
        page = visitor.get(path).text
        assert '<p class="toast" role="status">That was done already</p>' in page
        assert 'role="alert"' not in page.replace('role="alert" hidden', "")
    late = visitor.post(f"{path}/launch")
    assert (late.status_code, late.headers["location"]) == (303, path)
    assert '"status">That was done already</p>' in visitor.get(path).text
    with house.db.read() as tx:
        told = [
            each.entry.action for each in audit_log.page(tx, house.amina_id, PageWanted(9, None))
        ]
    assert told == ["campaign.resume", "campaign.pause"]
    run_loop(running.send())
    words = words_of(visitor.get(path).text)
    assert "5 of 5 messages have left" in words
    assert "Queued 0 Sent 0 Delivered 5" in words
    assert "100.0 % delivered" in words
    assert f'href="{path}">campaign</a>' in visitor.get(f"{home}/money").text
    row = words_of(visitor.get(f"{home}/campaigns").text)
    assert "Spring sending live AMINA just now 5 5" in row
    for rate, said in ((1, "1 message a second"), (2, "2 messages a second")):
        with house.db.write() as tx:
            tx.execute(sa.text("UPDATE campaigns SET rate = :rate"), {"rate": rate})
        assert f"Rate {said} at most" in words_of(visitor.get(path).text)
    run_loop(house.close())


@pytest.mark.judged_in_python
def test_the_list_has_both_modes_and_pages(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    assert "There is no campaign yet" in visitor.get(f"{home}/campaigns").text
    names = [f"Offer {number}" for number in range(5)]
    for number, name in enumerate(names):
        write_down(db, amina_id, name=name, sandbox=number % 2 == 1)
    found = [
        re.findall(r"Offer \d", page.text) for page in visitor.pages(f"{home}/campaigns?limit=2")
    ]
    assert found == [["Offer 4", "Offer 3"], ["Offer 2", "Offer 1"], ["Offer 0"]]
    assert visitor.get(f"{home}/campaigns?cursor=x").status_code == 400


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("role", list(Role))
def test_only_who_works_with_campaigns_changes_one(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    draft, other = write_down(db, amina_id), write_down(db, amina_id)
    visitor.sign_in(EMAIL, amina_id, role)
    home = home_of(db, amina_id)
    may = role in (Role.OWNER, Role.MARKETER)
    assert ("Write a campaign" in visitor.get(f"{home}/campaigns").text) == may
    assert ("Launch …" in visitor.get(path_of(home, draft)).text) == may
    for where in (f"{home}/campaigns/new", f"{path_of(home, draft)}/launch"):
        assert visitor.get(where).status_code == (200 if may else 403)
    visitor.get(home)
    for where, fields in (
        (f"{home}/campaigns/new", FORM),
        (f"{path_of(home, draft)}/launch", {}),
        (path_of(home, other), {"do": "cancel"}),
    ):
        assert visitor.post(where, fields).status_code == (303 if may else 403)
    assert len(those_of(db, amina_id)) == 2 + may
    assert now(db, draft).status == ("scheduled" if may else "draft")
    assert now(db, other).status == ("canceled" if may else "draft")


@pytest.mark.usefixtures("ready")
def test_a_suspended_account_looks_and_changes_nothing(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    draft = write_down(db, amina_id)
    visitor.get(path_of(home, draft))
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    assert visitor.get(path_of(home, draft)).status_code == 200
    for where, fields in (
        (f"{home}/campaigns/new", FORM),
        (f"{path_of(home, draft)}/launch", {}),
        (path_of(home, draft), {"do": "cancel"}),
    ):
        refused = visitor.post(where, fields)
        assert refused.status_code == 403
        assert "This account is suspended" in refused.text
    assert those_of(db, amina_id) == [draft]


def test_nobody_sees_or_changes_a_campaign_of_another_account(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    theirs = write_down(db, open_account(db, "chidi"), name="Secret plans")
    none = f"{home}/campaigns/cmp_01k5zq3a7ee4s8t5wd1p0n9rjb"
    assert "Secret" not in visitor.get(f"{home}/campaigns").text
    for path in (path_of(home, theirs), none):
        for where in (path, f"{path}/launch"):
            seen = visitor.get(where)
            visitor.get(home)
            for page in (seen, visitor.post(where, {"do": "cancel"})):
                assert page.status_code == 404
                assert "There is no campaign with the id" in page.text
                assert "Secret" not in page.text
    assert now(db, theirs) == theirs


@pytest.mark.judged_in_python
@pytest.mark.parametrize("do", ["", "launch", HOSTILE, "x" * 5_000])
def test_what_is_no_button_does_nothing(
    visitor: Visitor, db: Database, amina_id: str, home: str, do: str
) -> None:
    draft = write_down(db, amina_id)
    visitor.get(path_of(home, draft))
    refused = visitor.post(path_of(home, draft), {"do": do})
    assert refused.status_code == 400
    assert "must be one of the buttons of this page" in refused.text
    assert "<script>" not in refused.text
    assert now(db, draft) == draft
