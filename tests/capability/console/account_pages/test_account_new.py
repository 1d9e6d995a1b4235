"""Operators make accounts, and give them other names, as the commands do."""

import re
from collections.abc import Mapping

import pytest

from heliograph import accounts, wallet
from heliograph.accounts import Account
from heliograph.database.database import Database
from heliograph.users import OperatorRole, Role, members
from tests.support.console.logs import logged
from tests.support.console.operators import sign_in_operator
from tests.support.portal.visitor import Visitor

PATH = "/console/accounts/new"
ZURI = {"name": "Zuri", "country_code": "gh", "currency": "ghs", "daily_credits": "500"}
WHY = {"reason": "Contract of May"}
OPENING = {"credits": "1000", "balance": "250.50"}


def named(db: Database, name: str) -> list[Account]:
    with db.read() as tx:
        return accounts.with_name(tx, name)


def test_an_account_is_created_with_what_it_begins_with_and_its_first_owner(
    visitor: Visitor, db: Database
) -> None:
    sign_in_operator(visitor, db)
    assert 'name="credits"' in visitor.get(PATH).text
    form = {**ZURI, **OPENING, **WHY, "email": "zuri@example.com", "once": "of this form"}
    shown = visitor.post(PATH, form)
    assert "/portal/sign-in/" in shown.text
    assert visitor.post(PATH, form).text.count("/portal/sign-in/") == 1, "and again"
    [account] = named(db, "Zuri")
    assert (account.country_code, account.daily_credits) == ("GH", 500)
    with db.read() as tx:
        held = wallet.wallet_of(tx, account.id)
        [owner] = members.of_account(tx, account.id)
    assert (held.figures.sms_credits, held.figures.balance_minor, held.currency) == (
        1_000,
        25_050,
        "GHS",
    )
    assert (owner.user.email, owner.role) == ("zuri@example.com", Role.OWNER)
    assert [entry.action for entry in logged(db)] == ["user.link", "member.add", "account.create"]
    assert logged(db)[-1].after == "Zuri, GH, 1000 SMS credits, 250.50 GHS"


def test_the_support_creates_accounts_but_gives_no_money(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    assert 'name="credits"' not in visitor.get(PATH).text
    assert visitor.post(PATH, {**ZURI, "credits": "5", **WHY}).status_code == 403
    assert named(db, "Zuri") == []
    done = visitor.post(PATH, {**ZURI, **WHY})
    [account] = named(db, "Zuri")
    assert done.headers["location"] == f"/console/accounts/{accounts.text_id(account)}"


@pytest.mark.judged_in_python
def test_all_that_is_wrong_is_said_at_its_field(visitor: Visitor, db: Database) -> None:
    sign_in_operator(visitor, db)
    visitor.get(PATH)
    wrong = {
        "name": "acc_1",
        "country_code": "Ghana",
        "currency": "cedi",
        "credits": "many",
        "daily_credits": "-1",
        "email": "zuri",
        "reason": "",
    }
    page = visitor.post(PATH, wrong)
    assert page.status_code == 400
    assert set(re.findall(r'id="(\w+)-error"', page.text)) == set(wrong)
    page = visitor.post(PATH, {**ZURI, **WHY, "balance": "0.001"})
    assert "has more decimals than the 2 of GHS" in page.text
    assert logged(db) == []


@pytest.mark.parametrize("do", ["create", "rename"])
def test_a_name_that_another_account_has_is_taken_only_when_it_is_meant(
    visitor: Visitor, db: Database, amina_id: str, do: str
) -> None:
    sign_in_operator(visitor, db)
    visitor.post(visitor.get(PATH).url.path, {**ZURI, **WHY})
    [zuri] = named(db, "Zuri")
    path = PATH if do == "create" else f"/console/accounts/{accounts.text_id(zuri)}/name"
    form: Mapping[str, str] = {**ZURI, "name": "amina", **WHY}
    visitor.get(path)
    refused = visitor.post(path, dict(form))
    assert refused.status_code == 400
    assert "is that of another account, acc_" in refused.text
    assert 'value="amina"' in refused.text
    assert len(named(db, "amina")) == 1
    assert visitor.post(path, {**form, "same_name": "yes"}).status_code == 303
    assert len(named(db, "amina")) == 2


def test_an_account_is_renamed_once_and_quietly_if_nothing_changes(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    [amina] = named(db, "amina")
    path = f"/console/accounts/{accounts.text_id(amina)}/name"
    visitor.get(path)
    for _ in range(2):
        assert visitor.post(path, {"name": " Amina Ltd ", **WHY}).status_code == 303
    [entry] = logged(db)
    assert (entry.action, entry.before, entry.after) == ("account.rename", "amina", "Amina Ltd")
    assert "name-error" in visitor.post(path, {"name": "", **WHY}).text
