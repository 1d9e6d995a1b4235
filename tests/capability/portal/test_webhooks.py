"""The portal has webhook endpoints, their secrets, a sample to a real receiver, and events that are
delivered again.
"""

import asyncio
import html
import re

import pytest

from heliograph import accounts
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import Role
from heliograph.users.sign_ins import FRESH_MS
from heliograph.webhooks import endpoints, history
from heliograph.webhooks.endpoints import WebhookEndpoint
from heliograph.webhooks.tables import KINDS
from tests.support.api.service import Loop
from tests.support.capability.webhooks import (
    NOWHERE,
    checked,
    endpoint,
    outcomes,
    waiting,
)
from tests.support.factories import open_account
from tests.support.portal.visitor import EMAIL, Visitor, home_of
from tests.support.portal.webhook_pages import exhaust, happens, path_of
from tests.support.wire.webhook_receiver import OK, receiver_in_a_thread, says

SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")
SLOW_S = 2.0
URL = "https://shop.example/hook"


def those_of(db: Database, account_id: str) -> list[WebhookEndpoint]:
    with db.read() as tx:
        return endpoints.all_endpoints(tx, account_id, limit=10)


def test_an_endpoint_is_added_and_its_secret_shown(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    visitor.get(f"{home}/webhooks/new")
    page = visitor.post(
        f"{home}/webhooks/new",
        {"url": f" {URL} ", "mode": "sandbox", "hears message.failed": "yes"},
    )
    [secret] = set(SECRET.findall(html.unescape(page.text)))
    assert page.status_code == 200
    [made] = those_of(db, amina_id)
    assert (made.url, made.sandbox, made.kinds) == (URL, True, ("message.failed",))
    assert not made.include_customers
    listed = visitor.get(f"{home}/webhooks").text
    assert f'href="{path_of(home, made)}">{URL}</a>' in listed
    assert not SECRET.search(listed)
    assert ">message.failed</td>" in listed
    visitor.get(path_of(home, made))
    assert secret in html.unescape(visitor.post(f"{path_of(home, made)}/secret").text)


def test_an_endpoint_of_all_kinds_hears_everything_and_one_of_five_does_not(
    visitor: Visitor, home: str
) -> None:
    for number, kinds in enumerate((KINDS, KINDS[:5])):
        visitor.get(f"{home}/webhooks/new")
        chosen = {f"hears {kind}": "yes" for kind in kinds}
        visitor.post(f"{home}/webhooks/new", {"url": f"{URL}/{number}", "mode": "live", **chosen})
    listed = visitor.get(f"{home}/webhooks").text
    assert (listed.count(">everything</td>"), listed.count(f">{', '.join(KINDS[:5])}</td>")) == (
        1,
        1,
    )


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({}, "url"),
        ({"url": "http://shop.example/hook", "hears message.sent": "yes"}, "url"),
        ({"url": "https://10.0.0.1/hook", "hears message.sent": "yes"}, "url"),
        ({"url": "https://<script>", "hears message.sent": "yes"}, "url"),
        ({"url": URL}, "events"),
        ({"url": URL, "hears everything": "yes"}, "events"),
        ({"url": URL, "hears message.sent": "yes", "mode": "test"}, "mode"),
    ],
    ids=str,
)
def test_what_cannot_be_added_is_told_at_its_field_and_kept(
    visitor: Visitor, db: Database, amina_id: str, home: str, fields: dict[str, str], at: str
) -> None:
    visitor.get(f"{home}/webhooks/new")
    page = visitor.post(f"{home}/webhooks/new", fields)
    assert page.status_code == 400
    assert f'id="{at}-error"' in page.text
    assert f'name="url" value="{html.escape(fields.get("url", ""))}"' in page.text
    assert "<script>" not in page.text
    assert those_of(db, amina_id) == []


def test_an_address_is_judged_while_it_is_typed_as_it_is_when_it_is_added(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    for url in ("h", "http://shop.example/hook", "https://10.0.0.1/hook", "https://<script>"):
        visitor.get(f"{home}/webhooks/new")
        added = visitor.post(f"{home}/webhooks/new", {"url": url, "hears message.sent": "yes"})
        visitor.get(f"{home}/webhooks/new")
        judged = visitor.post(f"{home}/webhooks/new/address", {"url": url})
        [said] = re.findall(r'<span class="wrong" id="url-error">.+</span>', judged.text)
        assert judged.status_code == 200
        assert said in added.text
    visitor.get(f"{home}/webhooks/new")
    assert "can be sent there" in visitor.post(f"{home}/webhooks/new/address", {"url": URL}).text
    visitor.get(f"{home}/webhooks/new")
    nothing = visitor.post(f"{home}/webhooks/new/address", {"url": ""})
    assert nothing.text.strip() == ""
    assert those_of(db, amina_id) == []


def test_a_sample_reaches_a_real_receiver_and_its_answer_is_shown(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with receiver_in_a_thread(says(OK)) as receiver:
        made, secret = endpoint(db, amina_id, receiver.url())
        visitor.get(path_of(home, made))
        page = visitor.post(f"{path_of(home, made)}/test")
        assert checked(receiver, secret)["event"] == "message.delivered"
    assert page.status_code == 200
    assert ">delivered</span>" in page.text
    assert "<code>ok</code>" in page.text


def test_a_sample_that_is_clicked_twice_is_one_event(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    with receiver_in_a_thread(says(OK)) as receiver:
        made, _ = endpoint(db, amina_id, receiver.url())
        visitor.get(path_of(home, made))
        visitor.post_twice(f"{path_of(home, made)}/test", {"once": "of this form"})
        visitor.post(f"{path_of(home, made)}/test")
        sent = [re.findall(r"(?im)^webhook-id: (\S+)", head)[0] for head in receiver.heads]
    assert len(sent) == 3
    assert sent[0] == sent[1] != sent[2]


def test_a_sample_that_nobody_takes_says_why(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made, _ = endpoint(db, amina_id, NOWHERE)
    visitor.get(path_of(home, made))
    page = visitor.post(f"{path_of(home, made)}/test").text
    assert ">failed</span>" in page
    assert "no answer" in page


def test_receivers_that_are_slow_keep_nobody_from_a_page(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(SLOW_S)
        await says(OK)(writer)

    with receiver_in_a_thread(slow) as receiver:
        made, _ = endpoint(db, amina_id, receiver.url())
        visitor.get(path_of(home, made))
        took_s = visitor.get_beside(home, f"{path_of(home, made)}/test", 6)
    assert visitor.page.status_code == 200
    assert took_s < SLOW_S / 2


def test_a_secret_is_replaced_and_the_former_one_ended(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made, former = endpoint(db, amina_id)
    path = path_of(home, made)
    visitor.get(path)
    page = html.unescape(visitor.post(f"{path}/secret", {"do": "rotate"}).text)
    [secret] = set(SECRET.findall(page))
    assert secret != former
    assert those_of(db, amina_id)[0].former_until_ms is not None
    again = visitor.post(f"{path}/secret", {"do": "rotate"})
    assert again.status_code == 400
    assert "is being rotated already" in again.text
    assert visitor.post(path, {"do": "finish"}).status_code == 303
    assert those_of(db, amina_id)[0].former_until_ms is None


def test_an_endpoint_is_disabled_enabled_and_removed(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made, _ = endpoint(db, amina_id)
    path = path_of(home, made)
    for do, is_disabled in (("disable", True), ("enable", False)):
        visitor.get(path)
        assert visitor.post(path, {"do": do}).headers["location"] == path
        assert (those_of(db, amina_id)[0].disabled_at_ms is not None) == is_disabled
    visitor.get(path)
    assert visitor.post(path, {"do": "remove"}).headers["location"] == f"{home}/webhooks"
    assert those_of(db, amina_id) == []
    assert visitor.get(path).status_code == 404


def test_events_are_shown_and_delivered_again(
    visitor: Visitor, run_loop: Loop, db: Database, amina_id: str, home: str
) -> None:
    made, _ = endpoint(db, amina_id)
    path = path_of(home, made)
    assert "Nothing has happened yet" in visitor.get(path).text
    run_loop(happens(db, amina_id, 3))
    assert visitor.get(path).text.count(">waiting</span>") == 3
    assert "Everything was delivered" in visitor.get(f"{path}?show=failed").text
    exhaust(db)
    page = visitor.get(f"{path}?show=failed").text
    assert page.count(">exhausted</span>") == 3
    relative = re.findall(
        r"<time datetime=\"([^\"]+)\" title=\"([^\"]+)\">(?:just now|1 min ago)<", page
    )
    assert len(relative) >= 3, "an event says how long ago it was made, and exactly when on hover"
    assert all(f"{machine[:19].replace('T', ' ')} UTC" == shown for machine, shown in relative)
    event = page.partition('name="event" value="')[2].partition('"')[0]
    with db.read() as tx:
        sent = history.request(tx, made, event).body
    told = visitor.get(f"{path}/events/{event}").text
    assert "&lt;script&gt;" in told
    assert "<script>" not in told
    assert sent in html.unescape(told), "the request, as it is posted"
    assert "Nothing was tried yet" in told
    found = visitor.get(f"{home}/messages?find={event}")
    assert found.headers["location"] == f"{path}/events/{event}"
    other, _ = endpoint(db, amina_id, kinds=["message.failed"])
    assert visitor.get(f"{path_of(home, other)}/events/{event}").status_code == 404
    visitor.get(path)
    assert visitor.post(path, {"do": "replay", "event": event}).status_code == 303
    assert (len(waiting(db)), len(outcomes(db))) == (1, 2)


@pytest.mark.judged_in_python
@pytest.mark.parametrize("do", ["", "reveal", "<script>", "x" * 5_000])
def test_what_is_no_button_does_nothing(
    visitor: Visitor, db: Database, amina_id: str, home: str, do: str
) -> None:
    made, _ = endpoint(db, amina_id)
    visitor.get(path_of(home, made))
    refused = visitor.post(path_of(home, made), {"do": do})
    assert refused.status_code == 400
    assert "<script>" not in refused.text
    assert those_of(db, amina_id) == [made]


@pytest.mark.parametrize("role", list(Role))
def test_only_who_works_with_webhooks_changes_one(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    made, _ = endpoint(db, amina_id)
    visitor.sign_in(EMAIL, amina_id, role)
    home = home_of(db, amina_id)
    path, may = path_of(home, made), role in (Role.OWNER, Role.DEVELOPER)
    assert ("Send a sample" in visitor.get(path).text) == may
    assert ("Add an endpoint" in visitor.get(f"{home}/webhooks").text) == may
    add = {"url": URL, "hears message.sent": "yes"}
    for where, fields, done in (
        (f"{home}/webhooks/new", add, 200),
        (f"{path}/secret", {}, 200),
        (f"{path}/secret", {"do": "rotate"}, 200),
        (f"{path}/test", {}, 200),
        (path, {"do": "disable"}, 303),
    ):
        assert visitor.post(where, fields).status_code == (done if may else 403)
    assert len(those_of(db, amina_id)) == 1 + may
    assert (those_of(db, amina_id)[0] != made) == may


def test_secrets_take_a_fresh_sign_in_and_a_suspended_account_changes_nothing(
    at_noon: None, visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    made, secret = endpoint(db, amina_id)
    path = path_of(home, made)
    visitor.get(path)
    clock.move(FRESH_MS)
    for where, fields in (
        (f"{path}/secret", {"do": "rotate"}),
        (path, {"do": "finish"}),
        (f"{home}/webhooks/new", {}),
    ):
        refused = visitor.post(where, fields)
        assert refused.status_code == 403
        assert "Confirm that it is you" in refused.text
        assert secret not in html.unescape(refused.text)
    clock.move(-FRESH_MS)
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    visitor.get(path)
    for where in (path, f"{path}/secret", f"{path}/test"):
        assert "suspended" in visitor.post(where, {"do": "disable"}).text
    assert those_of(db, amina_id) == [made]


def test_nobody_sees_or_changes_an_endpoint_of_another_account(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    theirs, secret = endpoint(db, chidi, "https://chidi.example/")
    assert "chidi" not in visitor.get(f"{home}/webhooks").text
    path = path_of(home, theirs)
    assert visitor.get(path).status_code == 404
    visitor.get(home)
    for where, do, status in (
        (path, "disable", 404),
        (path, "remove", 303),  # as for one that was removed already
        (f"{path}/secret", "rotate", 404),
        (f"{path}/test", "", 404),
    ):
        refused = visitor.post(where, {"do": do})
        assert refused.status_code == status
        assert secret not in html.unescape(refused.text)
    assert those_of(db, chidi) == [theirs]
