"""Everybody who has no business there asks every route of the portal. The cases are made from the
routes, so a page that is added later is asked, too.
"""

from typing import Any

import pytest

from heliograph import accounts, users
from heliograph.accounts.tables import accounts as account_rows
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.portal.portal import Portal
from heliograph.users import Role
from tests.support.capability.webhooks import NOWHERE
from tests.support.factories import open_account
from tests.support.portal.contents import contents
from tests.support.portal.hostile import HOSTILE, active_parts_of, assert_inert
from tests.support.portal.routes import (
    BELOW,
    There,
    asked,
    asked_of,
    of_accounts,
)
from tests.support.portal.visitor import EMAIL, Visitor, home_of

# these say by themselves who asks, or are for everybody
OPEN = {
    "/",
    "/portal/static/{name}",
    "/portal/sign-in",
    "/portal/sign-in/mail",
    "/portal/sign-in/code",
    "/portal/sign-in/passkey",
    "/portal/sign-in/{link}",
    "/portal/invitation/{link}",
    "/portal/sign-up",
    "/portal/sign-up/{link}",
    "/portal/language/{language}",
}
SIGN_OUT = "/portal/sign-out"  # who is signed out already stays so
OWN = {
    SIGN_OUT,
    "/portal/you",
    "/portal/you/password",
    "/portal/you/authenticator",
    "/portal/you/language",
    "/portal/you/passkeys",
    "/portal/you/sessions",
}
WITH_A_FILE = ("/import", "/documents")  # forms that are read only as such
ASKS_TO_REMOVE = "/remove"  # what is not there was removed already: such a page leads to the list
SECRETS = ("amina", "sk_live_", NOWHERE)  # that pages of the account show


def ask(visitor: Visitor, method: str, path: str, **more: Any) -> Any:
    return visitor.get(path, **more) if method == "GET" else visitor.post(path, **more)


def status_of_nothing(path: str) -> int:
    """Returns how a page answers that is asked for a thing that the account does not have."""
    return 303 if path.endswith(ASKS_TO_REMOVE) else 404


def test_every_route_is_of_an_account_or_is_known_to_be_none(portal: Portal) -> None:
    others = {route.path for route in portal.routes} - {route.path for route in of_accounts(portal)}
    assert others == OPEN | OWN | {"/portal"}
    assert len(of_accounts(portal)) > 10


def test_the_address_of_a_form_leads_to_a_page_above_it(
    visitor: Visitor, portal: Portal, there: There, home: str
) -> None:
    """After a form that was refused the browser shows its address, and somebody opens it again."""
    every = asked(portal, there)
    pages = {path for method, path in every if method == "GET"}
    forms = {path for method, path in every if method == "POST"} - pages
    assert len(forms) > 5
    for path in forms:
        led = visitor.get(path)
        assert led.status_code == 303, path
        assert led.headers["location"] in pages
        assert path.startswith(f"{led.headers['location']}/")


def test_who_is_signed_out_sees_and_does_nothing(
    visitor: Visitor, portal: Portal, db: Database, there: There
) -> None:
    visitor.get("/portal")
    token, before = visitor.token, contents(db)
    own = [asked_of(route, there) for route in portal.routes if route.path in OWN]
    assert {path for _, path in own} == OWN
    for method, path in [*asked(portal, there), *own]:
        page = (
            visitor.get(path)
            if method == "GET"
            else visitor.post_as_it_is(path, data={"form_token": token})
        )
        assert page.status_code == (303 if path == SIGN_OUT else 401), path
        assert "amina" not in page.text
        assert page.headers.get("location", "/portal") == "/portal", path
    assert contents(db) == before


def test_a_user_of_another_account_finds_none_of_it(
    visitor: Visitor, portal: Portal, db: Database, there: There
) -> None:
    chidi = open_account(db, "chidi")
    visitor.sign_in("kofi@example.com", chidi)
    own = home_of(db, chidi)
    before = contents(db)
    mine = own.rpartition("/")[2]
    # the pages of amina, and amina's things below the pages of chidi
    for method, path in [*asked(portal, there), *asked(portal, there, account=mine)]:
        visitor.get(own)
        page = ask(visitor, method, path)
        is_list_or_form = page.status_code in (200, 303, 400) and path.startswith(own)
        assert is_list_or_form or page.status_code == 404, path
        for secret in SECRETS:
            assert secret not in page.text, path
    assert contents(db) == before


def looks_at_a_customer(visitor: Visitor, portal: Portal, there: There) -> None:
    """Asks for all pages of the customer, and for the partner's things below them."""
    at_customer = there._replace(account=there.customer)
    for method, path in asked(portal, at_customer):
        if method != "GET":
            continue
        page = visitor.get(path)
        things = [getattr(there, name) for name in BELOW if name != "customer"]
        if "/connect" in path or any(thing in path for thing in things):
            assert page.status_code == status_of_nothing(path), path
        else:
            is_of_none = path.endswith("/contacts/tags")  # nobody was selected
            assert page.status_code == 400 if is_of_none else page.status_code in (200, 303), path
        for secret in ("sk_live_", NOWHERE, "amina's"):
            assert secret not in page.text, path


def test_a_partners_owner_acts_for_its_customer_under_his_own_name(
    visitor: Visitor, portal: Portal, db: Database, amina_id: str, bilal: str, there: There
) -> None:
    visitor.sign_in(EMAIL, amina_id)
    looks_at_a_customer(visitor, portal, there)
    page = visitor.get(home_of(db, bilal))
    assert "You act for <strong>bilal</strong>, a customer of amina" in page.text
    assert EMAIL in page.text
    assert f'href="{home_of(db, amina_id)}/connect"' in page.text


@pytest.mark.parametrize("who", ["a partner's owner", "a customer's own user"])
def test_who_works_at_a_customer_changes_nothing_of_the_partner(
    visitor: Visitor,
    portal: Portal,
    db: Database,
    amina_id: str,
    bilal: str,
    there: There,
    who: str,
) -> None:
    own = bilal if who == "a customer's own user" else amina_id
    visitor.sign_in(EMAIL, own)
    looks_at_a_customer(visitor, portal, there)
    if own == bilal:
        assert "amina" not in visitor.get(home_of(db, bilal)).text
    visitor.get(home_of(db, bilal))
    token, before = visitor.token, contents(db)
    things = [getattr(there, name) for name in BELOW if name != "customer"]
    for method, path in asked(portal, there._replace(account=there.customer)):
        if method == "POST" and ("/connect" in path or any(thing in path for thing in things)):
            page = visitor.post_as_it_is(path, data={"form_token": token, "do": "send"})
            assert page.status_code in (400, 404), path
    assert contents(db) == before
    with db.write() as tx:
        accounts.suspend(tx, amina_id)  # and so are its customers
    before = contents(db)
    for method, path in asked(portal, there._replace(account=there.customer)):
        if method == "POST":
            page = visitor.post_as_it_is(path, data={"form_token": token, "do": "send"})
            assert page.status_code in (403, 404), path
    assert contents(db) == before


# who may send the forms below an account, by the first word of their paths (docs/portal.md)
SENDERS_OF_FORMS = {
    "send": {Role.OWNER, Role.DEVELOPER, Role.MARKETER},
    "conversations": {Role.OWNER, Role.DEVELOPER, Role.MARKETER},
    "handsets": {Role.OWNER, Role.DEVELOPER, Role.MARKETER},
    "keys": {Role.OWNER, Role.DEVELOPER},
    "quickstart": {Role.OWNER, Role.DEVELOPER},
    "webhooks": {Role.OWNER, Role.DEVELOPER},
    "campaigns": {Role.OWNER, Role.MARKETER},
    "contacts": {Role.OWNER, Role.MARKETER},
    "senders": {Role.OWNER, Role.MARKETER},
    "connect": {Role.OWNER},
    "members": {Role.OWNER},
    "money": {Role.OWNER},
    "settings": {Role.OWNER},
}


@pytest.mark.parametrize("role", list(Role))
def test_each_role_sends_the_forms_that_are_for_it_and_no_others(
    visitor: Visitor, portal: Portal, db: Database, amina_id: str, there: There, role: Role
) -> None:
    visitor.sign_in(EMAIL, amina_id, role)
    home = home_of(db, amina_id)
    visitor.get(home)
    token, before = visitor.token, contents(db)
    forms = {path: set(Role) for method, path in asked(portal, there) if method == "POST"}
    for path in forms:
        forms[path] = SENDERS_OF_FORMS[path.removeprefix(f"{home}/").split("/")[0]]
        if path.endswith(f"{there.campaign}/test"):
            forms[path] = SENDERS_OF_FORMS["send"]
    for is_refused in (True, False):
        for path, who in forms.items():
            if (role not in who) == is_refused:
                page = visitor.post_as_it_is(path, data={"form_token": token, "do": "x"})
                assert (page.status_code == 403) == is_refused, path
        assert contents(db) == before or not is_refused


@pytest.mark.parametrize(
    "who",
    [
        "another partner",
        "the customer's user at the partner",
        "a developer of the partner",
        "a viewer of the partner",
        "a former owner",
        "an owner, the customer being closed",
        "an owner, the customer being given away",
    ],
)
def test_nobody_else_acts_for_a_customer(
    visitor: Visitor,
    portal: Portal,
    db: Database,
    amina_id: str,
    bilal: str,
    there: There,
    who: str,
) -> None:
    chidi = open_account(db, "chidi")
    member_of = {"another partner": chidi, "the customer's user at the partner": bilal}
    own = member_of.get(who, amina_id)
    role = next((each for each in Role if each.value in who), Role.OWNER)
    visitor.sign_in("kofi@example.com", own, role)
    visitor.get(home_of(db, own))
    token = visitor.token
    at = there if own == bilal else there._replace(account=there.customer)
    with db.write() as tx:
        user = users.find(tx, "kofi@example.com")
        if who == "a former owner":
            users.set_role(tx, user.id, amina_id, Role.VIEWER, now_ms=clock.now_ms())
        elif "closed" in who:
            accounts.close(tx, bilal, now_ms=clock.now_ms())
        elif "given away" in who:
            tx.execute(
                account_rows.update().where(account_rows.c.id == bilal).values(parent_id=chidi)
            )
    before = contents(db)
    refused = 401 if who == "a former owner" else 404
    for method, path in asked(portal, at):
        if method == "GET":
            assert visitor.get(path).status_code == refused, path
        else:
            page = visitor.post_as_it_is(path, data={"form_token": token, "do": "send"})
            assert page.status_code == refused or path.endswith(WITH_A_FILE), path
        for secret in (*SECRETS, "bilal"):
            assert secret not in visitor.page.text, path
    assert contents(db) == before


@pytest.mark.parametrize("who", ["viewer", "suspended", "former"])
def test_who_may_only_look_changes_nothing(
    visitor: Visitor, portal: Portal, db: Database, amina_id: str, there: There, who: str
) -> None:
    visitor.sign_in(EMAIL, amina_id, Role.VIEWER if who == "viewer" else Role.OWNER)
    visitor.get(home_of(db, amina_id))
    token = visitor.token
    with db.write() as tx:
        if who == "suspended":
            accounts.suspend(tx, amina_id)
        if who == "former":
            users.remove_member(tx, users.find(tx, EMAIL).id, amina_id)
    before = contents(db)
    for method, path in asked(portal, there):
        if method == "POST":
            page = visitor.post_as_it_is(path, data={"form_token": token, "do": "send"})
            assert page.status_code == (401 if who == "former" else 403), path
    assert contents(db) == before


def test_every_form_refuses_a_missing_token_and_a_foreign_origin(
    visitor: Visitor, portal: Portal, db: Database, amina_id: str, there: There
) -> None:
    visitor.sign_in(EMAIL, amina_id)
    before = contents(db)
    forms = [
        asked_of(route, there).path
        if "{account}" in route.path
        else route.path.replace("{link}", "of-nobody")
        for route in portal.routes
        if "POST" in (route.methods or ())
    ]
    assert {"/portal/sign-up/of-nobody", "/portal/invitation/of-nobody", *OWN - {"/portal/you"}} < {
        *forms
    }
    for path in forms:
        visitor.get(home_of(db, amina_id))
        file = {"file": b"phone"} if path.endswith(WITH_A_FILE) else None
        form = {"do": "send"}
        assert visitor.post_as_it_is(path, data=form, files=file).status_code == 403, path
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert visitor.post(path, headers=headers).status_code == 403, path
    assert visitor.get(home_of(db, amina_id)).status_code == 200
    assert contents(db) == before


def test_hostile_names_in_paths_and_queries_find_nothing(
    visitor: Visitor, portal: Portal, db: Database, amina_id: str, there: There
) -> None:
    visitor.sign_in(EMAIL, amina_id)
    queries, active = hostile_queries(), active_parts_of(visitor.get("/portal").text)
    pages = [route for route in of_accounts(portal) if "GET" in (route.methods or ())]
    for route in pages:
        last = next((name for name in BELOW if f"{{{name}}}" in route.path), None)
        if last is not None:
            # each thing is looked for by one function, whichever its page is
            for written in (
                map(octets_of, HOSTILE) if route.path.endswith(f"{{{last}}}") else ("%00",)
            ):
                page = visitor.get(asked_of(route, there, **{last: written}).path)
                assert page.status_code == status_of_nothing(route.path), (route.path, written)
                assert_inert(page, active, (route.path, written))
        else:
            for query in queries:
                page = visitor.get(f"{asked_of(route, there).path}?{query}")
                assert page.status_code in (200, 400), (route.path, query)
                assert_inert(page, active, (route.path, query))


def hostile_queries() -> list[str]:
    """Returns queries with all of the texts as names and values, ten in each. Those that are
    refused at once stand alone, and so does the longest, because a query has no more room.
    """
    alone = [text for text in HOSTILE if "\0" in text or len(text) > 500]
    others = [text for text in HOSTILE if text not in alone]
    groups = [[text] for text in alone] + [others[k::4] for k in range(4)]
    return [
        "&".join(f"{octets_of(text)}={octets_of(text)}&cursor={octets_of(text)}" for text in group)
        for group in groups
    ]


def octets_of(text: str) -> str:
    """Returns the text for a path or a query, with each octet written so that no client takes it
    away.
    """
    if len(text) > 1_000:
        return text  # as it is, for a client writes no longer address
    return "".join(f"%{octet:02x}" for octet in text.encode())
