"""Passkeys are made with a fresh sign-in, and are good for one sign-in each time they are asked."""

import json
import re
from typing import Any

import pytest

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.users import sign_ins
from heliograph.users.passkey_challenge import CHALLENGE_MS
from heliograph.users.passkeys import PASSKEYS_MAX, site_of
from heliograph.users.sign_ins import FRESH_MS
from heliograph.users.tables import passkeys, used_challenges
from tests.support.factories import open_account
from tests.support.portal.authenticator import given_codes
from tests.support.portal.security_key import PRESENT, SecurityKey
from tests.support.portal.visitor import EMAIL, Visitor

OWN = "/portal/you/passkeys"
SIGN_IN = "/portal/sign-in/passkey"
CODE = "/portal/sign-in/code"
ELSEWHERE = "https://heliograph.test.evil.example"


def how_to_make(visitor: Visitor) -> dict[str, Any]:
    options: dict[str, Any] = visitor.get(OWN).json()
    visitor.get("/portal/you")
    return options


def keep(visitor: Visitor, answer: str, name: str = "Tall fob") -> int:
    visitor.page = visitor.post(OWN, {"do": "make", "name": name, "answer": answer})
    return visitor.page.status_code


def made(visitor: Visitor) -> SecurityKey:
    """Returns a key that has a passkey of the visitor's."""
    key = SecurityKey()
    assert keep(visitor, key.make(how_to_make(visitor))) == 303
    return key


def asked(visitor: Visitor) -> dict[str, Any]:
    visitor.get("/portal/sign-in")
    token = visitor.page
    options: dict[str, Any] = visitor.get(SIGN_IN).json()
    visitor.page = token
    return options


def give(visitor: Visitor, answer: str, back: str = "/portal/you") -> int:
    answered = visitor.post(SIGN_IN, {"answer": answer, "back": back})
    visitor.page = answered if "form_token" in answered.text else visitor.page
    return answered.status_code


def is_in(visitor: Visitor) -> bool:
    return visitor.get("/portal/you").status_code == 200


def test_a_passkey_signs_in_without_password_and_code(
    db: Database, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    key = made(visitor)
    with db.write() as tx:
        given_codes(tx, users.find(tx, EMAIL).id, clock.now_ms())
    assert give(stranger, key.sign(asked(stranger))) == 303
    assert is_in(stranger)
    assert give(stranger, key.sign(asked(stranger))) == 303, "and again"


def test_a_passkey_is_asked_to_verify_its_user_and_to_name_him(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    selection = how_to_make(visitor)["publicKey"]["authenticatorSelection"]
    assert (selection["residentKey"], selection["userVerification"]) == ("required", "required")
    to_sign = asked(stranger)["publicKey"]
    assert to_sign["userVerification"] == "required"
    assert not to_sign.get("allowCredentials"), "it tells a stranger nothing"


@pytest.mark.parametrize(
    "what", ["replayed", "elsewhere", "old", "unverified", "of another browser"]
)
def test_an_answer_that_was_not_given_here_now_and_once_is_refused(
    at_noon: None, visitor: Visitor, stranger: Visitor, home: str, what: str
) -> None:
    key = made(visitor)
    options = asked(stranger)
    if what == "of another browser":
        options = asked(visitor)
        asked(stranger)
    answer = key.sign(
        options,
        ELSEWHERE if what == "elsewhere" else "https://heliograph.test",
        flags=PRESENT if what == "unverified" else 0x04,
    )
    if what == "old":
        clock.move(CHALLENGE_MS)
    if what == "replayed":
        form_cookie = stranger.cookies["__Host-heliograph-form"]
        assert give(stranger, answer) == 303
        stranger.get("/portal/you")
        stranger.post("/portal/sign-out")
        stranger.cookies.set("__Host-heliograph-form", form_cookie, domain="", path="/")
        asked(stranger)
    assert give(stranger, answer) == 401
    assert "This passkey is not known here" in stranger.page.text
    assert not is_in(stranger)


def test_a_passkey_that_counts_backwards_may_be_a_copy(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    key = made(visitor)
    key.signatures = 6
    assert give(stranger, key.sign(asked(stranger))) == 303
    stranger.post("/portal/sign-out")
    key.signatures = 6
    assert give(stranger, key.sign(asked(stranger))) == 401
    assert "may be a copy" in stranger.page.text


def test_a_passkey_that_does_not_count_is_taken(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    key = made(visitor)
    for _ in range(2):
        key.signatures = -1
        assert give(stranger, key.sign(asked(stranger))) == 303


def test_nobody_signs_in_with_another_ones_credential(
    db: Database, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    key = made(visitor)
    stranger.sign_in("kofi@example.com", open_account(db, "chidi"))
    theirs = made(stranger)
    stranger.get("/portal/you")
    stranger.post("/portal/sign-out")
    for forged in (SecurityKey(), SecurityKey(), SecurityKey()):
        forged.handle, forged.credential_id = key.handle, key.credential_id
        assert give(stranger, forged.sign(asked(stranger))) == 401
    mixed = SecurityKey()
    mixed.key, mixed.credential_id, mixed.handle = theirs.key, theirs.credential_id, key.handle
    assert give(stranger, mixed.sign(asked(stranger))) == 401
    assert not is_in(stranger)


def test_a_credential_that_is_there_is_not_made_again_by_somebody_else(
    db: Database, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    key = made(visitor)
    stranger.sign_in("kofi@example.com", open_account(db, "chidi"))
    copied = SecurityKey()
    copied.credential_id = key.credential_id
    assert keep(stranger, copied.make(how_to_make(stranger))) == 400
    assert "not known here" in stranger.page.text


def test_a_passkey_is_made_only_by_whom_it_was_asked_from_here_and_once(
    db: Database, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    options = how_to_make(visitor)
    assert keep(visitor, SecurityKey().make(options, ELSEWHERE)) == 400
    stranger.sign_in("kofi@example.com", open_account(db, "chidi"))
    how_to_make(stranger)
    assert keep(stranger, SecurityKey().make(options)) == 400
    how_to_make(visitor)
    assert keep(visitor, SecurityKey().make(options)) == 303
    how_to_make(visitor)
    assert keep(visitor, SecurityKey().make(options)) == 400
    with db.read() as tx:
        assert len(tx.execute(passkeys.select()).all()) == 1


def test_a_passkey_is_renamed_and_once_removed_signs_nobody_in(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    key = made(visitor)
    found = re.search(r'name="passkey" value="(pky_\w+)"', visitor.get("/portal/you").text)
    assert found is not None
    fields = {"passkey": found[1]}
    assert visitor.post(OWN, {**fields, "do": "rename", "name": ""}).status_code == 400
    assert visitor.post(OWN, {**fields, "do": "rename", "name": "<b>Laptop"}).status_code == 303
    assert "&lt;b&gt;Laptop" in visitor.get("/portal/you").text
    assert visitor.post(OWN, {**fields, "do": "remove"}).status_code == 303
    assert visitor.post(OWN, {**fields, "do": "remove"}).status_code == 303
    assert "That was removed already" in visitor.get("/portal/you").text
    assert give(stranger, key.sign(asked(stranger))) == 401


def test_nobody_changes_the_passkeys_of_somebody_else(
    db: Database, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    made(visitor)
    found = re.search(r'name="passkey" value="(pky_\w+)"', visitor.get("/portal/you").text)
    assert found is not None
    stranger.sign_in("kofi@example.com", open_account(db, "chidi"))
    assert "Tall fob" not in stranger.get("/portal/you").text
    fields = {"passkey": found[1], "name": "mine"}
    assert stranger.post(OWN, {**fields, "do": "rename"}).status_code == 404
    # as for one that was removed already
    assert stranger.post(OWN, {**fields, "do": "remove"}).status_code == 303
    assert "Tall fob" in visitor.get("/portal/you").text


def test_passkeys_take_a_fresh_sign_in_and_there_are_not_too_many(
    at_noon: None, db: Database, visitor: Visitor, home: str
) -> None:
    for _ in range(PASSKEYS_MAX - 1):
        made(visitor)
    first, second = how_to_make(visitor), how_to_make(visitor)
    assert keep(visitor, SecurityKey().make(first)) == 303
    visitor.get("/portal/you")
    assert keep(visitor, SecurityKey().make(second)) == 400
    assert f"a user has at most {PASSKEYS_MAX} passkeys" in visitor.page.text
    clock.move(FRESH_MS)
    assert visitor.get(OWN).status_code == 403
    visitor.get("/portal/you")
    assert keep(visitor, SecurityKey().make(first)) == 403


HOSTILE = [
    "",
    "null",
    "[]",
    "{}",
    "[" * 9_000,
    '{"response": {"clientDataJSON": "!"}}',
    json.dumps({"rawId": "", "response": {"clientDataJSON": "e30"}}),
    "x" * 20_000,
]


@pytest.mark.parametrize("answer", HOSTILE, ids=range(len(HOSTILE)))
def test_an_answer_that_is_none_is_refused_and_nothing_stored(
    db: Database, visitor: Visitor, stranger: Visitor, home: str, answer: str
) -> None:
    how_to_make(visitor)
    assert keep(visitor, answer) == 400
    asked(stranger)
    assert give(stranger, answer) == 401
    with db.read() as tx:
        assert tx.execute(used_challenges.select()).all() == []


def test_an_answer_that_is_broken_anywhere_is_refused(
    visitor: Visitor, stranger: Visitor, home: str
) -> None:
    whole = json.loads(SecurityKey().make(how_to_make(visitor)))
    attestation = whole["response"]["attestationObject"]
    for cut in range(0, len(attestation), 9):
        response = {**whole["response"], "attestationObject": attestation[:cut]}
        assert keep(visitor, json.dumps({**whole, "response": response})) == 400, cut
    whole = json.loads(made(visitor).sign(asked(stranger)))
    for name, text in whole["response"].items():
        for at in range(0, len(text) - 4, 9):
            broken = text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]
            response = {**whole["response"], name: broken}
            assert give(stranger, json.dumps({**whole, "response": response})) == 401, (name, at)


@pytest.mark.parametrize(
    ("base_url", "name", "origin"),
    [
        ("https://sms.example.com", "sms.example.com", "https://sms.example.com"),
        ("https://sms.example.com:8443/x", "sms.example.com", "https://sms.example.com:8443"),
        ("http://localhost:8080", "localhost", "http://localhost:8080"),
    ],
)
def test_passkeys_are_for_the_public_address(base_url: str, name: str, origin: str) -> None:
    assert site_of(base_url) == (name, origin)


@pytest.mark.parametrize(
    "base_url", [None, "http://sms.example.com", "https://192.0.2.1", "https://[2001:db8::1]:80"]
)
def test_where_no_browser_would_take_a_passkey_there_are_none(base_url: str | None) -> None:
    assert site_of(base_url) is None


def test_as_a_second_step_only_a_passkey_of_the_same_user_counts(
    db: Database, visitor: Visitor, stranger: Visitor, home: str
) -> None:
    own = made(visitor)
    stranger.sign_in("kofi@example.com", open_account(db, "chidi"))
    kofis = made(stranger)
    stranger.get("/portal/you")
    stranger.post("/portal/sign-out")
    with db.write() as tx:
        user = users.find(tx, EMAIL)
        given_codes(tx, user.id, clock.now_ms())
        link = sign_ins.make_link(tx, user.id, now_ms=clock.now_ms())
    stranger.get(f"/portal/sign-in/{link}")
    assert stranger.post(f"/portal/sign-in/{link}").headers["location"].startswith(CODE)

    def give_second(key: SecurityKey) -> int:
        options = stranger.get(SIGN_IN).json()
        page = stranger.get(CODE)
        [form] = re.findall(
            r'<form[^>]*action="/portal/sign-in/passkey".*?</form>', page.text, re.S
        )
        fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
        stranger.page = stranger.post(SIGN_IN, {**fields, "answer": key.sign(options)})
        return stranger.page.status_code

    assert give_second(kofis) == 401
    assert "belongs to another user" in stranger.page.text
    assert not is_in(stranger)
    assert give_second(own) == 303
    assert EMAIL in stranger.get("/portal/you").text
