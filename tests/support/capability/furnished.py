"""Fills a database as months of use do: with something in each table that people's work reaches."""

from typing import Final, NamedTuple

from heliograph import alerts, campaigns, carriers, contacts, pricing, users
from heliograph.alerts import AlertKind
from heliograph.base import clock
from heliograph.base.clock import HOUR_MS
from heliograph.campaigns import Campaign
from heliograph.carriers import current_rates, routing
from heliograph.contacts import Changer, ChangerKind, ContactOwner
from heliograph.jobs.ledger_hours import add_up_hour
from heliograph.messages.doubt.decide import Decision
from heliograph.monitoring.sampling import Sampler
from heliograph.monitoring.tables import TEN_SECONDS_MS
from heliograph.users import Role, sign_ins
from tests.support.alerted import OPERATOR_MAIL, added
from tests.support.capability.campaigns import write_down
from tests.support.capability.doubtful import Beside, decided, doubtful_messages
from tests.support.capability.sending import House
from tests.support.console.operators import (
    account_in_sandbox,
    attached,
    uploaded_sheet,
    waiting_sender,
)
from tests.support.factories import phones
from tests.support.portal.rolled_up import count_all
from tests.support.portal.routes import There, customer_of, things_of
from tests.support.portal.visitor import EMAIL

KEPT, OUT_BY_KEY, OUT_BY_USER, OUT_BY_FILE, OUT_IN_SANDBOX, OUT_LATER, BACK = phones(7, first=500)
OPTED_OUT: Final = (OUT_BY_KEY, OUT_BY_USER, OUT_BY_FILE, OUT_LATER)
KEY: Final = Changer(ChangerKind.KEY, "shop")
CHANGERS: Final = {
    OUT_BY_KEY: KEY,
    OUT_BY_USER: Changer(ChangerKind.USER, EMAIL),
    OUT_BY_FILE: Changer(ChangerKind.USER, EMAIL, is_import=True),
}


class Furnished(NamedTuple):
    """Holds what amina's account has. `launched` is a campaign to all contacts of which nothing has
    become a message yet, `sheet` and `recipient` are the operators'.
    """

    there: There
    messages: list[str]
    launched: Campaign
    sheet: str
    recipient: str


def furnish(house: House) -> Furnished:
    """Fills the house's database: it is three hours later afterwards."""
    db = house.db
    there = things_of(db, house.amina_id, customer_of(db, house.amina_id))
    messages = Beside(house).do(doubtful_messages)
    Beside(house).do(lambda beside: decided(beside, Decision.CANCELED, 0))
    Beside(house).do(_send_some)
    _write_contacts(house)
    recipient = added(db, OPERATOR_MAIL).recipient.text_id
    _set_up(house)
    launched = campaigns.launch(db, write_down(db, house.amina_id, message="Hi").id).campaign
    _write_contact(house, OUT_LATER, KEY, opted_out=True)
    clock.move(3 * HOUR_MS)
    count_all(db)
    while add_up_hour(db):
        pass
    sampler = Sampler()
    for _ in range(2):
        clock.move(TEN_SECONDS_MS)
        with db.write() as tx:
            sampler.take(tx, {}, clock.now_ms())
    sender = waiting_sender(db, house.amina_id)
    document = attached(db, house.amina_id, sender).text_id
    shown = there._replace(sender=sender, document=document)
    return Furnished(shown, messages, launched, uploaded_sheet(db), recipient)


def _set_up(house: House) -> None:
    """Sets up what operators set up, and lets somebody sign in for the account."""
    now_ms = clock.now_ms()
    account_in_sandbox(house.db)
    with house.db.write() as tx:
        routing.set_route(tx, "23350", ["carrier", "simulator"])
        current_rates.store(tx, "GH", 2)
        pricing.set_cost(tx, "carrier", "233", "0.01", "GHS")
        alerts.change_rule(tx, AlertKind.DISK, threshold=512)
        alerts.watch_wallet(tx, "amina", 10)
        user = users.add(tx, EMAIL, now_ms=now_ms)
        users.set_role(tx, user.id, house.amina_id, Role.OWNER, now_ms=now_ms)
        sign_ins.begin_session(tx, user.id, seen_by="Firefox", now_ms=now_ms)


async def _send_some(house: House) -> None:
    """Lets one text be delivered and one fail, and leaves two in the queue."""
    link = await house.submitted(phones(2, first=300))
    delivered, failed = (link.answer(each)[0] for each in list(link.open.values())[:2])
    link.receive(delivered, phones(1, first=300)[0])
    link.receive(failed, phones(2, first=300)[1], carriers.ReceiptState.UNDELIV, error="099")
    await link.turn.run_once()
    await house.send(phones(2, first=310), "later", key="once")


def _write_contacts(house: House) -> None:
    """Writes down contacts, some of whom opt out; one opts in again."""
    for phone in (KEPT, OUT_LATER):
        _write_contact(house, phone, KEY)
    for phone, changer in CHANGERS.items():
        _write_contact(house, phone, changer)
        _write_contact(house, phone, changer, opted_out=True)
    for is_out in (True, False):
        _write_contact(house, BACK, KEY, opted_out=is_out)
    _write_contact(house, OUT_IN_SANDBOX, KEY, sandbox=True, opted_out=True)


def _write_contact(
    house: House, phone: str, by: Changer, *, sandbox: bool = False, **more: object
) -> None:
    body = {"phone": phone, "name": "Ama", **more}
    change = contacts.read_contact_request(body, phone_required=True, home_country="GH").change
    with house.db.write() as tx:
        owner = ContactOwner(house.amina_id, sandbox)
        contacts.upsert(tx, owner, [change], by=by, now_ms=clock.now_ms())
