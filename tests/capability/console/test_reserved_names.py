"""Operators see which names no account may register, reserve others, and release them."""

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heliograph import accounts, senders
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.base.errors import InvalidRequest
from heliograph.console import reserved_names as page_of_names
from heliograph.database.database import Database
from heliograph.senders import reserved_names
from heliograph.users import OperatorRole
from tests.support.console.logs import LATEST, logged
from tests.support.console.operators import sign_in_operator
from tests.support.portal.visitor import Visitor

PATH = "/console/approvals/reserved"
RELEASE = f"{PATH}/release"
FORM = {"sender": "MTN", "reason": "the network's own name"}
OTP_SENDER = "HELIOGRAPH"


@pytest.fixture
def support(visitor: Visitor, db: Database, amina_id: str) -> Visitor:
    """Returns a browser in which somebody of the support is signed in."""
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    visitor.get(PATH)
    return visitor


def reserved(db: Database) -> list[tuple[str, str]]:
    with db.read() as tx:
        return [(each.sender, each.reason) for each in reserved_names.of_operator(tx)]


def reserve(db: Database, *names: str) -> None:
    with db.write() as tx:
        for name in names:
            reserved_names.add(tx, name, "a bank", now_ms=clock.now_ms())


def test_a_name_is_reserved_and_released_with_a_reason_each(
    support: Visitor, db: Database, amina_id: str
) -> None:
    assert "No name is reserved" in support.get(PATH).text
    assert support.post(PATH, FORM).status_code == 303
    assert reserved(db) == [("MTN", "the network's own name")]
    page = support.get(PATH).text
    assert "<strong>MTN</strong>" in page
    assert "the network&#39;s own name" in page
    with db.read() as tx, pytest.raises(InvalidRequest):
        reserved_names.refuse_reserved(tx, "MTN", OTP_SENDER)
    asked = support.get(RELEASE, params={"sender": "MTN"}).text
    assert "Release MTN?" in asked
    assert support.post(RELEASE, {"sender": "MTN", "reason": " "}).status_code == 400
    done = support.post(RELEASE, {"sender": "MTN", "reason": "it is a shop's"})
    assert (done.status_code, done.headers["location"]) == (303, PATH)
    assert reserved(db) == []
    with db.read() as tx:
        reserved_names.refuse_reserved(tx, "MTN", OTP_SENDER)
        told = audit_log.page(tx, amina_id, LATEST)
    assert list(told) == [], "it is of no account"
    late, early = logged(db)
    assert (early.action, early.account_id, early.record, early.before, early.after) == (
        *("sender.reserve", None, "MTN"),
        *(None, "MTN: the network's own name"),
    )
    assert (late.action, late.before, late.after, late.reason) == (
        "sender.release",
        "MTN: the network's own name",
        None,
        "it is a shop's",
    )


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("form", "wrong"),
    [
        ({"sender": ""}, "sender"),
        ({"sender": "a name that is too long"}, "sender"),
        ({"sender": "MTN<b>"}, "sender"),
        ({"reason": ""}, "reason"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays(
    support: Visitor, db: Database, form: dict[str, str], wrong: str
) -> None:
    page = support.post(PATH, {**FORM, **form})
    assert page.status_code == 400
    assert f'id="{wrong}-error"' in page.text
    kept = "reason" if wrong == "sender" else "sender"
    assert f'name="{kept}" value="{FORM[kept]}"'.replace("'", "&#39;") in page.text
    assert reserved(db) == []
    assert list(logged(db)) == []


def test_a_name_that_is_reserved_already_is_told_of_quietly(support: Visitor, db: Database) -> None:
    for _ in range(2):
        done = support.post(PATH, FORM)
        assert done.status_code == 303
    assert "That was done already" in support.get(done.headers["location"]).text
    assert len(logged(db)) == 1
    assert support.post(PATH, {"sender": "mtn", "reason": "a network"}).status_code == 303
    assert reserved(db) == [("mtn", "a network")], "a look-alike takes its place"
    assert logged(db)[0].before == "MTN: the network's own name"


def test_a_name_that_somebody_else_has_released_is_told_of_quietly(
    support: Visitor, db: Database
) -> None:
    reserve(db, "MTN")
    support.get(RELEASE, params={"sender": "MTN"})
    with db.write() as tx:
        reserved_names.release(tx, "MTN")
    late = support.post(RELEASE, {"sender": "MTN", "reason": "a mistake"})
    assert late.status_code == 303
    assert "That was done already" in support.get(late.headers["location"]).text
    assert support.get(RELEASE, params={"sender": "MTN"}).status_code == 404
    assert support.get(RELEASE).headers["location"] == PATH
    assert list(logged(db)) == []


def locked_names(tx: Connection) -> None:
    """Lets nobody else reserve a name."""
    if tx.dialect.name == "postgresql":
        tx.execute(sa.text("LOCK TABLE reserved_senders IN SHARE ROW EXCLUSIVE MODE"))


def test_of_two_who_reserve_a_name_at_once_each_is_told_what_was_there(
    support: Visitor, db: Database
) -> None:
    forms = [FORM, {**FORM, "reason": "a network"}]
    answers = support.post_at_once(PATH, forms, locked_names)
    assert [answer.status_code for answer in answers] == [303, 303]
    [(_, kept)] = reserved(db)
    first, second = sorted(logged(db), key=lambda entry: entry.before is not None)
    assert (first.before, second.before) == (None, first.after)
    assert second.after == f"MTN: {kept}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("SHOP", "Accounts may register &#39;SHOP&#39;."),
        ("P0STBANK", "it is, or looks like, POSTBANK: a bank"),
        ("911", "an emergency number"),
        ("SANDBOX", "the sender of sandbox messages"),
        ("MTN/PAY", "Nobody may register &#39;MTN/PAY&#39;: a sender ID must have 3 to 11 of"),
    ],
)
def test_the_page_says_whether_accounts_may_register_a_name(
    support: Visitor, db: Database, name: str, said: str
) -> None:
    reserve(db, "POSTBANK")
    page = support.get(PATH, params={"name": name}).text
    answer = page.partition('<form class="row"')[2].partition("<section>")[0]
    assert said in answer.replace('"', "&#39;")
    assert ('name="sender" value="POSTBANK"' in answer) == (name == "P0STBANK")


def test_only_the_first_names_are_shown_and_the_others_are_found(
    support: Visitor, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_of_names, "NAMES_SHOWN_MAX", 2)
    reserve(db, "AAA", "BBB", "CCC")
    page = support.get(PATH, params={"name": "CCC"}).text
    assert "<strong>BBB</strong>" in page
    assert "<strong>CCC</strong>" not in page
    assert "These are the first 2" in page
    assert 'name="sender" value="CCC"' in page


@pytest.mark.parametrize("role", [OperatorRole.FINANCE, OperatorRole.AUDITOR])
def test_who_lacks_the_right_sees_the_names_and_changes_none(
    visitor: Visitor, db: Database, role: OperatorRole
) -> None:
    reserve(db, "POSTBANK")
    sign_in_operator(visitor, db, role)
    page = visitor.get(PATH).text
    assert "<strong>POSTBANK</strong>" in page
    assert "Reserve the name" not in page
    assert RELEASE not in page
    assert "it does not decide" in visitor.get(RELEASE, params={"sender": "POSTBANK"}).text
    assert visitor.post(PATH, FORM).status_code == 403
    assert visitor.post(RELEASE, {"sender": "POSTBANK", "reason": "x"}).status_code == 403
    assert reserved(db) == [("POSTBANK", "a bank")]


def test_an_account_that_has_a_name_keeps_it(support: Visitor, db: Database, amina_id: str) -> None:
    with db.read() as tx:
        [before] = senders.page(tx, limit=9, account_id=amina_id)
        name = accounts.by_id(tx, amina_id).name
    form = {"sender": before.sender, "reason": f"it is {name}'s"}
    assert support.post(PATH, form).status_code == 303
    with db.read() as tx:
        assert senders.page(tx, limit=9, account_id=amina_id) == [before]
