"""`heliograph demo` runs a server with a ready account, and sends a first text which becomes
`delivered` before one's eyes.
"""

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from heliograph import (
    accounts,
    campaigns,
    connect,
    contacts,
    inbound,
    keys,
    plugin,
    senders,
    users,
    wallet,
)
from heliograph.api import listening
from heliograph.base import clock
from heliograph.base.addresses import TERMINAL
from heliograph.base.errors import InsufficientCredits
from heliograph.base.settings import Settings
from heliograph.carriers import SIMULATOR, SIMULATOR_ID, routing, text_of_phone
from heliograph.database.database import Database
from heliograph.inbound.receive import receiver
from heliograph.processes import serve
from heliograph.text import GSM_7, Phone
from heliograph.users import sign_ins
from heliograph.wallet import ledger

ACCOUNT: Final = "Demo Shop"
SENDER: Final = "DEMO"
NUMBER: Final = "4567"  # that people write to
EMAIL: Final = "demo@heliograph.example"  # of a reserved domain: nobody gets mail there
CREDITS: Final = 1_000
RECIPIENT: Final = "233201234567"
CUSTOMERS_CREDITS: Final = 100
CUSTOMER: Final = connect.CustomerRequest("Demo Corner", RECIPIENT, "GH", external_ref="demo")
SITE_URL: Final = "https://demo-shop.example"
SITE: Final = plugin.SiteDetails(ACCOUNT, "woocommerce", None, "1.7.2", None)
TEXT: Final = "Hello from Heliograph!"
ANSWER: Final = "Thank you! Are you open on Sunday?"  # what its recipient writes back
CAMPAIGN: Final = {
    "name": "Demo offers",
    "sender": SENDER,
    "message": "Hi {name|friend}, mangoes are back at {shop}.",
    "audience": "all",
    "rate": 1,
}
CONTACT_NAMES: Final = ("Ama", "Kofi", None, "Esi", "Yaw", "Efua")
CONTACTS: Final = [
    contacts.ContactPatch(
        Phone(str(233_244_000_100 + k), "GH"),
        {
            "name": CONTACT_NAMES[k % len(CONTACT_NAMES)],
            "tags": ("gold",) if k % 4 == 0 else (),
            "custom": {"shop": ("Osu", "Labone")[k % 2]},
            "opted_out": k % 20 == 19,
        },
    )
    for k in range(60)
]
DELIVERED_WITHIN_S: Final = 10
REQUEST_TIMEOUT_S: Final = 5
LOOK_EVERY_S: Final = 0.05


class Ready(NamedTuple):
    """Holds what a user of the demo needs: its keys, and what the demo has made to look at."""

    live_key: str
    sandbox_key: str
    customer_id: str
    site_url: str
    sign_in_link: str  # its secret
    contacts: str = "none"
    campaign: str = "none"


class NotDelivered(Exception):
    """The demo's text did not arrive."""


def run(
    settings: Settings, host: str, port: int, say: Callable[[str], None], *, once: bool
) -> None:
    """Serves with a ready account. With `once`, it ends after the first delivery. Raises
    NotDelivered, and what `serve.run` raises.
    """

    # only now: a second demo that cannot start must not revoke the keys of the first
    async def first_text(bound: int) -> bool:
        ready = await asyncio.to_thread(
            prepare, Database(settings.database_url, settings.synchronous_commit), clock.now_ms()
        )
        base_url = listening.address_of(host, bound)
        await asyncio.to_thread(_send_and_follow, base_url, ready, say)
        await _answer_text(Database(settings.database_url, settings.synchronous_commit), say)
        ready = await asyncio.to_thread(
            run_campaign,
            Database(settings.database_url, settings.synchronous_commit),
            ready,
            clock.now_ms(),
        )
        say(_farewell(base_url, ready, once))
        return not once

    demo_settings = replace(
        settings, smtp_url=settings.smtp_url or TERMINAL, portal_components=True
    )
    serve.run(demo_settings, host, port, first_text)


def prepare(db: Database, now_ms: int) -> Ready:
    """Prepares the demo's account with credits, an approved sender, a route to the simulator, a
    customer and a linked site. It makes new keys at each start, for they are shown once.
    """
    with db.write() as tx:
        existing = [account for account in accounts.page(tx, limit=100) if account.name == ACCOUNT]
        account = existing[0] if existing else accounts.create(tx, ACCOUNT, "GH", now_ms=now_ms)
        if not existing:
            wallet.open_wallet(tx, account.id, "GHS")
            ledger.grant(
                tx,
                account.id,
                CREDITS + CUSTOMERS_CREDITS,
                "A present for the demo",
                "demo",
                now_ms=now_ms,
            )
            for sender in (SENDER, NUMBER):
                made = senders.register(tx, account.id, sender, sandbox=False, now_ms=now_ms)
                senders.approve(tx, made.id, now_ms=now_ms)
        request = CUSTOMER._replace(initial_credits=0 if existing else CUSTOMERS_CREDITS)
        customer = connect.provision(tx, account.id, request, sandbox=False, now_ms=now_ms).customer
        site = plugin.connect(tx, account.id, SITE_URL, SITE, sandbox=False, now_ms=now_ms)
        for key in keys.page(tx, limit=100, account_id=account.id):
            if key.revoked_at_ms is None:
                keys.revoke(tx, key.id, now_ms=now_ms)
        if NUMBER not in {each.digits for each in inbound.all_numbers(tx)}:
            inbound.add_number(tx, NUMBER, SIMULATOR, account.id, now_ms=now_ms)
        if not routing.all_routes(tx):
            routing.set_route(tx, "", [SIMULATOR])
        live, sandbox = (
            keys.issue(
                tx,
                account.id,
                name="demo",
                sandbox=mode,
                tier="enterprise",
                permissions=keys.ALL_PERMISSIONS,
                now_ms=now_ms,
            ).key
            for mode in (False, True)
        )
        user = users.add(tx, EMAIL, now_ms=now_ms)
        users.set_role(tx, user.id, account.id, users.Role.OWNER, now_ms=now_ms)
        link = sign_ins.make_link(tx, user.id, now_ms=now_ms)
    db.close()
    return Ready(live, sandbox, str(connect.as_record(customer)["id"]), site.site_url, link)


async def _answer_text(db: Database, say: Callable[[str], None]) -> None:
    """Has the phone that got the text answer it, as a carrier would bring that."""
    text_key = f"demo {clock.now_ms()}"
    text = text_of_phone(RECIPIENT, NUMBER, ANSWER, GSM_7, text_key, None)
    try:
        await receiver.receive_texts(db, SIMULATOR_ID, SIMULATOR, [text])
    finally:
        await db.close_hot()
        db.close()
    say(f"\n{RECIPIENT} answers {ANSWER!r} to {NUMBER}: see Conversations in the portal.")


def run_campaign(db: Database, ready: Ready, now_ms: int) -> Ready:
    """Runs a campaign to the demo's contacts, slow enough to be watched, unless an earlier one is
    still under way, and says what there is to say of both.
    """
    try:
        with db.write() as tx:
            account = accounts.with_name(tx, ACCOUNT)[0]
            contacts.upsert(
                tx,
                contacts.ContactOwner(account.id, sandbox=False),
                CONTACTS,
                by=contacts.OPERATOR,
                now_ms=now_ms,
            )
            ready = ready._replace(
                contacts=(
                    f"{len(CONTACTS)}, {sum(bool(each.given['opted_out']) for each in CONTACTS)} of"
                    " them opted out"
                )
            )
            under_way = [
                each
                for each in campaigns.page(tx, limit=100, account_id=account.id, status="sending")
                if each.name == CAMPAIGN["name"]
            ]
            campaign = (
                under_way[0]
                if under_way
                else campaigns.create(
                    tx,
                    account.id,
                    campaigns.read_campaign_request(CAMPAIGN),
                    sandbox=False,
                    now_ms=now_ms,
                )
            )
        if not under_way:
            campaign = campaigns.launch(db, campaign.id).campaign
        return ready._replace(
            campaign=(
                f"{campaigns.text_id(campaign)}, {campaign.name!r}: {campaign.status}, to"
                f" {campaign.recipients_total} contacts, one a second"
            )
        )
    except InsufficientCredits:
        return ready._replace(campaign="none: the credits do not reach for one more")
    finally:
        db.close()


def _send_and_follow(base_url: str, ready: Ready, say: Callable[[str], None]) -> None:
    say(f"\nSending {TEXT!r} from {SENDER} to {RECIPIENT} …")
    sent = _request(
        f"{base_url}/api/v1/sms/send",
        ready.live_key,
        {"sender": SENDER, "message": TEXT, "recipients": [RECIPIENT]},
    )["data"]
    say(
        f"  accepted   {sent['message_id']}, {sent['segments']} segment, {sent['credits_used']}"
        f" credit used, {sent['credits_remaining']} left"
    )
    printed: set[str] = set()
    deadline_s = clock.monotonic_s() + DELIVERED_WITHIN_S
    while clock.monotonic_s() < deadline_s:
        message = _request(f"{base_url}/api/v1/messages/{sent['message_id']}", ready.live_key)[
            "data"
        ]
        for step in message["timeline"]:
            if step["status"] not in printed:
                printed.add(step["status"])
                say(f"  {step['status']:<10} {step['at']}")
        if message["status"] == "delivered":
            return
        time.sleep(LOOK_EVERY_S)
    raise NotDelivered(
        f"The demo's text was not delivered within {DELIVERED_WITHIN_S} s; it is"
        f" {message['status']}."
    )


def _request(url: str, key: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310  our own address
        url, data, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    )
    # whatever proxy the environment names, this is our own address
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(request, timeout=REQUEST_TIMEOUT_S) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        why = json.load(refused)["error"]["message"]
        raise NotDelivered(f"The demo's own request was refused: {why}") from refused
    except OSError as error:
        raise NotDelivered(f"The demo's own request failed: {error}.") from error


def _farewell(base_url: str, ready: Ready, once: bool) -> str:
    if once:
        then = (
            "To send one yourself, run it so that it stays: make demo without ONCE=1, or heliograph"
            " demo without --once."
        )
    else:
        then = f"Send one yourself:\n\n  {_curl(base_url, ready)}\n\nCtrl-C stops the demo."
    return f"""
  portal       {base_url}/portal/sign-in/{ready.sign_in_link}      signs you in, once
  API          {base_url}/api/v1      its description: {base_url}/docs
  live key     {ready.live_key}
  sandbox key  {ready.sandbox_key}
  customer     {ready.customer_id}, {CUSTOMER.full_name}: acted for with customer_id
  site         {ready.site_url}, linked as the plugin does
  contacts     {ready.contacts}
  campaign     {ready.campaign}

Live texts of this demo go to the built-in simulator: nothing leaves this machine. {then}"""


def _curl(base_url: str, ready: Ready) -> str:
    return (
        f"curl {base_url}/api/v1/sms/send \\\n    -H 'Authorization: Bearer {ready.live_key}' \\\n "
        "   -H 'Content-Type: application/json' \\\n"
        f'    -d \'{{"sender": "{SENDER}", "message": "My first text", "recipients":'
        f' ["{RECIPIENT}"]}}\''
    )
