"""Knows who has opted out of a campaign that is under way, for its state machine."""

import sqlalchemy as sa

from heliograph import contacts
from heliograph.base import clock
from heliograph.contacts import ContactOwner, ContactPatch, by_phone
from heliograph.contacts.tables import contacts as table
from heliograph.messages.tables import inflight, messages
from heliograph.opt_outs.tables import suppressions
from tests.support.capability.campaigns import set_opted_out
from tests.support.capability.sending import House

IN_FLIGHT = messages.c.id.in_(sa.select(inflight.c.message_id))


class OptingOut:
    """Knows who has opted out of a campaign. `audience` is as it was frozen. `left_out` have opted
    out since, and were no message then. `blocked` have opted out, and no carrier had anything for
    them at the look after it: nothing goes there any more.
    """

    def __init__(self, house: House) -> None:
        self._house = house
        self.audience: set[int] = set()
        self.left_out: set[int] = set()
        self.blocked: set[int] = set()
        self._unseen: set[int] = set()  # by any look
        # opted out before the launch, and no look has read the note of it
        self._noted: set[int] = set()
        self.situations: set[str] = set()

    def launched(self, audience: set[int]) -> None:
        """Notes that this audience was frozen. A note that no look has read yet is for it, too,
        also when the contact is gone.
        """
        self.audience = audience
        self.left_out |= audience & self._noted
        self._unseen |= audience & self._noted

    def opts_out(self, phone: int, then: str) -> None:
        """Notes that a contact that wants campaigns wants none any more. `then` says that it is
        `removed`, or wants them `back`.
        """
        owner = ContactOwner(self._house.amina_id, False)
        with self._house.db.read() as tx:
            before = by_phone(tx, owner, str(phone))
        if before is None or before.opted_out:
            return
        text_id = contacts.text_id(before)
        for opted_out in (True, False) if then == "back" else (True,):
            with self._house.db.write() as tx:
                contacts.update(
                    tx,
                    owner,
                    text_id,
                    ContactPatch(None, {"opted_out": opted_out}),
                    by=contacts.OPERATOR,
                    now_ms=clock.now_ms(),
                )
        if then == "removed":
            with self._house.db.write() as tx:
                contacts.delete(tx, owner, text_id)
        if then == "back":
            self._noted.discard(phone)
        else:
            self._noted.add(phone)
        if phone in self.audience and then != "back":
            self._unseen.add(phone)
            self._place(phone)

    def opts_in(self, phone: int) -> None:
        with self._house.db.write() as tx:
            set_opted_out(tx, self._house.amina_id, {phone: False})

    def wanted(self, listed: set[int]) -> tuple[set[int], int]:
        """Returns whom a launch is for now, and how many of its audience have opted out. `listed`
        are those of a file; without it, all contacts are meant.
        """
        with self._house.db.read() as tx:
            out = set(tx.execute(sa.select(suppressions.c.phone)).scalars())
            people = listed or set(tx.execute(sa.select(table.c.phone)).scalars())
        reached = people - out
        return reached, len(people) - len(reached)

    def _place(self, phone: int) -> None:
        its = messages.c.recipient == phone
        if not self._house.count(messages, its):
            self.left_out.add(phone)
            self.situations.add("opted out while to come")
        elif self._house.count(messages, its, messages.c.status == "queued", ~IN_FLIGHT):
            self.situations.add("opted out while queued")

    def looked(self) -> None:
        """Notes that a look has come to its end: whoever had opted out has nothing waiting, but
        what a carrier has.
        """
        with self._house.db.read() as tx:
            rows = tx.execute(
                sa.select(messages.c.recipient, IN_FLIGHT).where(
                    messages.c.status == "queued", messages.c.recipient.in_(self._unseen)
                )
            ).all()
        assert all(is_in_flight for _, is_in_flight in rows), "what was queued for them has failed"
        self.blocked |= self._unseen - {recipient for recipient, _ in rows}
        self._unseen, self._noted = set(), set()
