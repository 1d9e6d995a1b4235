"""The page of a campaign says why texts failed, and somebody sends a test to their own number."""

import re

import pytest
import sqlalchemy as sa

from heliograph.carriers import ReceiptState
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.reports import failure_reasons
from heliograph.messages.tables import messages, sends
from heliograph.users import Role
from tests.support.api.service import Loop
from tests.support.capability.campaigning import Running
from tests.support.capability.campaigns import add_contacts, write_down
from tests.support.capability.sending import House
from tests.support.factories import grant, open_route
from tests.support.portal.campaign_pages import path_of, words_of
from tests.support.portal.visitor import EMAIL, Visitor, home_of

STATES = [
    ReceiptState.DELIVRD,
    ReceiptState.UNDELIV,
    ReceiptState.EXPIRED,
    ReceiptState.UNDELIV,
]


def test_failures_are_counted_by_their_reason_and_of_a_large_campaign_the_newest(
    house: House, visitor: Visitor, run_loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor.sign_in(EMAIL, house.amina_id)

    async def run() -> Running:
        running = Running(house, 4, chunk=2)
        await running.look()
        await running.link.turn.run_once()
        for submission in list(running.link.open.values()):
            [ref] = running.link.answer(submission)
            state = STATES[int(submission.recipient) % 10]
            running.link.receive(ref, submission.recipient, state)
        await running.link.turn.run_once()
        return running

    running = run_loop(run())
    path = path_of(home_of(house.db, house.amina_id), running.campaign)
    page = visitor.get(path).text
    row = r"<code class=.beside.>(\w+)</code></td><td class=\"number ends\">(\d+)"
    assert re.findall(row, page) == [
        ("undeliverable", "2"),
        ("expired", "1"),
    ]
    assert "Often the number is not in use any more" in page
    assert "Of the newest" not in page
    monkeypatch.setattr(failure_reasons, "FAILURES_LOOKED_AT_MAX", 2)
    words = words_of(visitor.get(path).text)
    assert "Of the newest 2 messages." in words
    assert "undeliverable 1" in words
    run_loop(house.close())


def test_somebody_sends_a_test_to_his_or_her_own_number_once(
    visitor: Visitor, db: Database, amina_id: str, home: str, cache: ConfigCache, run_loop: Loop
) -> None:
    open_route(db)
    grant(db, amina_id, 10)
    run_loop(cache.refresh())
    add_contacts(db, amina_id, [{"phone": "233200000001", "name": "Ama"}, "233200000002"])
    draft = write_down(db, amina_id, message="Hi {name|friend}")
    path = path_of(home, draft)
    page = visitor.get(path).text
    once = re.findall(r'name="once" value="([\w-]+)"', page)[0]
    for to, text in (("0200000002", "Hi friend"), ("0209999999", "Hi Ama")):
        answer = visitor.post(f"{path}/test", {"to": to, "once": once + to})
        assert answer.status_code == 303
        again = visitor.post(f"{path}/test", {"to": to, "once": once + to})
        assert again.headers["location"] == answer.headers["location"]
        assert text in visitor.get(answer.headers["location"]).text
    other = visitor.post(f"{path}/test", {"to": "0200000002", "once": f"{once}0209999999"})
    assert other.status_code == 409
    assert "This form was sent before, with something else in it." in other.text
    with db.read() as tx:
        assert tx.execute(sa.select(sa.func.sum(messages.c.credits))).scalar_one() == 2
        assert set(tx.execute(sa.select(sends.c.group_id)).scalars()) == {None}
    page = visitor.get(path).text
    refused = visitor.post(f"{path}/test", {"to": "12"})
    assert refused.status_code == 400
    assert "must be a phone number such as 233201234567" in refused.text
    assert 'name="to" value="12"' in refused.text


def test_a_test_costs_what_the_wallet_has_and_viewers_send_none(
    visitor: Visitor, db: Database, amina_id: str, home: str, cache: ConfigCache, run_loop: Loop
) -> None:
    open_route(db)
    run_loop(cache.refresh())
    add_contacts(db, amina_id, ["233200000001"])
    path = path_of(home, write_down(db, amina_id))
    visitor.get(path)
    refused = visitor.post(f"{path}/test", {"to": "0200000001", "once": "x"})
    assert refused.status_code == 402
    assert "credits" in refused.text.partition('role="alert">')[2].partition("<")[0]
    visitor.sign_in("viewer@example.com", amina_id, Role.VIEWER)
    assert "Send yourself a test" not in visitor.get(path).text
    assert visitor.post(f"{path}/test", {"to": "0200000001", "once": "x"}).status_code == 403
