"""The portal lists messages, and has a page of one message."""

import html
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import httpx
import pytest

from heliograph import accounts
from heliograph.base import clock, ids
from heliograph.carriers import ReceiptState
from heliograph.messages.states import ERROR_MESSAGES
from heliograph.messages.tables import ERROR_CODES, messages, sends
from heliograph.portal.message_pages.failure_advice import ADVICE
from tests.support.api.service import Loop
from tests.support.capability.sending import House
from tests.support.factories import PHONE, SENDER, open_account, phones
from tests.support.portal.sent_texts import SendText
from tests.support.portal.visitor import Visitor

NOBODYS = "01k5zq3a7ee4s8t5wd1p0n9rjb"
HOSTILE = [
    "<script>alert(1)</script>",
    "{{ 7 * 7 }} {% raw %} {# #}",
    "\"'><img src=x onerror=alert(1)>",
    "\u202egnp.exe\u202c \u2066x",
    "</blockquote></main>&lt;b&gt;&amp;",
]
NOT_DIVIDED = "The text does not fit these segments, so what each holds cannot be shown."


def listed(visitor: Visitor, path: str) -> list[str]:
    """Returns the ids of the messages on a page, in order."""
    return messages_on(visitor.get(path))


def messages_in(file: httpx.Response) -> list[str]:
    """Returns the ids of the messages in a file, in order."""
    assert file.status_code == 200, file.text
    return re.findall(r"msg_[0-9a-z]{26}", file.text)


def messages_on(page: httpx.Response) -> list[str]:
    assert page.status_code == 200, page.text
    return re.findall(r"/messages/(msg_[0-9a-z]{26})\"", page.text)


def shown(visitor: Visitor) -> str:
    """Returns the text of the last page as a person reads it."""
    return html.unescape(visitor.page.text)


def test_messages_are_listed_newest_first_and_narrowed(
    visitor: Visitor, sent: SendText, root: str
) -> None:
    first = sent(reference="order 1")
    second = sent("233201234568")
    tried_out = sent("233201234569", sandbox=True)
    log = f"{root}/messages"
    assert listed(visitor, log) == [second, first]
    assert listed(visitor, f"{log}?mode=sandbox") == [tried_out]
    assert listed(visitor, f"{log}?recipient=0201234567") == [first]
    assert listed(visitor, f"{log}?reference=order+1&status=queued") == [first]
    assert listed(visitor, f"{log}?sender=amina") == [second, first]
    assert listed(visitor, f"{log}?sender=Amina&mode=sandbox&status=queued") == [tried_out]
    assert listed(visitor, f"{log}?sender=nobody") == []
    assert listed(visitor, f"{log}?status=failed") == []
    assert "No message is like that" in visitor.page.text
    assert listed(visitor, root) == [second, first]


def test_a_time_span_is_typed_as_the_clocks_of_the_account_show_it(
    visitor: Visitor, sent: SendText, root: str, house: House
) -> None:
    first, hour = sent(), timedelta(hours=1)
    with house.db.write() as tx:
        accounts.change(tx, house.amina_id, time_zone="Asia/Kathmandu")
    now = datetime.fromtimestamp(clock.now_ms() / 1_000, ZoneInfo("Asia/Kathmandu"))
    for at, since, until in ((now - hour, [first], []), (now + hour, [], [first])):
        typed = f"{at:%Y-%m-%dT%H:%M}"
        assert listed(visitor, f"{root}/messages?since={typed}") == since
        assert f'value="{typed}"' in visitor.page.text
        assert "Since, Asia/Kathmandu" in visitor.page.text
        assert messages_in(visitor.get(f"{root}/messages/export?since={typed}")) == since
        assert listed(visitor, f"{root}/messages?until={typed}") == until
        of_the_api = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:07Z}"
        assert listed(visitor, f"{root}/messages?since={of_the_api}") == since
        assert f'value="{typed}:07" type="datetime-local" step="1"' in visitor.page.text
        money = visitor.get(f"{root}/money?since={typed}")
        assert (money.status_code, f'value="{typed}"' in money.text) == (200, True)
        assert visitor.get(f"{root}/money/export?since={typed}").status_code == 200
    for no_time in ("2026-02-30T10:00", "0001-01-01T00:00", "2026-01-31"):
        assert "since-error" in visitor.get(f"{root}/messages?since={no_time}").text


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("status=lost", "must be one of queued, sent, delivered, failed, not 'lost'"),
        ("mode=test", "must be one of live, sandbox, not 'test'"),
        ("recipient=nobody", "must be a phone number in international digits"),
        ("since=yesterday", "since-error"),
        ("find=order+1", "must be an id such as msg_… of a message"),
        ("find=msg_", "must be an id such as msg_… of a message"),
        ("campaignId=cmp_x", "There is no such campaign."),
        ("colour=red", "colour is not a query parameter here"),
        ("cursor=x", "must be the next_cursor of an earlier page"),
    ],
)
def test_a_wrong_filter_is_told_at_its_field_and_kept(
    visitor: Visitor, root: str, query: str, why: str
) -> None:
    page = visitor.get(f"{root}/messages?{query}")
    assert page.status_code == 400
    assert why in shown(visitor)
    name, _, typed = query.partition("=")
    if name not in ("colour", "cursor", "status", "mode"):
        assert f'name="{name}" value="{typed.replace("+", " ")}"' in page.text


def test_every_message_is_on_one_page_of_the_list(
    visitor: Visitor, house: House, run_loop: Loop, root: str
) -> None:
    run_loop(house.send(phones(120)))
    pages = visitor.pages(f"{root}/messages?status=queued&limit=50")
    seen = [message for page in pages for message in messages_on(page)]
    assert len(seen) == len(set(seen)) == 120
    run_loop(house.close())


def test_an_id_leads_to_what_it_names(visitor: Visitor, sent: SendText, root: str) -> None:
    message = sent()
    page = visitor.get(f"{root}/messages?find=+{message}+")
    assert (page.status_code, page.headers["location"]) == (303, f"{root}/messages/{message}")
    send_id = re.search(r"snd_[0-9a-z]{26}", visitor.get(f"{root}/messages/{message}").text)
    assert send_id is not None
    led = visitor.get(f"{root}/messages?find={send_id[0]}").headers["location"]
    assert listed(visitor, led) == [message]
    page = visitor.get(f"{root}/messages?mode=sandbox&find={send_id[0]}")
    assert listed(visitor, page.headers["location"]) == []  # it stays in the mode that was chosen


def test_the_id_of_a_request_leads_to_the_request_log(visitor: Visitor, root: str) -> None:
    request = f"req_{7:032x}"
    led = visitor.get(f"{root}/messages?mode=live&find={request}").headers["location"]
    assert led == f"{root}/requests?mode=live&id={request}"
    assert visitor.get(led).status_code == 200


def test_an_event_that_no_endpoint_was_told_of_is_refused(visitor: Visitor, root: str) -> None:
    for event in (ids.new("evt"), "evt_x"):
        page = visitor.get(f"{root}/messages?find={event}")
        assert (page.status_code, "must be the id of something" in shown(visitor)) == (400, True)


def test_the_id_of_a_one_time_password_leads_to_its_message(
    visitor: Visitor, sent: SendText, root: str
) -> None:
    message = sent(kind="otp")
    otp = ids.text_of_number("otp", (ids.number_of_text("msg", message) or 0) - 1)
    led = visitor.get(f"{root}/messages?find={otp}").headers["location"]
    assert listed(visitor, led) == [message]


def test_a_message_of_another_account_is_like_none(
    visitor: Visitor, house: House, sent: SendText, root: str
) -> None:
    chidi = open_account(house.db, "chidi", credits=10)
    others = sent(account_id=chidi)
    pages = [
        visitor.get(f"{root}/messages/{message}") for message in (others, f"msg_{NOBODYS}", "msg_x")
    ]
    assert {page.status_code for page in pages} == {404}
    assert len({page.text for page in pages}) == 1
    assert listed(visitor, f"{root}/messages") == []


def test_a_message_that_failed_says_what_to_do(
    visitor: Visitor, house: House, sent: SendText, root: str, run_loop: Loop
) -> None:
    message = sent(PHONE, "one\ntwo")
    visitor.get(f"{root}/messages/{message}")
    assert "queued" in visitor.page.text
    assert ADVICE["undeliverable"] not in shown(visitor)
    link = house.turn()
    run_loop(link.turn.run_once())
    [ref] = link.answer(*link.open.values())
    link.receive(ref, PHONE, ReceiptState.UNDELIV)
    run_loop(link.turn.run_once())
    assert "one\ntwo" in visitor.get(f"{root}/messages/{message}").text
    assert ADVICE["undeliverable"] in shown(visitor)
    with house.db.write() as tx:  # a message of which only the code is stored
        tx.execute(messages.update().values(error_message=None))
    visitor.get(f"{root}/messages/{message}")
    assert ERROR_MESSAGES["undeliverable"] in shown(visitor)


def test_each_segment_has_its_part_of_the_text_and_the_carriers_words(
    visitor: Visitor, house: House, sent: SendText, root: str, run_loop: Loop
) -> None:
    message = sent(PHONE, "a" * 153 + "b" * 30)
    assert segments_on(visitor, f"{root}/messages/{message}") == [
        ["1 of 2", "queued", "–", "–", "a" * 153],
        ["2 of 2", "queued", "–", "–", "b" * 30],
    ]
    link = house.turn()
    run_loop(link.turn.run_once())
    refs = [ref for submission in list(link.open.values()) for ref in link.answer(submission)]
    link.receive(refs[0], PHONE, ReceiptState.DELIVRD)
    link.receive(refs[1], PHONE, ReceiptState.UNDELIV)
    run_loop(link.turn.run_once())
    first, second = segments_on(visitor, f"{root}/messages/{message}")
    assert (first[1:3], second[1:3]) == (["delivered", "DELIVRD"], ["accepted", "UNDELIV"])


def segments_on(visitor: Visitor, path: str) -> list[list[str]]:
    """Returns the cells of the table of segments, row by row."""
    table = visitor.get(path).text.partition('aria-label="Segments"')[2].partition("</table>")[0]
    return [
        [
            re.sub(r"<[^>]+>", "", cell).strip()
            for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)
        ]
        for row in table.split("<tr>")[2:]
    ]


def test_a_text_that_its_encoding_cannot_hold_is_shown_without_its_segments(
    house: House, visitor: Visitor, sent: SendText, root: str
) -> None:
    message = sent(text="hello")
    with house.db.write() as tx:  # nothing of ours stores that
        tx.execute(sends.update().values(text="\u4f60\u597d"))
    assert "\u4f60\u597d" in visitor.get(f"{root}/messages/{message}").text
    [segment] = segments_on(visitor, f"{root}/messages/{message}")
    assert segment[-1] == "not shown"
    assert NOT_DIVIDED in shown(visitor)
    with house.db.write() as tx:
        tx.execute(sends.update().values(text="x" * 161))
    [segment] = segments_on(visitor, f"{root}/messages/{message}")
    assert segment[-1] == "not shown"
    assert NOT_DIVIDED in shown(visitor)


def test_every_way_to_fail_has_its_advice() -> None:
    assert ADVICE.keys() == set(ERROR_CODES)


def test_the_text_of_a_one_time_password_is_on_no_page(
    visitor: Visitor, sent: SendText, root: str
) -> None:
    message = sent(text="918273 is your code", kind="otp")
    for path in (root, f"{root}/messages", f"{root}/messages/{message}"):
        visitor.get(path)
        assert message in visitor.page.text
        assert "918273" not in visitor.page.text


@pytest.mark.judged_in_python
@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_people_have_written_is_never_markup(
    visitor: Visitor, sent: SendText, root: str, hostile: str
) -> None:
    message = sent(text=hostile, reference=hostile)
    for path in ("", "/messages", f"/messages/{message}", "/messages?reference=x"):
        page = visitor.get(root + path, params={"reference": hostile} if "=" in path else None)
        assert page.status_code == 200
        for markup in ("<script>", "<img", "</blockquote></main>&lt;"):
            assert markup not in page.text
    assert hostile in shown(visitor)


@pytest.mark.parametrize("query", ["&".join(f"a{n}=1" for n in range(200)), "a=%ff"])
def test_a_query_that_cannot_be_read_is_refused(visitor: Visitor, root: str, query: str) -> None:
    page = visitor.get(f"{root}/messages?{query}")
    assert page.status_code == 400
    assert "The query cannot be read." in page.text


def test_who_is_not_signed_in_sees_none(visitor: Visitor, stranger: Visitor, root: str) -> None:
    for path in ("", "/messages", "/messages/msg_x", "/messages?find=msg_x"):
        page = stranger.get(root + path)
        assert page.status_code == 401
        assert SENDER not in page.text
