"""For two-step sign-in, users set up an authenticator app, give its code, and do without it."""

import html
import re

import pytest

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import sign_ins
from heliograph.users.password_tries import CODES_OF_USER_MAX
from heliograph.users.sign_ins import FRESH_MS, WAITING_MS
from heliograph.users.tables import recovery_codes, totps, waiting_sign_ins
from tests.support.portal.authenticator import STEP_MS, code_of, given_codes
from tests.support.portal.passwords import BETTER, GOOD, set_password, sign_in
from tests.support.portal.visitor import EMAIL, Visitor

WRONG = "000000"


def do(visitor: Visitor, what: str, **fields: str) -> int:
    visitor.get("/portal/you")
    visitor.page = visitor.post("/portal/you/authenticator", {"do": what, **fields})
    return visitor.page.status_code


def shown_secret(visitor: Visitor) -> str:
    page = visitor.get("/portal/you/authenticator")
    found = re.search(r'<code id="secret"[^>]*>((?:<span>[A-Z2-7]+</span>)+)</code>', page.text)
    assert found is not None
    return re.sub("<[^>]+>", "", found[1])


def set_up(visitor: Visitor) -> tuple[str, list[str]]:
    """Sets the app up, and returns its secret and the recovery codes that were shown."""
    assert do(visitor, "begin") == 303
    secret = shown_secret(visitor)
    assert do(visitor, "confirm", code=code_of(secret, clock.now_ms())) == 200
    shown = re.search(r'id="codes"[^>]*>([^<]+)</pre>', visitor.page.text)
    assert shown is not None
    return secret, shown[1].split()


def give(visitor: Visitor, code: str) -> int:
    visitor.get("/portal/sign-in/code")
    visitor.page = visitor.post("/portal/sign-in/code", {"code": code, "back": "/portal/you"})
    return visitor.page.status_code


def is_in(visitor: Visitor) -> bool:
    return visitor.get("/portal/you").status_code == 200


def test_who_has_an_app_is_asked_for_its_code_after_the_password(
    at_noon: None, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    secret, codes = set_up(visitor)
    assert len(set(codes)) == 10
    assert is_in(visitor), "what was open stays open"
    assert sign_in(stranger, GOOD, back=f"{home}/keys") == 303
    assert stranger.page.headers["location"].startswith("/portal/sign-in/code?back=")
    page = stranger.get(stranger.page.headers["location"])
    assert f'name="back" value="{home}/keys"' in page.text
    assert not is_in(stranger), "the password alone is no session"
    clock.move(STEP_MS)
    assert give(stranger, WRONG) == 401
    assert not is_in(stranger)
    assert give(stranger, code_of(secret, clock.now_ms())) == 303
    assert is_in(stranger)


def test_who_has_an_app_is_asked_for_its_code_after_a_link(
    db: Database, stranger: Visitor, home: str
) -> None:
    with db.write() as tx:
        user = users.find(tx, EMAIL)
        given_codes(tx, user.id, clock.now_ms() - STEP_MS)
        link = sign_ins.make_link(tx, user.id, now_ms=clock.now_ms())
    stranger.get(f"/portal/sign-in/{link}")
    asked = stranger.post(f"/portal/sign-in/{link}")
    assert asked.headers["location"].startswith("/portal/sign-in/code")
    assert not is_in(stranger)


def test_a_code_counts_once_and_so_does_none_before_it(
    at_noon: None, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    secret, _ = set_up(visitor)
    set_up_with = code_of(secret, clock.now_ms())
    assert sign_in(stranger, GOOD) == 303
    assert give(stranger, set_up_with) == 401
    clock.move(STEP_MS)
    former = code_of(secret, clock.now_ms())
    clock.move(STEP_MS)
    assert give(stranger, code_of(secret, clock.now_ms())) == 303
    assert sign_in(stranger, GOOD) == 303
    assert give(stranger, former) == 401


def test_a_code_of_a_clock_that_is_half_a_minute_off_is_right_and_of_others_is_not(
    at_noon: None, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    secret, _ = set_up(visitor)
    clock.move(10 * STEP_MS)
    assert sign_in(stranger, GOOD) == 303
    for steps in (-2, 2):
        assert give(stranger, code_of(secret, clock.now_ms() + steps * STEP_MS)) == 401
    assert give(stranger, code_of(secret, clock.now_ms() - STEP_MS)) == 303
    assert sign_in(stranger, GOOD) == 303
    assert give(stranger, code_of(secret, clock.now_ms() + STEP_MS)) == 303


def test_a_recovery_code_counts_once_however_it_is_typed(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    _, codes = set_up(visitor)
    assert sign_in(stranger, GOOD) == 303
    assert give(stranger, codes[3].upper().replace("-", " ").replace("0", "O")) == 303
    assert is_in(stranger)
    assert "9 of your recovery codes are left" in stranger.page.text
    assert sign_in(stranger, GOOD) == 303
    assert give(stranger, codes[3]) == 401
    assert give(stranger, codes[4]) == 303


def test_new_recovery_codes_replace_those_before(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    _, codes = set_up(visitor)
    assert do(visitor, "new codes") == 200
    assert sign_in(stranger, GOOD) == 303
    assert give(stranger, codes[0]) == 401


def test_wrong_codes_are_slowed_and_the_user_still_comes_in(
    at_noon: None, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    secret, codes = set_up(visitor)
    clock.move(STEP_MS)
    right = code_of(secret, clock.now_ms())
    for _ in range(CODES_OF_USER_MAX):
        assert sign_in(stranger, GOOD) == 303
        assert give(stranger, WRONG) == 401
    assert give(stranger, right) == 429
    assert int(stranger.page.headers["retry-after"]) > 0
    assert sign_in(visitor, GOOD) == 303
    assert give(visitor, right) == 303, "the browser in which it was set up is known"
    assert give(stranger, codes[0]) == 303, "nobody guesses a recovery code"


def test_a_sign_in_that_waits_ends_after_ten_minutes_and_opens_nothing(
    at_noon: None, db: Database, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    secret, _ = set_up(visitor)
    assert sign_in(stranger, GOOD) == 303
    waiting = stranger.cookies["__Host-heliograph-waiting"]
    stranger.cookies.set("__Host-heliograph", waiting, domain="heliograph.test", path="/")
    for path in ("/portal", home, f"{home}/keys", "/portal/you", "/portal/you/authenticator"):
        assert stranger.get(path).status_code == 401, path
    clock.move(WAITING_MS)
    stranger.get("/portal/sign-in")
    late = stranger.post(
        "/portal/sign-in/code", {"code": code_of(secret, clock.now_ms()), "back": ""}
    )
    assert late.headers["location"] == "/portal/sign-in"
    assert not is_in(stranger)


def test_a_sign_in_that_waits_ends_when_the_password_changes(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    _, codes = set_up(visitor)
    assert sign_in(stranger, GOOD) == 303
    token = stranger.get("/portal/sign-in/code") and stranger.token
    assert set_password(visitor, BETTER) == 303
    late = stranger.post_as_it_is(
        "/portal/sign-in/code", data={"form_token": token, "code": codes[0]}
    )
    assert late.headers["location"] == "/portal/sign-in"


def test_nothing_of_it_is_done_with_an_old_sign_in(
    at_noon: None, visitor: Visitor, home: str
) -> None:
    set_up(visitor)
    clock.move(FRESH_MS)
    for what in ("begin", "confirm", "new codes", "turn off"):
        assert do(visitor, what) == 403
    assert visitor.get("/portal/you/authenticator").status_code == 403
    assert "recovery codes are left" in visitor.get("/portal/you").text


def test_an_app_that_was_not_confirmed_counts_nothing(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    assert do(visitor, "begin") == 303
    first = shown_secret(visitor)
    assert do(visitor, "confirm", code=WRONG) == 400
    assert 'id="code-error"' in visitor.page.text
    assert do(visitor, "new codes") == 404
    assert sign_in(stranger, GOOD) == 303
    assert is_in(stranger)
    assert do(visitor, "begin") == 303
    assert shown_secret(visitor) != first


def test_a_secret_that_counts_is_shown_to_nobody_and_replaced_by_none(
    db: Database, visitor: Visitor, home: str
) -> None:
    set_up(visitor)
    with db.read() as tx:
        before = tx.execute(totps.select()).all()
    assert visitor.get("/portal/you/authenticator").headers["location"] == "/portal/you"
    assert do(visitor, "begin") == 303
    assert visitor.page.headers["location"] == "/portal/you"
    with db.read() as tx:
        assert tx.execute(totps.select()).all() == before


def test_turned_off_it_is_asked_for_no_more(
    db: Database, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    set_password(visitor)
    set_up(visitor)
    assert do(visitor, "turn off") == 303
    assert sign_in(stranger, GOOD) == 303
    assert is_in(stranger)
    with db.read() as tx:
        for table in (totps, recovery_codes, waiting_sign_ins):
            assert tx.execute(table.select()).all() == []


def test_neither_the_secret_nor_a_recovery_code_is_stored_as_it_is(
    db: Database, visitor: Visitor, home: str
) -> None:
    secret, codes = set_up(visitor)
    with db.read() as tx:
        stored = str(tx.execute(totps.select()).all()) + str(
            tx.execute(recovery_codes.select()).all()
        )
    for text in (secret.replace(" ", ""), codes[0], codes[0].replace("-", "")):
        assert text not in stored


@pytest.mark.parametrize("code", ["", "12345", "1234567", "１２３４５６", "x" * 5_000])
def test_what_is_no_code_is_refused_like_a_wrong_one(
    visitor: Visitor, stranger: Visitor, home: str, code: str
) -> None:
    set_password(visitor)
    set_up(visitor)
    assert sign_in(stranger, GOOD) == 303
    assert give(stranger, code) == 401
    assert html.escape(code) not in stranger.page.text or len(code) < 2
