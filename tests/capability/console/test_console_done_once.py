"""Each form of the console that is clicked twice has one effect. The cases are made from the
routes, so a form that is added later is clicked twice, too.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import httpx
import pytest
import sqlalchemy as sa
from starlette.routing import Route

from heliograph import accounts, alerts, users
from heliograph.alerts.tables import alert_tellings
from heliograph.base import clock, ids
from heliograph.base.paging import PageWanted
from heliograph.carriers import ReceiptState
from heliograph.console.alert_pages.alert_list import rule_in_words
from heliograph.console.seen_pages.seen_portal import SEEN
from heliograph.database.database import Database
from heliograph.otp import block
from heliograph.portal.page_request import CONSOLE
from heliograph.portal.portal import Portal
from heliograph.senders import reserved_names
from tests.support.alerted import OPERATOR_MAIL, added
from tests.support.capability.doubtful import in_doubt
from tests.support.capability.sending import House
from tests.support.console.operators import (
    account_in_sandbox,
    member_of,
    opted_out,
    own_keyword,
    own_number,
    own_things,
    sign_in_operator,
    uploaded_sheet,
    waiting_sender,
)
from tests.support.factories import PHONE, open_carrier
from tests.support.portal.contents import contents
from tests.support.portal.visitor import Visitor, shown_in

OPTED_OUT: Final = "233201234599"
X: Final = {"reason": "x"}
SHEET: Final = {"file": ("May.csv", b"prefix,credits\n233,2\n")}
CARRIER: Final = {
    "name": "gh-new",
    "host": "smpp.example.net",
    "port": "2775",
    "system_id": "amina",
    "password": "secret12",
    "tps": "50",
    "added_anyway": "yes",
}
SETTINGS: Final = {
    "host": "smpp.example.net",
    "port": "2776",
    "system_id": "amina",
    "saved_anyway": "yes",
}
ACCOUNT: Final = {"name": "zuri", "country_code": "GH", "currency": "GHS", "email": "z@example.com"}
LIMITS: Final = {"max_tier": "enterprise", "daily_credits": "500", "time_zone": "UTC"}
SOMEBODY: Final = {"email": "yaw@example.com"}
COST: Final = {"carrier": "gh-main", "prefix": "233", "currency": "GHS", "amount": "0.1"}
RANGE: Final = "23320123"
OF_QUEUED: Final = ("accounts/{account}/queued", "messages/{message}/cancel")
OF_PHONE: Final = {"account": "amina", "phone": OPTED_OUT}
LIFT: Final = "phones/opt-outs/lift"
LIFTED: Final = f"account=amina&phone={OPTED_OUT}"
SHOWN: Final = "it shows a text, and each time that it was read is written down"
BOUND: Final = "it tries a bind, which takes a second and stores nothing but that it was tried"


class Twice(NamedTuple):
    """Says what is sent, which file with it, how many entries of the operators' log both forms
    together leave, and where the page of the form is, if it is not at its path.
    """

    form: Mapping[str, str]
    entries: int = 1
    files: Mapping[str, Any] | None = None
    page: str = ""


# by what stands behind the console in the path of the route
FORMS: Final[Mapping[str, Twice]] = {
    "approvals/senders/{sender}": Twice({"do": "reject", **X}),
    "approvals/accounts/{account}": Twice({"do": "go live", **X}),
    "approvals/reserved": Twice({"sender": "MTN", **X}),
    "approvals/reserved/release": Twice(
        {"sender": "POSTBANK", **X}, page="approvals/reserved/release?sender=POSTBANK"
    ),
    "accounts": Twice({"q": "amina"}, entries=0),
    "accounts/{account}": Twice({"do": "suspend", **X}),
    "accounts/new": Twice({**ACCOUNT, **X}, entries=3),
    "accounts/{account}/name": Twice({"name": "amina & sons", **X}),
    "accounts/{account}/people": Twice({**SOMEBODY, "role": "viewer", **X}, entries=2),
    "accounts/{account}/people/{user}": Twice({"do": "remove", **X}),
    "accounts/{account}/limits": Twice({**LIMITS, **X}),
    "accounts/{account}/quotas": Twice({"logs": "200MB", **X}),
    "accounts/{account}/close": Twice({"do": "close", **X}),
    "accounts/tiers": Twice({"do": "add", "tier": "bulk", "per_minute": "5000", **X}),
    "accounts/{account}/keys/{key}": Twice({"do": "revoke", **X}),
    "accounts/{account}/webhooks/{endpoint}": Twice({"do": "remove", **X}),
    "accounts/{account}/campaigns/{campaign}": Twice({"do": "cancel", **X}),
    "accounts/{account}/queued": Twice({"do": "cancel", **X}),
    "accounts/{account}/see": Twice({"do": "see", **X}, page="accounts/{account}"),
    "accounts/{account}/leave": Twice({}, page="seen/{account}"),
    "messages/in-doubt/decide": Twice({"do": "undeliverable", **X}, page="messages/in-doubt"),
    "messages/{message}/cancel": Twice({"do": "cancel", "shown": "1", **X}, page="messages"),
    "messages/match": Twice(
        {"do": "match", "receipt": "carrier/aa1", **X}, page="messages/receipts"
    ),
    "phones/opt-outs": Twice({"account": "amina", "phone": PHONE, **X}),
    "phones/opt-outs/lift": Twice({"do": "lift", **OF_PHONE, **X}, page=f"{LIFT}?{LIFTED}"),
    "phones/erase": Twice({"again": OPTED_OUT, **OF_PHONE, **X}),
    "abuse/block": Twice({"account": "amina", "range": RANGE, **X}, page="abuse"),
    "abuse/unblock": Twice({"place": RANGE, **X}, page="abuse"),
    "carriers": Twice({**CARRIER, **X}),
    "carriers/{carrier}": Twice({"do": "remove", **X}),
    "carriers/{carrier}/settings": Twice({**SETTINGS, **X}),
    "routes": Twice({"do": "remove route", "prefix": "233", **X}),
    "numbers": Twice({"number": "4568", "carrier": "gh-main", "account": "amina", **X}),
    "numbers/{number}": Twice({"do": "set", "opt_out_scope": "sender", **X}),
    "numbers/keywords": Twice({"account": "amina", "keyword": "BASTA", **X}),
    "numbers/keywords/{keyword}": Twice({"do": "remove", **X}),
    "rates": Twice({"do": "set rate", "destination": "GH", "credits": "3", **X}),
    "rates/sheets": Twice({"name": "May"}, entries=0, files=SHEET),
    "rates/sheets/{sheet}": Twice({"do": "withdraw", **X}),
    "rates/costs": Twice({"do": "set cost", **COST, **X}),
    "rates/prices": Twice({"do": "set price", "currency": "KES", "amount": "30", "per": "9", **X}),
    "money/proofs": Twice({}),
    "money/{account}": Twice({"do": "grant", "credits": "5", **X}),
    "people/operators": Twice({**SOMEBODY, "role": "support", **X}, entries=2),
    "people/{user}/operator": Twice({"do": "role", "role": "admin", **X}),
    "people/{user}/link": Twice({"do": "link", **X}),
    "people/{user}/two-step-off": Twice(X),
    "people/{user}/disable": Twice({"do": "disable", **X}, entries=2),
    "alerts": Twice({"backlog_hold": "77"}),
    "alerts/wallets": Twice({"do": "watch", "account": "amina", "credits": "10"}, page="alerts"),
    "alerts/recipients": Twice({"address": "https://ops.example.net/alerts"}, page="alerts"),
    "alerts/recipients/{recipient}": Twice({"do": "test"}),
}
OTHERS: Final[Mapping[str, str]] = {
    "messages/in-doubt": "it shows what a decision would do, and does nothing",
    "messages/inbound/{inbound}/text": SHOWN,
    "messages/{message}/text": SHOWN,
    "bind-trial": BOUND,
    "carriers/{carrier}/try": BOUND,
    "carriers/{carrier}/settings/try": BOUND,
}


def forms_of(portal: Portal) -> dict[str, Route]:
    """Returns the routes of forms by what stands behind the console in their paths."""
    return {
        route.path.removeprefix(f"{CONSOLE}/"): route
        for route in portal.routes
        if route.path.startswith(CONSOLE)
        and not route.path.startswith(SEEN)
        and "POST" in (route.methods or ())
    }


def test_each_form_is_clicked_twice_or_has_a_reason_not_to_be(portal: Portal) -> None:
    assert set(forms_of(portal)) == set(FORMS) | set(OTHERS)
    assert not set(FORMS) & set(OTHERS)


def entries_of(db: Database) -> list[str]:
    with db.read() as tx:
        found = users.operator_entries(tx, PageWanted(20, None))
    return [each.entry.action for each in found]


def told(answer: httpx.Response) -> tuple[int, str | None, list[str]]:
    """Returns what a reader gets of an answer: the status, where it leads, and a secret."""
    secret = re.findall(r'id="secret"[^>]*>([^<]+)<', answer.text)
    return answer.status_code, answer.headers.get("location"), secret


@pytest.fixture
def doubtful(house: House) -> House:
    """Yields a house with a message in doubt, and a receipt that matches none."""

    async def made() -> None:
        link = await in_doubt(house)
        link.receive("aa1", PHONE, ReceiptState.UNDELIV)
        await link.turn.run_once()
        await house.db.close_hot()

    asyncio.run(made())
    return house


async def queued(house: House) -> None:
    """Queues a message."""
    await house.send(PHONE)
    await house.db.close_hot()


def stands(
    db: Database, name: str, house: House, visitor: Visitor
) -> tuple[dict[str, str], dict[str, str]]:
    """Makes what a form is about. Returns what parameters of paths stand for, and more fields."""
    [row] = house.messages()
    message = ids.text_of_raw("msg", row.id)
    if name in OF_QUEUED:
        asyncio.run(queued(house))
        message = ids.text_of_raw("msg", house.messages()[-1].id)
    is_new = name in ("approvals/accounts/{account}", "accounts/{account}/close")
    with db.read() as tx:
        whose = account_in_sandbox(db) if is_new else house.amina_id
        account = accounts.text_id(accounts.by_id(tx, whose))
    opted_out(db, house.amina_id, OPTED_OUT)
    open_carrier(db, "gh-main", prefix=None if name == "carriers/{carrier}" else "233")
    there = {
        "sender": waiting_sender(db, house.amina_id),
        "account": account,
        "carrier": "gh-main",
        "message": message,
        "keyword": own_keyword(db, house.amina_id),
        "number": own_number(db, house.amina_id),
        "user": member_of(db, house.amina_id),
        "sheet": uploaded_sheet(db),
        "recipient": added(db, OPERATOR_MAIL).recipient.text_id,
        **own_things(db, house.amina_id)._asdict(),
    }
    more = {
        "messages/in-doubt/decide": {"carrier": str(house.carrier_id), message: "yes"},
        "messages/match": {"message": message},
        "abuse/unblock": {"account": account},
    }
    if name == "approvals/reserved/release":
        with db.write() as tx:
            reserved_names.add(tx, "POSTBANK", "a bank", now_ms=clock.now_ms())
    if name == "abuse/unblock":
        with db.write() as tx:
            block(tx, house.amina_id, RANGE, clock.now_ms())
    if name == "accounts/{account}/leave":
        visitor.get(f"/console/accounts/{account}")
        visitor.post(f"/console/accounts/{account}/see", X)
    return there, more.get(name, {})


def rules_as_they_are(db: Database) -> dict[str, str]:
    """Returns the fields of the form of alerts' rules, as its page fills them in."""
    fields = {}
    with db.read() as tx:
        for rule in alerts.all_rules(tx):
            fields[f"{rule.kind}_hold"] = str(rule.hold_s)
            fields[f"{rule.kind}_shown"] = rule_in_words(rule)
            fields |= {f"{rule.kind}_on": "yes"} if rule.is_on else {}
            if rule.threshold is not None:
                fields[f"{rule.kind}_threshold"] = str(rule.threshold)
    return fields


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_is_clicked_twice_has_one_effect_and_one_answer(
    visitor: Visitor, portal: Portal, db: Database, doubtful: House, name: str
) -> None:
    sign_in_operator(visitor, db)
    there, more = stands(db, name, doubtful, visitor)
    wanted = FORMS[name]
    path, page = (f"{CONSOLE}/{each}".format(**there) for each in (name, wanted.page or name))
    more |= rules_as_they_are(db) if name == "alerts" else {}
    shown = shown_in(visitor.get(page))
    before, tests = len(entries_of(db)), how_many_tests(db)
    form = {"shown": shown, **more, **wanted.form, "once": "of this form"}
    files = {} if wanted.files is None else {"files": wanted.files}
    first, second = visitor.post_twice(path, form, **files)
    assert first.status_code in (200, 303), first.text
    assert told(first) == told(second), second.text
    assert len(entries_of(db)) == before + wanted.entries
    assert how_many_tests(db) == tests + (wanted.form.get("do") == "test")
    after = contents(db)
    visitor.post(path, form, **files)
    assert contents(db) == after, "and a third click does nothing either"


def how_many_tests(db: Database) -> int:
    """Returns how many tests were sent to recipients of alerts."""
    with db.read() as tx:
        is_test = alert_tellings.c.event == alerts.TEST
        found: int = tx.execute(
            sa.select(sa.func.count()).select_from(alert_tellings).where(is_test)
        ).scalar_one()
        return found
