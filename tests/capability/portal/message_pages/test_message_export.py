"""Messages come as a file, and the page of one message tells of its credits and its webhooks."""

import csv
import html
import io
import re

import pytest

from heliograph.carriers import SubmitOutcome
from heliograph.messages.read import report_page
from tests.support.api.service import Loop
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint
from tests.support.factories import open_account, phones
from tests.support.portal.sent_texts import SendText
from tests.support.portal.visitor import Visitor


def rows(visitor: Visitor, path: str) -> list[dict[str, str]]:
    page = visitor.get(path)
    assert page.status_code == 200, page.text
    assert page.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(page.text)))


def words(visitor: Visitor, path: str) -> str:
    """Returns the text of a page as a person reads it."""
    text = re.sub(r"<[^>]+>", " ", html.unescape(visitor.get(path).text))
    return " ".join(text.split())


def test_a_file_has_every_message_that_the_list_selects(
    visitor: Visitor, house: House, sent: SendText, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliograph.messages.reports.report_file.PAGE", 7)
    sent(phones(20), reference="order 1")
    other = sent("233201234568", 'say "hi", now\nplease')
    chidi = open_account(house.db, "chidi", credits=10)
    sent(account_id=chidi)
    tried_out = sent(sandbox=True)
    found = rows(visitor, f"{root}/messages/export")
    assert len(found) == 21
    assert found == sorted(found, key=lambda row: row["id"], reverse=True)
    assert (found[0]["id"], found[0]["message"]) == (other, 'say "hi", now\nplease')
    assert (found[0]["credits"], found[0]["error_code"]) == ("1", "")
    assert len(rows(visitor, f"{root}/messages/export?reference=order+1&status=queued")) == 20
    assert rows(visitor, f"{root}/messages/export?status=failed") == []
    assert [row["id"] for row in rows(visitor, f"{root}/messages/export?mode=sandbox")] == [
        tried_out
    ]


def test_a_rare_status_is_found_far_down(
    visitor: Visitor,
    house: House,
    sent: SendText,
    root: str,
    run_loop: Loop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = sent()
    link = house.turn()
    run_loop(link.turn.run_once())
    link.answer(*link.open.values(), outcome=SubmitOutcome.REFUSED)
    run_loop(link.turn.run_once())
    sent(phones(50))
    monkeypatch.setattr(report_page, "_MESSAGES_AT_ONCE", 10)
    monkeypatch.setattr(report_page, "LOOKED_AT_MAX", 10)
    [found] = rows(visitor, f"{root}/messages/export?status=failed")
    assert (found["id"], found["error_code"]) == (failed, "carrier_rejected")
    assert (found["credits"], found["credits_refunded"]) == ("1", "1")


def test_no_cell_is_a_formula_and_no_one_time_password_is_shown(
    visitor: Visitor, sent: SendText, root: str
) -> None:
    sent(text="=HYPERLINK(1)", reference="@SUM(1)")
    sent("233201234568", text="918273 is your code", kind="otp")
    password, formula = rows(visitor, f"{root}/messages/export")
    assert (formula["message"], formula["reference"]) == ("'=HYPERLINK(1)", "'@SUM(1)")
    assert (password["type"], password["message"]) == ("otp", "")
    assert "918273" not in visitor.page.text


@pytest.mark.judged_in_python
def test_a_wrong_filter_makes_no_file(visitor: Visitor, root: str) -> None:
    for query, status in (("status=lost", 400), ("campaignId=cmp_x", 404), ("x=1", 400)):
        page = visitor.get(f"{root}/messages/export?{query}")
        assert (page.status_code, page.headers["content-type"][:9]) == (status, "text/html")


def test_a_message_shows_the_entry_that_charged_for_its_send(
    visitor: Visitor, sent: SendText, root: str
) -> None:
    alone = sent()
    one_of_three = sent(phones(3), "a" * 161)
    tried_out = sent(sandbox=True)
    said = words(visitor, f"{root}/messages/{alone}")
    assert "SMS charge SMS to 1 recipient −1 999" in said
    assert "1 entry for the send" not in said
    said = words(visitor, f"{root}/messages/{one_of_three}")
    assert "SMS charge SMS to 3 recipients −6 993" in said
    assert "1 entry for the send of 3 messages. The share of this message is 2 credits." in said
    assert "A message of the sandbox costs nothing." in words(
        visitor, f"{root}/messages/{tried_out}"
    )


def test_a_refund_stands_beside_the_charge(
    visitor: Visitor, house: House, sent: SendText, root: str, run_loop: Loop
) -> None:
    message = sent()
    link = house.turn()
    run_loop(link.turn.run_once())
    link.answer(*link.open.values(), outcome=SubmitOutcome.REFUSED)
    run_loop(link.turn.run_once())
    said = words(visitor, f"{root}/messages/{message}")
    assert "SMS charge SMS to 1 recipient −1 999" in said
    assert "SMS refund Refund for 1 message that was not sent +1 1 000" in said.replace(
        "\u202f", " "
    )


def test_a_message_shows_who_was_told_and_what_became_of_it(
    visitor: Visitor, house: House, sent: SendText, root: str, run_loop: Loop
) -> None:
    chidi = open_account(house.db, "chidi", credits=10)
    endpoint(house.db, chidi, "http://127.0.0.1:9/chidi")
    unheard = sent()
    run_loop(answered(house))
    assert "No webhook was told of this message." in words(visitor, f"{root}/messages/{unheard}")
    listening, _ = endpoint(house.db, house.amina_id, "http://127.0.0.1:9/amina")
    heard = sent("233201234568")
    run_loop(answered(house))
    said = words(visitor, f"{root}/messages/{heard}")
    assert "message.sent waiting http://127.0.0.1:9/amina 0 – next try at" in said
    assert "chidi" not in said
    assert "No webhook was told" in words(visitor, f"{root}/messages/{unheard}")
    assert "No webhook was told" in words(visitor, f"{root}/messages/{sent()}")
    assert listening.url in visitor.get(f"{root}/webhooks").text


async def answered(house: House) -> None:
    """Hands what waits to the carrier, which takes it."""
    link = house.turn()
    await link.turn.run_once()
    link.answer(*link.open.values())
    await link.turn.run_once()
