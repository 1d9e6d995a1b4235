"""Accounts are found by the id of anything that is theirs, and by a key that nothing repeats."""

import asyncio

import pytest
import sqlalchemy as sa

from heliograph import keys, users
from heliograph.base import clock, ids
from heliograph.database.database import Database
from heliograph.keys.issue import Issued
from heliograph.messages.tables import messages
from heliograph.users import OperatorRole
from heliograph.wallet import ledger
from tests.support.capability.sending import House
from tests.support.console.looked_up import page_of
from tests.support.console.operators import (
    own_number,
    own_things,
    sign_in_operator,
    waiting_sender,
)
from tests.support.factories import PHONE, open_account
from tests.support.portal.visitor import EMAIL, Visitor

ACCOUNTS = "/console/accounts"


def issued(db: Database, account_id: str) -> Issued:
    with db.write() as tx:
        return keys.issue(
            tx,
            account_id,
            name="shop",
            sandbox=False,
            tier="standard",
            permissions=["sms.send"],
            now_ms=clock.now_ms(),
        )


def ids_of_things(db: Database, account_id: str) -> dict[str, str]:
    """Returns the text ids of what an account has, by their prefixes."""
    own = own_things(db, account_id)
    with db.write() as tx:
        made = ledger.grant(tx, account_id, 5, reason="a gift", now_ms=clock.now_ms())
        sent = tx.execute(sa.select(messages.c.id, messages.c.send_id)).first()
        user = users.find(tx, EMAIL)
    assert sent is not None
    found = [
        users.text_id(user),
        own.key,
        waiting_sender(db, account_id),
        ids.text_of_raw(ledger.ID_PREFIX, made.entry.id),
        ids.text_of_raw("msg", sent.id),
        ids.text_of_raw("snd", sent.send_id),
        own.endpoint,
        own.campaign,
        own_number(db, account_id),
    ]
    return {each.partition("_")[0]: each for each in found}


def test_an_account_is_found_by_the_id_of_what_belongs_to_it(
    visitor: Visitor, db: Database, house: House
) -> None:
    async def send() -> None:
        await house.send(PHONE)
        await house.db.close_hot()

    asyncio.run(send())
    stranger = open_account(db, "stranger")
    visitor.sign_in(EMAIL, house.amina_id)
    sign_in_operator(visitor, db)
    every = ids_of_things(db, house.amina_id)
    assert set(every) == {"usr", "key", "sid", "txn", "msg", "snd", "whe", "cmp", "num"}
    for prefix, text_id in every.items():
        listed = visitor.get(ACCOUNTS, params={"q": text_id}).text
        assert page_of(db, house.amina_id) in listed, text_id
        assert page_of(db, stranger) not in listed
        unknown = visitor.get(ACCOUNTS, params={"q": ids.new(prefix)})
        assert "No account has" in unknown.text
        assert unknown.status_code == 200
        assert "No account has" in visitor.get(ACCOUNTS, params={"q": f"{prefix}_'"}).text


@pytest.mark.parametrize("around", ["{}", "  {}", "Authorization: Bearer {}"])
def test_a_leaked_key_leads_to_its_page_and_is_repeated_nowhere(
    visitor: Visitor, db: Database, amina_id: str, around: str, caplog: pytest.LogCaptureFixture
) -> None:
    sign_in_operator(visitor, db, OperatorRole.AUDITOR)
    leaked = issued(db, amina_id)
    assert 'method="post" action="/console/accounts"' in visitor.get(ACCOUNTS).text
    found = visitor.post(ACCOUNTS, {"q": around.format(leaked.key)})
    path = f"{page_of(db, amina_id)}/keys/{keys.text_id(leaked.record)}"
    assert (found.status_code, found.headers["location"]) == (303, path)
    assert leaked.key not in found.text
    assert leaked.key not in visitor.get(path).text
    by_address = visitor.get(ACCOUNTS, params={"q": leaked.key})
    assert (by_address.status_code, by_address.headers["location"]) == (303, path)
    assert leaked.key not in by_address.text + caplog.text


def test_of_a_key_that_is_not_known_only_its_beginning_is_looked_for(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(ACCOUNTS)
    for text in (keys.make_key(sandbox=False), f"{issued(db, amina_id).key[:-1]}x"):
        led = visitor.post(ACCOUNTS, {"q": text}).headers["location"]
        assert led == f"{ACCOUNTS}?q={text[:12]}"
        shown = visitor.get(led).text
        assert text not in shown
        assert (page_of(db, amina_id) in shown) == text.endswith("x")


def test_what_the_form_looks_for_stands_in_the_address_of_the_list(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    visitor.get(ACCOUNTS)
    for text, address in (
        ("amina & sons", f"{ACCOUNTS}?q=amina+%26+sons"),
        ("http://evil.example/\r\nX: y", f"{ACCOUNTS}?q=http%3A%2F%2Fevil.example%2F%0D%0AX%3A+y"),
        ("", ACCOUNTS),
    ):
        assert visitor.post(ACCOUNTS, {"q": text}).headers["location"] == address
