"""An operator erases a phone from what an account has stored, at its owner's request."""

import asyncio
import re

import pytest

from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.clock import DAY_MS
from heliograph.database.database import Database
from heliograph.users import OperatorRole
from tests.support.capability.number_left import names_it, rows, texts
from tests.support.capability.sending import House
from tests.support.capability.webhooks import endpoint
from tests.support.console.logs import LATEST, logged
from tests.support.console.operators import sign_in_operator
from tests.support.factories import PHONE
from tests.support.portal.visitor import Visitor

PATH = "/console/phones/erase"
WANTED = {"account": "amina", "phone": PHONE, "again": f"+{PHONE}", "reason": "a letter of 3 May"}


@pytest.fixture
def support(visitor: Visitor, db: Database, house: House) -> Visitor:
    """Returns a browser in which somebody of the support is signed in."""
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    visitor.get(f"{PATH}?account=amina&phone={PHONE}")
    return visitor


def left(house: House) -> None:
    """Leaves the number in every place where an account's work leaves it."""

    endpoint(house.db, house.amina_id, age_ms=DAY_MS)

    async def work() -> None:
        await texts(house, house.amina_id)
        await house.db.close_hot()

    asyncio.run(work())
    rows(house, house.amina_id)


def test_nothing_names_the_phone_afterwards_and_both_logs_say_that_it_was_done(
    support: Visitor, db: Database, house: House
) -> None:
    left(house)
    assert len(names_it(db)) > 10
    done = support.post(PATH, WANTED)
    assert done.status_code == 303, done.text
    assert dict(names_it(db)) == {}
    house.assert_sound()
    [entry] = logged(db)
    assert (entry.action, entry.before, entry.reason) == ("phone.erase", None, WANTED["reason"])
    assert re.search(r"\bcontacts 2\b", entry.after or "")
    with db.read() as tx:
        [told] = audit_log.page(tx, house.amina_id, LATEST)
    assert (told.entry.action, told.author.name) == ("phone.erase", audit_log.OPERATOR_NAME)
    log = support.get(done.headers["location"]).text
    assert "Erased a phone from what an account has stored" in log


def test_who_sends_it_again_is_told_that_nothing_was_found(
    support: Visitor, db: Database, house: House
) -> None:
    left(house)
    first, again = support.post_twice(PATH, {**WANTED, "once": "of this form"})
    assert (first.status_code, again.status_code) == (303, 303)
    assert len(logged(db)) == 1
    other = support.post(PATH, WANTED)
    assert "Nothing was found of this number in the account." in other.text
    assert '<p class="notice calm" role="status">' in other.text
    assert len(logged(db)) == 1


def test_while_something_is_still_to_be_sent_it_is_refused_in_the_words_of_the_command(
    support: Visitor, db: Database, house: House
) -> None:
    async def work() -> None:
        await house.send(PHONE)
        await house.db.close_hot()

    asyncio.run(work())
    before = names_it(db)
    page = support.post(PATH, WANTED)
    assert page.status_code == 409
    assert "Nothing was erased: 1 message to this number is not sent yet" in page.text
    assert 'value="a letter of 3 May"' in page.text
    queued = re.search(
        r'href="(/console/accounts/acc_[^"/]+/queued)">what is queued</a>', page.text
    )
    assert queued is not None
    assert support.get(queued[1]).status_code == 200
    assert names_it(db) == before
    assert list(logged(db)) == []


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"again": "233201234568"}, f"is another phone than {PHONE}"),
        ({"again": ""}, "again-error"),
        ({"reason": ""}, "reason-error"),
        ({"reason": f"{PHONE} asked"}, "must not have the phone in it"),
        ({"reason": "020 123 4567 asked"}, "must not have the phone in it"),
        ({"account": "nobody"}, "account-error"),
        ({"phone": "12"}, "phone-error"),
    ],
)
def test_a_form_that_is_wrong_erases_nothing(
    support: Visitor, db: Database, house: House, form: dict[str, str], said: str
) -> None:
    left(house)
    before = names_it(db)
    page = support.post(PATH, {**WANTED, **form})
    assert (page.status_code, said in page.text) == (400, True), page.text
    assert names_it(db) == before


def test_it_takes_a_fresh_sign_in(support: Visitor, db: Database, house: House) -> None:
    left(house)
    before = names_it(db)
    clock.move(11 * 60_000)
    assert "Confirm that it is you" in support.post(PATH, WANTED).text
    assert names_it(db) == before
