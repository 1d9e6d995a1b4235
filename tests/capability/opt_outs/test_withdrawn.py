"""An opt-out withdraws what is queued for its phone in its scope, whoever makes it."""

import asyncio

import pytest

from heliograph import contacts, senders
from heliograph.base import clock
from heliograph.contacts import ContactOwner, ContactPatch
from heliograph.messages.carrier.withdrawn_by_opt_out import ACCEPTED_BESIDE_MS
from heliograph.messages.sweeps import withdraw
from heliograph.opt_outs import OptOutOwner, OptOutSource, suppress
from heliograph.opt_outs.suppression import WHOLE_ACCOUNT, scope_of_sender
from heliograph.opt_outs.tables import opt_outs
from heliograph.text import parse_phone
from tests.support.capability.campaigning import Sent
from tests.support.capability.commands import Run
from tests.support.capability.sending import House
from tests.support.factories import PHONE, SENDER, awaited, phones

OTHER_SENDER = "SALES"
# after an opt-out: whoever accepts a text then has seen it
PASSES_AFTER_MS = ACCEPTED_BESIDE_MS + 1


async def queued(house: House) -> Sent:
    """Queues a text of either sender to the first of three people, one to the second, a one-time
    password, and a campaign of SENDER to all three.
    """
    with house.db.write() as tx:
        made = senders.register(
            tx, house.amina_id, OTHER_SENDER, sandbox=False, now_ms=clock.now_ms()
        )
        senders.approve(tx, made.id, now_ms=clock.now_ms())
    first, second, _ = phones(3)
    await house.send([first, second], sender=SENDER)
    await house.send(first, sender=OTHER_SENDER)
    await house.send(first, "123456", kind="otp")
    campaign = Sent(house, 3, "hello")
    await campaign.looks(4, 0)
    return campaign


FIRST_PHONE_OUT = ["failed/blocked", "queued", "failed/blocked", "queued"]
FIRST_SENDER_OUT = ["failed/blocked", "queued", "queued", "queued"]
OF_CAMPAIGN_OUT = ["failed/blocked", "queued", "queued"]


@pytest.mark.parametrize("sender", [None, SENDER])
@awaited
async def test_a_command_cancels_and_refunds_what_is_queued_in_its_scope(
    house: House, run: Run, sender: str | None
) -> None:
    await queued(house)
    before = house.credits()
    more = ("--sender", sender.lower()) if sender else ()
    args = ("opt-out", "add", phones(1)[0], *more, "--account", "amina")
    assert (await asyncio.to_thread(run, *args)).status == 0
    expected = FIRST_SENDER_OUT if sender else FIRST_PHONE_OUT
    assert house.statuses() == expected + OF_CAMPAIGN_OUT
    assert house.credits() == before + (2 if sender else 3)
    house.assert_sound()


@awaited
async def test_nothing_is_withdrawn_if_the_opt_out_is_not_stored(house: House) -> None:
    await house.send(PHONE)
    owner = OptOutOwner(house.amina_id, False)

    def opt_out() -> None:
        with house.db.write() as tx:
            now_ms = clock.now_ms()
            suppress(tx, owner, [PHONE], source=OptOutSource.API, now_ms=now_ms)
            withdraw(tx, owner, PHONE, WHOLE_ACCOUNT, now_ms)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(opt_out)
    assert house.statuses() == ["queued"]


@awaited
async def test_a_sender_of_digits_is_known_with_and_without_its_plus(house: House) -> None:
    with house.db.write() as tx:
        made = senders.register(tx, house.amina_id, "+4567", sandbox=False, now_ms=clock.now_ms())
        senders.approve(tx, made.id, now_ms=clock.now_ms())
    await house.send(PHONE, sender="+4567")
    await house.send(PHONE, sender="4567")
    owner, scope = OptOutOwner(house.amina_id, False), scope_of_sender("+4567")

    def opt_out() -> None:
        with house.db.write() as tx:
            now_ms = clock.now_ms()
            suppress(tx, owner, [PHONE], source=OptOutSource.API, now_ms=now_ms, scope=scope)
            withdraw(tx, owner, PHONE, scope, now_ms)

    await asyncio.to_thread(opt_out)
    assert house.statuses() == ["failed/blocked"] * 2


@pytest.mark.parametrize("place", ["queued", "with a carrier"])
@awaited
async def test_a_contact_that_opts_out_loses_single_sends_at_the_next_look(
    house: House, place: str
) -> None:
    campaign = await queued(house)
    before, link = house.credits(), house.turn()
    if place == "with a carrier":
        await link.turn.run_once()
    first = phones(1)[0]
    change = ContactPatch(parse_phone(first), {"opted_out": True})
    house.allow_transactional()
    with house.db.write() as tx:
        owner = ContactOwner(house.amina_id, False)
        contacts.upsert(tx, owner, [change], by=contacts.OPERATOR, now_ms=clock.now_ms())
    clock.move(by_ms=PASSES_AFTER_MS)
    try:
        await house.send(first, "It passes.", transactional=True)
        await campaign.look()
        if place == "with a carrier":
            assert set(house.statuses()) == {"queued"}
            assert house.count(opt_outs) == 1, "it is looked at again"
            return
        assert house.statuses() == [*FIRST_PHONE_OUT, *OF_CAMPAIGN_OUT, "queued"]
        assert house.credits() == before + 3 - 1
        assert house.count(opt_outs) == 0
    finally:
        clock.move(by_ms=-PASSES_AFTER_MS)
    house.assert_sound()
