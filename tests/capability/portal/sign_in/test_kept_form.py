"""What was typed into a form whose user has to sign in first is there again afterwards."""

import html
import re

import pytest

from heliograph import users
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.jobs.pruning import prune_all
from heliograph.portal.filled_form import KEPT_MS, KEPT_OCTETS_MAX
from heliograph.portal.page_request import KEPT_COOKIE
from heliograph.portal.sign_in.mailer import Mailer
from heliograph.users.sign_ins import FRESH_MS, IDLE_MS
from heliograph.users.tables import ENDED_KEPT_MS
from heliograph.wallet import ledger, prices
from tests.support.api.service import Loop
from tests.support.factories import grant
from tests.support.portal.authenticator import STEP_MS, code_of, given_codes
from tests.support.portal.contents import contents
from tests.support.portal.mailbox import Mailbox
from tests.support.portal.passwords import GOOD, set_password
from tests.support.portal.security_key import SecurityKey
from tests.support.portal.visitor import EMAIL, SITE, Visitor, home_of

KEY = {"name": "till <7>", "mode": "sandbox", "tier": "standard", "may sms.read": "yes"}
CAMPAIGN = {"name": "May", "sender": "AMINA", "message": "Hello {name}, it’s May", "tags": "vip"}
KEPT = "What you typed is kept for half an hour."
FILLED_IN = "What you typed is filled in below, and was not sent yet."


pytestmark = pytest.mark.usefixtures("at_noon")


def send(visitor: Visitor, path: str, form: dict[str, str]) -> str:
    """Sends a form as a browser does, which names the page that it is on."""
    visitor.page = visitor.post(path, form, headers={"Referer": f"{SITE}{path}"})
    return visitor.page.text


def back_in(visitor: Visitor) -> str:
    [back] = set(re.findall(r'name="back" value="([^"]*)"', visitor.page.text))
    return html.unescape(back)


def with_password(visitor: Visitor) -> str:
    """Signs in on the page that asks for it. Returns the page that this leads to."""
    came = visitor.post(
        "/portal/sign-in", {"email": EMAIL, "password": GOOD, "back": back_in(visitor)}
    )
    return str(came.headers["location"])


def is_filled_in(text: str) -> bool:
    return (
        FILLED_IN in text
        and 'value="till &lt;7&gt;"' in text
        and bool(re.search(r'name="may sms.read" value="yes" checked', text))
    )


def test_a_form_that_was_sent_too_late_is_filled_in_after_the_sign_in(
    visitor: Visitor, db: Database, home: str
) -> None:
    visitor.get("/portal/you")
    set_password(visitor)
    path = f"{home}/keys/new"
    visitor.get(path)
    clock.move(FRESH_MS)
    before = contents(db)
    assert KEPT in send(visitor, path, KEY)
    assert visitor.page.status_code == 403
    assert with_password(visitor) == path
    assert is_filled_in(visitor.get(path).text)
    assert contents(db)["api_keys"] == before["api_keys"], "nothing is done without a click"
    assert KEPT_COOKIE not in visitor.cookies
    assert FILLED_IN not in visitor.get(path).text
    assert "Your new API key" in send(visitor, path, KEY)


def test_a_code_a_passkey_and_a_link_lead_back_to_it_too(
    visitor: Visitor,
    db: Database,
    home: str,
    mailer: Mailer,
    run_loop: Loop,
    mailbox: Mailbox,
) -> None:
    path = f"{home}/keys/new"
    # a passkey
    options = visitor.get("/portal/you/passkeys").json()
    visitor.get("/portal/you")
    fob = SecurityKey()
    visitor.post("/portal/you/passkeys", {"do": "make", "name": "fob", "answer": fob.make(options)})
    visitor.get(path)
    clock.move(FRESH_MS)
    assert KEPT in send(visitor, path, KEY)
    asked, back = visitor.page, back_in(visitor)
    options = visitor.get("/portal/sign-in/passkey").json()
    visitor.page = asked
    came = visitor.post("/portal/sign-in/passkey", {"answer": fob.sign(options), "back": back})
    assert is_filled_in(visitor.get(came.headers["location"]).text)
    # a link, and then a code
    with db.write() as tx:
        secret, _ = given_codes(tx, users.find(tx, EMAIL).id, clock.now_ms())
    clock.move(FRESH_MS)
    assert KEPT in send(visitor, path, KEY)
    visitor.post("/portal/sign-in/mail", {"email": EMAIL, "back": back_in(visitor)})
    run_loop(mailer.send_due())
    link = mailbox.link()
    visitor.get(link)
    clock.move(STEP_MS)
    visitor.get(visitor.post(link).headers["location"])
    code = {"code": code_of(secret, clock.now_ms()), "back": back_in(visitor)}
    came = visitor.post("/portal/sign-in/code", code)
    assert is_filled_in(visitor.get(came.headers["location"]).text)


@pytest.mark.parametrize("part", ["", "/preview"])
def test_a_campaign_survives_the_end_of_the_session(
    visitor: Visitor, db: Database, home: str, run_loop: Loop, part: str
) -> None:
    """The end is found first by a part that is asked for while somebody types. The page is loaded
    anew then, and what was typed must not go with it.
    """
    visitor.get("/portal/you")
    set_password(visitor)
    path = f"{home}/campaigns/new"
    visitor.get(path)
    clock.move(IDLE_MS)
    run_loop(prune_all(db))
    visitor.page = visitor.post(f"{path}{part}", CAMPAIGN, headers={"Referer": f"{SITE}{path}"})
    assert visitor.page.status_code == 401
    assert visitor.page.headers["hx-refresh"] == "true"
    assert KEPT in visitor.get(path).text
    other = f"{home}/campaigns/cmp_01k5zzzzzzzzzzzzzzzzzzzzzz"  # in another tab, a button alone
    visitor.post(other, {"do": "pause"}, headers={"Referer": f"{SITE}{other}"})
    assert KEPT in visitor.get(path).text
    assert with_password(visitor) == path
    text = visitor.get(path).text
    assert FILLED_IN in text
    assert html.escape(CAMPAIGN["message"]) in text


def test_only_its_user_gets_it_back_and_only_for_half_an_hour(
    visitor: Visitor, db: Database, amina_id: str, home: str
) -> None:
    path = f"{home}/keys/new"
    visitor.get(path)
    clock.move(FRESH_MS)
    send(visitor, path, KEY)
    kept = visitor.cookies[KEPT_COOKIE]
    assert "till" not in kept
    visitor.sign_in("kofi@example.com", amina_id)
    assert "till" not in visitor.get(path).text
    visitor.sign_in(EMAIL, amina_id)
    assert is_filled_in(visitor.get(path).text)
    for broken in (kept[:-3] + "AAA", "x", '"', "x" * 5_000):
        visitor.cookies.set(KEPT_COOKIE, broken, domain="heliograph.test")
        assert FILLED_IN not in visitor.get(path).text
        visitor.cookies.delete(KEPT_COOKIE)
    visitor.cookies.set(KEPT_COOKIE, kept, domain="heliograph.test")
    clock.move(KEPT_MS)
    visitor.sign_in(EMAIL, amina_id)
    assert FILLED_IN not in visitor.get(path).text


def test_what_is_too_long_or_a_secret_is_not_kept(
    visitor: Visitor, db: Database, home: str
) -> None:
    path = f"{home}/settings"
    visitor.get(path)
    clock.move(FRESH_MS)
    noise = "".join(chr(0x4E00 + each * 7_919 % 20_000) for each in range(KEPT_OCTETS_MAX))
    assert KEPT not in send(visitor, path, {"name": noise})
    assert KEPT_COOKIE not in visitor.cookies
    visitor.page = visitor.post(
        "/portal/you/password", {"password": GOOD}, headers={"Referer": f"{SITE}/portal/you"}
    )
    assert visitor.page.status_code == 403
    assert KEPT_COOKIE not in visitor.cookies


def test_what_a_stranger_types_is_shown_to_no_user(
    visitor: Visitor, db: Database, amina_id: str
) -> None:
    home = home_of(db, amina_id)
    visitor.get(f"{home}/campaigns/new")
    assert KEPT not in send(visitor, f"{home}/campaigns/new", CAMPAIGN)
    visitor.sign_in(EMAIL, amina_id)
    visitor.get(f"{home}/campaigns/new")
    with db.write() as tx:
        users.set_role(
            tx, users.find(tx, EMAIL).id, amina_id, users.Role.VIEWER, now_ms=clock.now_ms()
        )
    assert KEPT not in send(visitor, f"{home}/campaigns/new", CAMPAIGN), "a role was taken"
    assert KEPT_COOKIE not in visitor.cookies


def test_nobody_knows_for_longer_than_a_day_whose_session_has_ended(
    visitor: Visitor, db: Database, home: str, run_loop: Loop
) -> None:
    visitor.get(f"{home}/campaigns/new")
    clock.move(IDLE_MS + ENDED_KEPT_MS + 1)
    run_loop(prune_all(db))
    assert KEPT not in send(visitor, f"{home}/campaigns/new", CAMPAIGN)


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/settings", {"name": "Ama & Co", "countries": "GH"}),
        ("/members", {"do": "invite", "email": "kofi@example.com", "role": "developer"}),
        ("/money/low", {"low_balance_credits": "77", "low_balance_amount": ""}),
        ("/money/buy?credits=", {"credits": "120"}),
        ("/connect/new", {"full_name": "Esi", "phone": "0201234599", "country_code": "GH"}),
        ("/webhooks/new", {"url": "https://shop.example/hook", "hears message.failed": "yes"}),
    ],
)
def test_each_form_that_takes_a_fresh_sign_in_is_filled_in_again(
    visitor: Visitor,
    db: Database,
    amina_id: str,
    home: str,
    mailbox: Mailbox,
    path: str,
    form: dict[str, str],
) -> None:
    grant(db, amina_id, 1_000)
    with db.write() as tx:
        prices.set_price(tx, "GHS", "2.50", 100)
        ledger.topup(tx, amina_id, "50", "paid", now_ms=clock.now_ms())
    visitor.get("/portal/you")
    clock.move(FRESH_MS)
    assert KEPT in send(visitor, f"{home}{path}", form)
    visitor.sign_in(EMAIL, amina_id)
    text = visitor.get(f"{home}{path}").text
    assert FILLED_IN in text
    for name, value in form.items():
        if name != "do" and value:
            assert f'value="{html.escape(value)}"' in text or f">{value}</option>" in text
