"""The quickstart makes a key for the sandbox, and its programs have the service's address and the
account's sender. tests/browser runs them.
"""

import hashlib
import html
import re

import pytest
import sqlalchemy as sa

from heliograph import keys
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.keys.tables import api_keys
from heliograph.requests.tables import idempotency_keys
from heliograph.users import Role
from heliograph.users.sign_ins import FRESH_MS
from tests.support.factories import SENDER, open_account
from tests.support.portal.visitor import EMAIL, Visitor, home_of, once_in


def page_of(visitor: Visitor, home: str) -> str:
    return html.unescape(visitor.get(f"{home}/quickstart").text)


def make(visitor: Visitor, home: str) -> dict[str, str]:
    """Returns the form that makes a key."""
    return {"do": "make_key", "once": once_in(visitor.get(f"{home}/quickstart"))}


def test_a_key_is_made_for_the_sandbox_alone_and_shown_once(
    visitor: Visitor, home: str, db: Database, amina_id: str
) -> None:
    assert "sk_test_YOUR_KEY" in page_of(visitor, home)
    made = html.unescape(visitor.post(f"{home}/quickstart", make(visitor, home)).text)
    with db.read() as tx:
        (key,) = keys.page(tx, limit=10, account_id=amina_id)
    assert (key.sandbox, key.permissions) == (True, ("sms.send", "sms.read"))
    assert made.count(f"Bearer {key.prefix}") == 8  # two requests in four languages
    assert "sk_test_YOUR_KEY" not in made
    assert key.prefix not in page_of(visitor, home)


def test_the_programs_have_the_services_address_and_the_accounts_sender(
    visitor: Visitor, home: str, db: Database
) -> None:
    page = page_of(visitor, home)
    assert page.count("https://heliograph.test/api/v1/sms/send") == 4
    assert f'"sender": "{SENDER}"' in page
    chidi = open_account(db, "chidi", sender=None)
    visitor.sign_in("chidi@example.com", chidi)
    assert '"sender": "SANDBOX"' in page_of(visitor, home_of(db, chidi))


def test_no_two_sentences_run_together(visitor: Visitor, home: str) -> None:
    text = {
        "mode": "sandbox",
        "sender": "SANDBOX",
        "recipients": "233201234567",
        "message": "Hello",
    }
    for once in ("before the first text", "after it"):
        words = re.sub(r"(?s)<pre.*?</pre>", "", page_of(visitor, home))  # not of the programs
        said = re.sub(r"<[^>]*>", "", words)
        assert re.findall(r"[a-z]\.[A-Z]\w+ \w+", said) == []
        visitor.get(f"{home}/send")
        assert visitor.post(f"{home}/send", {**text, "do": "send", "once": once}).status_code == 303


def test_an_address_that_is_none_stands_in_no_program(visitor: Visitor, home: str) -> None:
    page = visitor.get(f"{home}/quickstart", headers={"Host": "a.example';rm -rf ~;'"})
    assert "rm -rf" not in page.text
    assert "http://127.0.0.1:8080/api/v1/sms/send" in page.text


@pytest.mark.parametrize("role", [Role.MARKETER, Role.VIEWER])
def test_who_makes_no_keys_is_told_who_does(
    visitor: Visitor, db: Database, amina_id: str, role: Role
) -> None:
    visitor.sign_in(EMAIL, amina_id, role)
    home = home_of(db, amina_id)
    page = page_of(visitor, home)
    assert "Owners and developers of this account make keys" in page
    assert ("Or send one from here" in page) == (role is Role.MARKETER)
    assert visitor.post(f"{home}/quickstart", {"do": "make_key", "once": "1"}).status_code == 403


def test_an_old_sign_in_makes_no_key(
    at_noon: None, visitor: Visitor, home: str, db: Database, amina_id: str
) -> None:
    visitor.get(f"{home}/quickstart")
    clock.move(FRESH_MS)
    assert visitor.post(f"{home}/quickstart", make(visitor, home)).status_code == 403
    with db.read() as tx:
        assert keys.page(tx, limit=1, account_id=amina_id) == []


def test_a_double_click_makes_one_key_and_both_answers_show_it(
    visitor: Visitor, home: str, db: Database, amina_id: str
) -> None:
    form = make(visitor, home)
    shown = [visitor.post(f"{home}/quickstart", form).text for _ in range(2)]
    first, second = (set(re.findall(r"sk_test_[0-9a-f]{48}", text)) for text in shown)
    assert first == second
    with db.read() as tx:
        (record,) = keys.page(tx, limit=10, account_id=amina_id)
        (stored,) = tx.execute(sa.select(api_keys.c.sha256)).scalars()
        kept = tx.execute(sa.select(idempotency_keys.c.answer)).scalars().all()
    (key,) = first
    assert stored == hashlib.sha256(key.encode()).digest()
    assert not any(key in (answer or "") for answer in kept)
    visitor.post(f"{home}/quickstart", make(visitor, home))
    with db.read() as tx:
        assert {each.id for each in keys.page(tx, limit=10, account_id=amina_id)} > {record.id}
