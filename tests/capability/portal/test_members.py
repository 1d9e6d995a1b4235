"""Owners manage members and invitations. Mail goes to a real mail server, which others wrote."""

from typing import NamedTuple

import pytest
import sqlalchemy as sa

from heliograph import accounts, users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.portal.sign_in.mailer import Mailer
from heliograph.users import Role, members, sign_ins
from heliograph.users.mails import INVITATION_MS, TRIES_MAX
from heliograph.users.members import INVITATIONS_MAX
from heliograph.users.password_tries import MAILS_OF_USER_MAX
from heliograph.users.sign_ins import FRESH_MS
from heliograph.users.tables import link_requests, mails
from tests.support.api.service import Loop
from tests.support.factories import open_account
from tests.support.portal.mailbox import Mailbox
from tests.support.portal.visitor import EMAIL, Visitor

KOFI = "kofi@example.com"


class Post(NamedTuple):
    """Holds the mail of the portal, and where it arrives."""

    box: Mailbox
    mailer: Mailer
    run: Loop

    def goes_out(self) -> int:
        """Sends what is due, and returns how much of it arrived."""
        return self.run(self.mailer.send_due())


@pytest.fixture
def post(mailbox: Mailbox, mailer: Mailer | None, run_loop: Loop) -> Post:
    assert mailer is not None
    return Post(mailbox, mailer, run_loop)


def roles(db: Database, account_id: str) -> dict[str, str]:
    with db.read() as tx:
        return {
            member.user.email: member.role.value for member in members.of_account(tx, account_id)
        }


def do(visitor: Visitor, home: str, what: str, **fields: str) -> int:
    visitor.get(f"{home}/members")
    visitor.page = visitor.post(f"{home}/members", {"do": what, **fields})
    return visitor.page.status_code


def user_id(db: Database, address: str) -> str:
    with db.read() as tx:
        return users.text_id(users.find(tx, address))


def test_who_is_invited_gets_a_mail_and_comes_in_as_a_member(
    visitor: Visitor,
    stranger: Visitor,
    post: Post,
    db: Database,
    amina_id: str,
    home: str,
) -> None:
    assert do(visitor, home, "invite", email=" Kofi@Example.com ", role="developer") == 303
    assert post.goes_out() == 1
    assert post.goes_out() == 0
    [mail] = post.box.got
    assert (mail["To"], mail["Subject"]) == (KOFI, "You are invited to amina")
    assert KOFI in visitor.get(f"{home}/members").text
    assert roles(db, amina_id) == {EMAIL: "owner"}
    for _program_that_looks_at_mail in range(2):
        assert "amina" in stranger.get(post.box.link()).text
    answer = stranger.post(post.box.link())
    assert (answer.status_code, answer.headers["location"]) == (303, home)
    assert roles(db, amina_id) == {EMAIL: "owner", KOFI: "developer"}
    assert stranger.get(home).status_code == 200
    assert stranger.post(post.box.link()).status_code == 401, "it is used up"
    assert "invited" not in visitor.get(f"{home}/members").text


def test_an_invitation_that_is_withdrawn_or_old_or_replaced_leads_nowhere(
    at_noon: None,
    visitor: Visitor,
    stranger: Visitor,
    post: Post,
    db: Database,
    amina_id: str,
    home: str,
) -> None:
    def invited(role: str = "viewer") -> str:
        assert do(visitor, home, "invite", email=KOFI, role=role) == 303
        post.goes_out()
        return post.box.link()

    replaced, withdrawn = invited(), invited()
    assert do(visitor, home, "withdraw", email=KOFI) == 303
    old = invited()
    clock.move(INVITATION_MS)
    for link in (replaced, withdrawn, old, "/portal/invitation/nothing"):
        assert stranger.get(link).status_code == 401
        stranger.get("/portal/sign-in")
        assert stranger.post(link).status_code == 401
    assert roles(db, amina_id) == {EMAIL: "owner"}


def test_an_invitation_gives_nobody_else_a_way_in(
    visitor: Visitor,
    stranger: Visitor,
    post: Post,
    db: Database,
    amina_id: str,
    home: str,
) -> None:
    """An owner invites a user of another account: no page shows a link, and the mail alone does."""
    chidi = open_account(db, "chidi")
    stranger.sign_in(KOFI, chidi)
    do(visitor, home, "invite", email=KOFI, role="viewer")
    post.goes_out()
    secret = post.box.link().rpartition("/")[2]
    for path in ("", "/members"):
        assert secret not in visitor.get(home + path).text
    assert stranger.get(home).status_code == 404
    stranger.get(post.box.link())
    stranger.post(post.box.link())
    assert stranger.get(home).status_code == 200
    assert roles(db, chidi) == {KOFI: "owner"}


@pytest.mark.judged_in_python
@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"email": "no address"}, "email"),
        ({"email": "a@b.c,d@e.f"}, "email"),
        ({"email": "a,b@example.com"}, "email"),
        ({"email": "<script>@example.com"}, "email"),
        ({"email": "=?us-ascii?q?=0a?=@example.com"}, "email"),
        ({"email": "a..b@example.com"}, "email"),
        ({"email": EMAIL}, "email"),
        ({"role": "admin"}, "role"),
    ],
    ids=str,
)
def test_who_cannot_be_invited_is_told_and_nothing_is_mailed(
    visitor: Visitor, post: Post, home: str, fields: dict[str, str], at: str
) -> None:
    assert do(visitor, home, "invite", **{"email": KOFI, "role": "viewer", **fields}) == 400
    assert f"{at} must" in visitor.page.text or f'id="{at}-error"' in visitor.page.text
    assert "<script>" not in visitor.page.text
    assert post.goes_out() == 0


def test_a_user_signs_in_before_an_invitation_and_its_link_alone_opens_nothing(
    visitor: Visitor, stranger: Visitor, post: Post, db: Database, amina_id: str, home: str
) -> None:
    """It goes to an address, and stays valid for a week: it must not open other accounts."""
    chidi = open_account(db, "chidi")
    with db.write() as tx:
        kofi = users.add(tx, KOFI, now_ms=clock.now_ms())
        users.set_role(tx, kofi.id, chidi, Role.OWNER, now_ms=clock.now_ms())
    do(visitor, home, "invite", email=KOFI, role="viewer")
    post.goes_out()
    link = post.box.link()
    stranger.get(link)
    refused = stranger.post(link)
    assert refused.status_code == 401
    assert "Sign in, then open the link again" in refused.text
    assert f'name="back" value="{link}"' in refused.text
    assert "__Host-heliograph" not in stranger.cookies
    stranger.sign_in("somebody@example.com", chidi)
    stranger.get(link)
    assert stranger.post(link).status_code == 401, "signed in as another one"
    assert KOFI not in roles(db, amina_id)
    stranger.sign_in(KOFI, chidi)
    stranger.get(link)
    assert stranger.post(link).status_code == 303
    assert roles(db, amina_id)[KOFI] == "viewer"
    before = stranger.cookies["__Host-heliograph"]
    assert stranger.get(home).status_code == 200
    assert stranger.cookies["__Host-heliograph"] != before, "its rights have grown"


def test_a_decision_about_a_member_withdraws_the_invitation(
    visitor: Visitor, stranger: Visitor, post: Post, db: Database, amina_id: str, home: str
) -> None:
    """An old link makes nobody owner again, and no owner a viewer."""
    for decided, expected in ((Role.OWNER, "owner"), (None, None)):
        do(visitor, home, "invite", email=KOFI, role="developer")
        post.goes_out()
        with db.write() as tx:
            kofi = users.add(tx, KOFI, now_ms=clock.now_ms())
            users.set_role(tx, kofi.id, amina_id, Role.OWNER, now_ms=clock.now_ms())
            if decided is None:
                users.remove_member(tx, kofi.id, amina_id)
        assert stranger.get(post.box.link()).status_code == 401
        assert roles(db, amina_id).get(KOFI) == expected
        if decided is not None:
            with db.write() as tx:
                users.remove_member(tx, kofi.id, amina_id)


def test_a_mail_that_cannot_be_made_holds_up_no_other(
    visitor: Visitor, post: Post, db: Database, home: str
) -> None:
    do(visitor, home, "invite", email="bad@example.com", role="viewer")
    with db.write() as tx:
        tx.execute(sa.text("UPDATE invitations SET email = '=?us-ascii?q?=0a?=@example.com'"))
    do(visitor, home, "invite", email=KOFI, role="viewer")
    assert post.goes_out() == 1
    assert [mail["To"] for mail in post.box.got] == [KOFI]


def test_asking_for_links_makes_none_invalid_that_somebody_has(
    at_noon: None, stranger: Visitor, post: Post, db: Database, home: str
) -> None:
    with db.write() as tx:
        link = sign_ins.make_link(tx, users.find(tx, EMAIL).id, now_ms=clock.now_ms())
    for _ in range(4 * MAILS_OF_USER_MAX):
        stranger.get("/portal/sign-in")
        stranger.post("/portal/sign-in/mail", {"email": EMAIL})
        post.goes_out()
        clock.move(300_000)
    assert 0 < len(post.box.got) <= MAILS_OF_USER_MAX
    stranger.get(f"/portal/sign-in/{link}")
    assert stranger.post(f"/portal/sign-in/{link}").status_code == 303


def test_nobody_is_invited_again_and_again(visitor: Visitor, post: Post, home: str) -> None:
    for number in range(MAILS_OF_USER_MAX + 1):
        status = do(visitor, home, "invite", email=KOFI, role="viewer")
        assert status == (303 if number < MAILS_OF_USER_MAX else 429)
    assert int(visitor.page.headers["retry-after"]) > 0
    assert post.goes_out() == 1, "each replaces the one before"


def test_so_many_invitations_are_open_and_no_more(
    visitor: Visitor, mailbox: Mailbox, home: str
) -> None:
    for number in range(INVITATIONS_MAX):
        assert do(visitor, home, "invite", email=f"u{number}@example.com", role="viewer") == 303
    assert do(visitor, home, "invite", email=KOFI, role="viewer") == 400
    assert do(visitor, home, "invite", email="u0@example.com", role="owner") == 303


def test_a_role_is_changed_and_ends_what_the_member_has_open(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    stranger.sign_in(KOFI, amina_id, Role.DEVELOPER)
    kofi = user_id(db, KOFI)
    assert do(visitor, home, "role", user=kofi, role="viewer") == 303
    assert roles(db, amina_id)[KOFI] == "viewer"
    assert stranger.get(home).status_code == 401
    assert do(visitor, home, "remove", user=kofi) == 303
    assert roles(db, amina_id) == {EMAIL: "owner"}
    assert do(visitor, home, "remove", user=kofi) == 303
    assert roles(db, amina_id) == {EMAIL: "owner"}
    assert do(visitor, home, "role", user=kofi, role="owner") == 404


def test_the_last_owner_stays(visitor: Visitor, db: Database, amina_id: str, home: str) -> None:
    ama = user_id(db, EMAIL)
    for what in ({"do": "role", "role": "viewer"}, {"do": "remove"}):
        assert do(visitor, home, what["do"], **{**what, "user": ama}) == 400
        assert "one owner at least" in visitor.page.text
    assert roles(db, amina_id) == {EMAIL: "owner"}


def test_members_of_another_account_are_nobody_here(
    visitor: Visitor, stranger: Visitor, db: Database, amina_id: str, home: str
) -> None:
    chidi = open_account(db, "chidi")
    stranger.sign_in(KOFI, chidi)
    assert KOFI not in visitor.get(f"{home}/members").text
    kofi = user_id(db, KOFI)
    assert do(visitor, home, "role", user=kofi, role="viewer") == 404
    assert do(visitor, home, "remove", user=kofi) == 303  # as for one who was removed already
    assert roles(db, chidi) == {KOFI: "owner"}


@pytest.mark.parametrize("role", [Role.DEVELOPER, Role.MARKETER, Role.VIEWER])
def test_only_owners_change_members_and_with_a_fresh_sign_in(
    at_noon: None, visitor: Visitor, db: Database, amina_id: str, home: str, role: Role
) -> None:
    visitor.sign_in(KOFI, amina_id, role)
    assert "Invite somebody" not in visitor.get(f"{home}/members").text
    ama = user_id(db, EMAIL)
    assert do(visitor, home, "role", user=ama, role="viewer") == 403
    visitor.sign_in(EMAIL, amina_id)
    clock.move(FRESH_MS)
    assert do(visitor, home, "role", user=user_id(db, KOFI), role="owner") == 403
    assert "Confirm that it is you" in visitor.page.text
    assert roles(db, amina_id) == {EMAIL: "owner", KOFI: role.value}


def test_a_link_is_mailed_to_users_and_nobody_learns_who_is_one(
    stranger: Visitor, post: Post, home: str
) -> None:
    told = set()
    for address in (f" {EMAIL.upper()} ", "nobody@example.com", "no address", ""):
        stranger.get("/portal/sign-in")
        answer = stranger.post("/portal/sign-in/mail", {"email": address})
        assert answer.status_code == 200
        told.add(answer.text)
    assert len(told) == 1
    assert post.goes_out() == 1
    assert [mail["To"] for mail in post.box.got] == [EMAIL]
    stranger.get(post.box.link())
    assert stranger.post(post.box.link()).status_code == 303
    assert stranger.get(home).status_code == 200


def test_asking_for_a_link_does_the_same_work_whoever_has_the_address(
    stranger: Visitor, db: Database, post: Post, home: str
) -> None:
    done: dict[str, list[str]] = {}
    for address in (EMAIL, "nobody@example.com"):
        stranger.get("/portal/sign-in")
        statements = done[address] = []

        def note(*executed: object, into: list[str] = statements) -> None:
            into.append(str(executed[2]))

        sa.event.listen(sa.engine.Engine, "before_cursor_execute", note)
        assert stranger.post("/portal/sign-in/mail", {"email": address}).status_code == 200
        sa.event.remove(sa.engine.Engine, "before_cursor_execute", note)
    assert done[EMAIL] == done["nobody@example.com"]
    assert [each for each in done[EMAIL] if each.startswith("INSERT INTO link_requests")] != []
    with db.read() as tx:
        assert tx.execute(sa.select(mails.c.id)).all() == []
    assert post.goes_out() == 1
    with db.read() as tx:
        assert tx.execute(sa.select(link_requests.c.id)).all() == []


def test_nobody_is_mailed_without_end(stranger: Visitor, post: Post, home: str) -> None:
    for address in (EMAIL, "nobody@example.com"):
        for number in range(MAILS_OF_USER_MAX + 1):
            stranger.get("/portal/sign-in")
            answer = stranger.post("/portal/sign-in/mail", {"email": address})
            assert answer.status_code == (200 if number < MAILS_OF_USER_MAX else 429)
    post.goes_out()
    assert 0 < len(post.box.got) <= MAILS_OF_USER_MAX


def test_a_mail_that_could_not_be_sent_comes_later_with_another_link(
    at_noon: None, visitor: Visitor, post: Post, home: str
) -> None:
    do(visitor, home, "invite", email=KOFI, role="viewer")
    post.box.is_out = True
    assert post.goes_out() == 0
    post.box.is_out = False
    assert post.goes_out() == 0, "not at once"
    clock.move(60_000)
    assert post.goes_out() == 1
    do(visitor, home, "invite", email="u@example.com", role="viewer")
    post.box.is_out = True
    for _ in range(TRIES_MAX + 1):
        post.goes_out()
        clock.move(3_000_000 // TRIES_MAX)
    post.box.is_out = False
    clock.move(3_600_000)
    assert post.goes_out() == 0, "it is given up"


def test_without_a_mail_server_the_pages_say_who_adds_members(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    page = visitor.get(f"{home}/members").text
    assert "This service sends no mail." in page
    assert "heliograph user add" in page
    assert do(visitor, home, "invite", email=KOFI, role="viewer") == 404
    assert "Mail me a link" not in stranger.get("/portal/sign-in").text
    assert stranger.post("/portal/sign-in/mail", {"email": EMAIL}).status_code == 404


def test_a_suspended_account_invites_nobody(
    visitor: Visitor, post: Post, db: Database, amina_id: str, home: str
) -> None:
    with db.write() as tx:
        accounts.suspend(tx, amina_id)
    assert do(visitor, home, "invite", email=KOFI, role="viewer") == 403
    assert post.goes_out() == 0
