"""GET /reports lists messages, newest first, by filters and page by page."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.base import ids
from heliograph.base.paging import PageWanted
from heliograph.messages.read import report_page
from heliograph.messages.tables import messages, sends
from tests.support.api.cast import PHONE, Actor
from tests.support.api.service import Service

OTHER = "233201234568"


def numbers(count: int) -> list[str]:
    # not …000 to …004, of which the simulator makes something special
    return [f"23324{k:05d}55" for k in range(count)]


def all_pages(api: Service, who: Actor | str, **query: Any) -> Iterator[list[str]]:
    """Yields the ids of each page, to the last one."""
    cursor: dict[str, str] = {}
    while True:
        reply = api.get(who, "/reports", **query, **cursor)
        assert reply.status == 200, reply
        yield reply.ids
        if reply.body["next_cursor"] is None:
            return
        cursor = {"cursor": reply.body["next_cursor"]}


def test_messages_are_listed_newest_first_as_they_are_one_by_one(
    api: Service, amina: Actor
) -> None:
    first = api.send(amina, [PHONE, OTHER], reference="a")["message_ids"]
    second = api.send(amina, [PHONE])["message_ids"]
    reply = api.get(amina, "/reports")
    assert reply.ids == [*second, *reversed(first)]
    assert reply.body["next_cursor"] is None
    for record in reply.data:
        alone = api.get(amina, f"/messages/{record['id']}").data
        assert alone.pop("timeline")
        assert (alone.pop("in_reply_to"), alone.pop("replies")) == (None, [])
        assert record == alone


def test_each_filter_narrows_the_list(api: Service, amina: Actor) -> None:
    first = api.send(amina, [PHONE, OTHER], reference="a")
    api.move_clock(10_000)
    second = api.send(amina, [PHONE], reference="b")
    with api.db.write() as tx:
        tx.execute(
            sa.update(messages)
            .where(messages.c.id == ids.raw_of_text("msg", first["message_ids"][0]))
            .values(status="failed", error_code="unknown", failed_at_ms=1)
        )
        tx.execute(
            sa.update(sends)
            .where(sends.c.id == ids.raw_of_text("snd", second["send_id"]))
            .values(type="otp", sender="Amina 2")
        )
    (to_phone, to_other), latest = first["message_ids"], second["message_id"]
    for query, wanted in (
        ({"send_id": first["send_id"]}, [to_other, to_phone]),
        ({"send_id": second["send_id"]}, [latest]),
        ({"send_id": ids.new("snd")}, []),
        ({"send_id": "?"}, []),
        ({"status": "failed"}, [to_phone]),
        ({"status": "queued"}, [latest, to_other]),
        ({"status": "sent"}, []),
        ({"type": "otp"}, [latest]),
        ({"type": "sms"}, [to_other, to_phone]),
        ({"sender": "AMINA 2"}, [latest]),
        ({"sender": "amina", "type": "sms"}, [to_other, to_phone]),
        ({"sender": "Amina 3"}, []),
        ({"recipient": PHONE, "sender": "amina 2"}, [latest]),
        ({"recipient": PHONE}, [latest, to_phone]),
        ({"recipient": f"+{OTHER}"}, [to_other]),
        ({"recipient": "233209999999"}, []),
        ({"recipient": PHONE, "status": "failed"}, [to_phone]),
        ({"recipient": PHONE, "type": "otp"}, [latest]),
        ({"reference": "a"}, [to_other, to_phone]),
        ({"reference": "c"}, []),
        ({"recipient": PHONE, "reference": "a"}, [to_phone]),
        ({"since": second["created_at"]}, [latest]),
        ({"until": second["created_at"]}, [to_other, to_phone]),
        ({"since": first["created_at"], "until": first["created_at"]}, []),
        ({"recipient": PHONE, "since": second["created_at"]}, [latest]),
        ({"recipient": PHONE, "until": second["created_at"]}, [to_phone]),
    ):
        reply = api.get(amina, "/reports", **query)
        assert (reply.status, reply.body["next_cursor"]) == (200, None), query
        assert reply.ids == wanted, query


@pytest.mark.parametrize("name", ["campaignId", "campaign_id"])
def test_an_unknown_campaign_is_not_found(api: Service, amina: Actor, name: str) -> None:
    for campaign_id in (ids.new("cmp"), "1"):
        reply = api.get(amina, "/reports", **{name: campaign_id})
        assert (reply.status, reply.code, reply.reason) == (404, "NOT_FOUND", "no_such_record")


def test_both_spellings_of_the_campaign_with_different_values_are_refused(
    api: Service, amina: Actor
) -> None:
    reply = api.get(amina, "/reports", campaignId="cmp_1", campaign_id="cmp_2")
    assert (reply.status, reply.reason, reply.bad_fields) == (400, "invalid_query", ["campaign_id"])


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "1001"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": ""}, "limit"),
        ({"status": "gone"}, "status"),
        ({"type": "mms"}, "type"),
        ({"recipient": "abc"}, "recipient"),
        ({"recipient": "12"}, "recipient"),
        ({"reference": "x" * 129}, "reference"),
        ({"since": "1"}, "since"),
        ({"cursor": "!"}, "cursor"),
        ({"cursor": "A" * 23}, "cursor"),
        ({"offset": "1"}, "offset"),
        ({"reference": "a\0"}, "reference"),
    ],
)
def test_a_bad_parameter_is_named(
    api: Service, amina: Actor, query: dict[str, str], field: str
) -> None:
    reply = api.get(amina, "/reports", **query)
    assert (reply.status, reply.reason, reply.bad_fields) == (400, "invalid_query", [field])


def test_all_bad_parameters_are_named_together(api: Service, amina: Actor) -> None:
    reply = api.get(amina, "/reports", limit="0", status="gone", since="soon", page="2")
    assert sorted(reply.bad_fields) == ["limit", "page", "since", "status"]


def test_nobody_sees_another_accounts_or_the_other_modes_messages(
    api: Service, amina: Actor, bilal: Actor, chidi: Actor
) -> None:
    live, sandbox = api.send(amina, [PHONE]), api.send(amina.key(sandbox=True), [PHONE])
    for query in (
        {},
        {"recipient": PHONE},
        {"send_id": live["send_id"]},
        {"send_id": sandbox["send_id"]},
        {"type": "sms"},
    ):
        assert api.get(chidi, "/reports", **query).ids == []
        assert api.get(bilal, "/reports", **query).ids == []
    assert api.get(amina, "/reports").ids == [live["message_id"]]
    assert api.get(amina.key(sandbox=True), "/reports", recipient=PHONE).ids == [
        sandbox["message_id"]
    ]
    assert api.get(amina, "/reports", customer_id=bilal.text_id).ids == []


def test_a_cursor_of_another_account_opens_nothing(
    api: Service, amina: Actor, chidi: Actor
) -> None:
    api.send(amina, numbers(3))
    cursor = api.get(amina, "/reports", limit=1).body["next_cursor"]
    assert api.get(chidi, "/reports", cursor=cursor).ids == []


def test_a_send_of_ten_thousand_is_paged_to_its_end(api: Service, amina: Actor) -> None:
    send = api.send(amina.key(sandbox=True), numbers(10_000))
    pages = list(all_pages(api, amina.key(sandbox=True), limit=1_000))
    assert [message_id for page in pages for message_id in page] == send["message_ids"][::-1]
    assert len(pages) == 10


def test_a_page_that_looks_for_something_rare_ends_early_and_goes_on(
    api: Service, amina: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_page, "LOOKED_AT_MAX", 20)
    monkeypatch.setattr(report_page, "_MESSAGES_AT_ONCE", 10)
    oldest = api.send(amina, numbers(1))["message_id"]
    api.send(amina, numbers(45))
    with api.db.write() as tx:
        tx.execute(
            sa.update(messages)
            .where(messages.c.id == ids.raw_of_text("msg", oldest))
            .values(status="sent", sent_at_ms=1)
        )
    assert list(all_pages(api, amina, status="sent", limit=5)) == [[], [], [oldest]]


@pytest.mark.parametrize("query", [{"sender": "Amina 2"}, {"type": "otp"}])
def test_a_page_looks_at_so_many_sends_for_a_rare_sender_or_type(
    api: Service, amina: Actor, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    monkeypatch.setattr(report_page, "LOOKED_AT_MAX", 20)
    monkeypatch.setattr(report_page, "_MESSAGES_AT_ONCE", 10)
    monkeypatch.setattr(report_page, "_SENDS_AT_ONCE", 4)
    oldest = api.send(amina, numbers(7))
    for _ in range(45):
        api.send(amina, [PHONE])
    with api.db.write() as tx:
        tx.execute(
            sa.update(sends)
            .where(sends.c.id == ids.raw_of_text("snd", oldest["send_id"]))
            .values(type="otp", sender="Amina 2")
        )
    first, *rest = reversed(oldest["message_ids"])
    assert list(all_pages(api, amina, **query, limit=1)) == [[], [first], *([x] for x in rest)]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.lists(st.integers(1, 7), max_size=6),
    meanwhile=st.lists(st.lists(st.integers(1, 3), max_size=2), max_size=5),
    limit=st.integers(1, 9),
    query=st.sampled_from(
        [
            {},
            {"status": "queued"},
            {"recipient": numbers(1)[0]},
            {"reference": "r"},
            {"sender": "amina"},
        ]
    ),
)
def test_paging_neither_repeats_nor_skips_while_messages_are_added(
    api: Service,
    amina: Actor,
    before: list[int],
    meanwhile: list[list[int]],
    limit: int,
    query: dict[str, str],
) -> None:
    with api.db.write() as tx:
        tx.execute(sends.delete())
        tx.execute(messages.delete())
    key = amina.key(sandbox=True)
    there = [
        message_id
        for count in before
        for message_id in api.send(key, numbers(count), reference="r")["message_ids"]
    ]
    if "recipient" in query:
        there = [
            record["id"] for record in reversed(api.get(key, "/reports", **query, limit=1_000).data)
        ]
    seen: list[str] = []
    for page in all_pages(api, key, limit=limit, **query):
        assert len(page) <= limit
        seen += page
        for count in meanwhile.pop() if meanwhile else []:
            api.send(key, numbers(count), reference="r")
    assert seen == there[::-1]


def test_limits_of_the_page_are_the_callers(api: Service, amina: Actor) -> None:
    api.send(amina, numbers(60))
    assert len(api.get(amina, "/reports").data) == 50
    assert len(api.get(amina, "/reports", limit="1000").data) == 60
    with api.db.read() as tx:
        page = report_page.report(
            tx, amina.account_id, PageWanted(60, None), report_page.Filters(), sandbox=False
        )
    assert page.next_before is None, "a full last page has no next one"
