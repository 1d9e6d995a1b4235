"""Operators add people to accounts, change what they may do, and let them in."""

import re

import pytest

from heliograph import accounts, users
from heliograph.accounts import audit_log
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.portal.portal import Portal
from heliograph.users import OperatorRole, Role, members, operators, sign_ins
from heliograph.users import tables as user_tables
from tests.support.console.logs import LATEST, logged
from tests.support.console.operators import OPERATOR, member_of, sign_in_operator
from tests.support.console.people import WHY, YAW, link_in, user_named
from tests.support.portal.visitor import Visitor

BOSS = "boss@example.com"  # an admin
ADDED = {"email": YAW, "role": "developer", "reason": "they asked by phone"}


@pytest.fixture
def people(db: Database, amina_id: str) -> str:
    """Returns the path of the people of amina's account."""
    with db.read() as tx:
        text_id = accounts.text_id(accounts.by_id(tx, amina_id))
    return f"/console/accounts/{text_id}/people"


@pytest.fixture
def support(visitor: Visitor, db: Database, people: str) -> Visitor:
    """Returns a browser in which somebody of the support is signed in."""
    sign_in_operator(visitor, db, OperatorRole.SUPPORT)
    visitor.get(people)
    return visitor


@pytest.fixture
def chief(visitor: Visitor, db: Database, people: str) -> Visitor:
    """Returns a browser in which an admin is signed in."""
    sign_in_operator(visitor, db)
    visitor.get(people)
    return visitor


def told(db: Database, account_id: str) -> list[tuple[str, str | None]]:
    """Returns what the account's audit log has, newest first."""
    with db.read() as tx:
        found = audit_log.page(tx, account_id, LATEST)
    return [(each.entry.action, each.entry.detail) for each in found]


def admin(db: Database) -> str:
    """Makes an admin who has not set up a second step, and returns the id in text form."""
    with db.write() as tx:
        user = users.add(tx, BOSS, now_ms=clock.now_ms())
        operators.set_role(tx, user.id, OperatorRole.ADMIN, now_ms=clock.now_ms())
        return users.text_id(user)


def test_somebody_is_added_with_a_link_that_is_shown_once_and_stands_in_no_log(
    chief: Visitor, db: Database, amina_id: str, people: str
) -> None:
    form = {**ADDED, "once": "of this form"}
    shown = chief.post(people, form)
    assert shown.status_code == 200
    link = link_in(shown)
    assert link_in(chief.post(people, form)) == link, "who clicks twice still sees it"
    user = user_named(db, YAW)
    with db.read() as tx:
        assert members.role_of(tx, amina_id, user.id) is Role.DEVELOPER
    assert told(db, amina_id) == [("user.link", YAW), ("member.add", f"{YAW} developer")]
    given, added = logged(db)
    assert (added.action, added.record, added.after) == (
        "member.add",
        users.text_id(user),
        f"{YAW} developer",
    )
    assert (given.action, given.after, given.reason) == (
        "user.link",
        f"shown for {YAW}",
        *[*WHY.values()],
    )
    assert not any(link in str(entry) for entry in logged(db))
    with db.write() as tx:
        sign_ins.begin(tx, link, seen_by="", now_ms=clock.now_ms())
    again = chief.post(people, form)
    assert (again.status_code, again.headers["location"]) == (303, people), "it is used up"


def test_the_support_is_shown_no_link_where_the_service_sends_no_mail(
    support: Visitor, db: Database, amina_id: str, people: str
) -> None:
    assert support.post(people, ADDED).status_code == 303
    user = user_named(db, YAW)
    path = f"/console/people/{users.text_id(user)}/link"
    assert f'action="{path}"' not in support.get(path).text
    refused = support.post(path, WHY)
    assert refused.status_code == 403
    assert "Only an admin of the console does that." in refused.text
    with db.read() as tx:
        assert members.role_of(tx, amina_id, user.id) is Role.DEVELOPER
        assert tx.execute(user_tables.sign_in_links.select()).all() == []


def test_a_link_is_mailed_and_not_shown_where_the_service_sends_mail(
    support: Visitor, portal: Portal, db: Database, people: str
) -> None:
    portal._service = portal._service._replace(sends_mail=True)
    done = support.post(people, ADDED)
    assert (done.status_code, done.headers["location"]) == (303, people)
    with db.read() as tx:
        [mail] = tx.execute(user_tables.mails.select()).all()
        assert tx.execute(user_tables.sign_in_links.select()).all() == [], "none but the mailer's"
    assert mail.user_id == user_named(db, YAW).id
    path = f"/console/people/{users.text_id(user_named(db, YAW))}/link"
    for _ in range(4):
        assert support.post(path, WHY).status_code == 303
    refused = support.post(path, WHY).text
    assert "5 links of this user are valid or on their way" in refused
    assert "until it is used, and for a day at most" in refused


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"email": "yaw"}, "must be an email address"),
        ({"role": "boss"}, "must be one of owner"),
        ({"reason": ""}, "reason-error"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays(
    support: Visitor, db: Database, amina_id: str, people: str, form: dict[str, str], said: str
) -> None:
    page = support.post(people, {**ADDED, **form})
    assert page.status_code == 400
    assert said in page.text
    if "email" not in form:
        assert f'value="{YAW}"' in page.text
    assert list(logged(db)) == []
    assert told(db, amina_id) == []


def test_a_role_is_changed_and_taken_away_and_the_sessions_end(
    support: Visitor, stranger: Visitor, db: Database, amina_id: str, people: str
) -> None:
    stranger.sign_in(YAW, amina_id, Role.VIEWER)
    user = user_named(db, YAW)
    path = f"{people}/{users.text_id(user)}"
    assert "in 1 browser" in support.get(path).text
    assert support.post(path, {"do": "role", "role": "owner", **WHY}).status_code == 303
    with db.read() as tx:
        assert members.role_of(tx, amina_id, user.id) is Role.OWNER
    assert stranger.get("/portal/you").status_code == 401
    removal = {"do": "remove", **WHY}
    assert support.post(path, removal).headers["location"] == people
    assert support.post(path, removal).status_code == 303, "that was done already"
    with db.read() as tx:
        assert members.role_of(tx, amina_id, user.id) is None
    removed, changed = logged(db)
    assert (changed.before, changed.after) == (f"{YAW} viewer", f"{YAW} owner")
    assert (removed.action, removed.before, removed.after) == (
        "member.remove",
        f"{YAW} owner",
        None,
    )
    assert told(db, amina_id) == [("member.remove", YAW), ("member.role", f"{YAW} owner")]
    assert support.get(path).status_code == 404


def test_a_second_step_is_turned_off_and_each_account_is_told(
    support: Visitor, db: Database, amina_id: str
) -> None:
    path = f"/console/people/{member_of(db, amina_id, YAW)}/two-step-off"
    assert "authenticator app" in support.get(path).text
    assert support.post(path, WHY).status_code == 303
    assert support.post(path, WHY).status_code == 303, "it is off already"
    [entry] = logged(db)
    assert entry.before == "authenticator app: yes, passkeys: 0"
    assert entry.after == "authenticator app: no, passkeys: 0"
    assert told(db, amina_id) == [("user.two_step_off", YAW)]


def test_who_is_disabled_has_no_role_and_no_way_in(
    support: Visitor, stranger: Visitor, db: Database, amina_id: str
) -> None:
    stranger.sign_in(YAW, amina_id, Role.OWNER)
    user = user_named(db, YAW)
    with db.write() as tx:
        link = sign_ins.make_link(tx, user.id, now_ms=clock.now_ms())
    path = f"/console/people/{users.text_id(user)}/disable"
    for _ in range(2):
        assert support.post(path, WHY).status_code == 303
    with db.read() as tx:
        assert users.memberships(tx, user.id) == []
        assert not sign_ins.is_valid_link(tx, link, now_ms=clock.now_ms())
    assert stranger.get("/portal/you").status_code == 401
    assert [entry.action for entry in logged(db)] == ["user.disable", "member.remove"]
    assert logged(db)[0].before == f"{YAW}: console: none, accounts: 1, sessions: 1"
    assert told(db, amina_id) == [("member.remove", YAW)]


@pytest.mark.parametrize("below", ["link", "two-step-off", "disable"])
def test_the_support_cannot_take_over_an_admin(support: Visitor, db: Database, below: str) -> None:
    path = f"/console/people/{admin(db)}"
    assert f"{path}/{below}" not in support.get(path).text, "nothing leads there"
    assert "<form" not in support.get(f"{path}/{below}").text.partition("</header>")[2]
    refused = support.post(f"{path}/{below}", {"passkeys": "yes", **WHY})
    assert refused.status_code == 403
    assert "may not do this to an operator" in refused.text
    assert list(logged(db)) == []
    with db.read() as tx:
        assert operators.role_of(tx, users.find(tx, BOSS).id) is OperatorRole.ADMIN
        assert tx.execute(user_tables.sign_in_links.select()).all() == []


@pytest.mark.parametrize("email", [BOSS, OPERATOR])
def test_the_support_gives_and_takes_no_role_of_an_operator_in_an_account(
    support: Visitor, db: Database, amina_id: str, people: str, email: str
) -> None:
    admin(db)
    refused = support.post(people, {**ADDED, "email": email})
    assert refused.status_code == 403
    assert "may not do this to an operator" in refused.text
    user = user_named(db, email)
    with db.write() as tx:
        users.set_role(tx, user.id, amina_id, Role.VIEWER, now_ms=clock.now_ms())
    path = f"{people}/{users.text_id(user)}"
    for form in ({"do": "role", "role": "owner"}, {"do": "remove"}):
        assert support.post(path, {**form, **WHY}).status_code == 403
    with db.read() as tx:
        assert members.role_of(tx, amina_id, user.id) is Role.VIEWER
    assert list(logged(db)) == []


@pytest.mark.parametrize("role", ["admin", "support"])
def test_the_support_makes_nobody_an_operator(support: Visitor, db: Database, role: str) -> None:
    me = users.text_id(user_named(db, OPERATOR))
    form = {"do": "role", "role": role, "email": OPERATOR, **WHY}
    for path in ("/console/people/operators", f"/console/people/{me}/operator"):
        assert support.post(path, form).status_code == 403
        assert f'action="{path}"' not in support.get(path).text
    with db.read() as tx:
        assert operators.role_of(tx, user_named(db, OPERATOR).id) is OperatorRole.SUPPORT


def test_people_are_listed_page_by_page_and_found_by_the_whole_address(
    support: Visitor, db: Database, amina_id: str, people: str
) -> None:
    for number in range(3):
        member_of(db, amina_id, f"u{number}@example.com")
    for path in (people, "/console/people"):
        pages = [page.text for page in support.pages(f"{path}?limit=2")]
        shown = re.findall(r"<strong>(u\d@example\.com)</strong>", "".join(pages))
        assert shown == [f"u{number}@example.com" for number in (2, 1, 0)]
        assert len(pages) == 2
    assert "u1@example.com</strong>" in support.get("/console/people?q=U1@example.com ").text
    assert "Nobody has the address" in support.get("/console/people?q=u1").text
