"""Anything may be done to contacts, in any order: those that are there, and those that are found,
are those of a model in memory. And whatever a contact is, a file that was exported brings it back.
"""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from heliograph import contacts
from heliograph.base import clock, ids
from heliograph.base.csv.cells import neutralize, without_neutralizing
from heliograph.base.errors import NotFound
from heliograph.contacts import Contact, ContactOwner, ContactPatch, search_buckets, store
from heliograph.contacts.change import TooManyFields, apply_change
from heliograph.contacts.csv_cells import cells_of, change_of, header_of, layout_of
from heliograph.contacts.fields import CUSTOM_MAX
from heliograph.contacts.tables import opt_out_changes
from heliograph.database.database import Database
from heliograph.opt_outs.tables import suppressions
from heliograph.text import Phone
from tests.support.capability.campaigns import set_opted_out
from tests.support.factories import open_account
from tests.support.property.lives import lives

LINE = (
    st.text("aAbBéÉßİ12 %_'\\\\\"=+-@:&|!ñ\u0301", min_size=1, max_size=6)
    .map(str.strip)
    .filter(bool)
)
TAG = LINE.filter(lambda text: "|" not in text)
NAME = TAG.filter(lambda text: text not in ("name", "phone"))
PHONES = st.integers(0, 9).map(lambda k: Phone(str(233_201_212_120 + k), "GH"))
GIVEN = st.fixed_dictionaries(
    {},
    optional={
        "name": st.none() | LINE,
        "email": st.none() | st.sampled_from(["a@b", "É%@b_a.gh"]),
        "opted_out": st.booleans(),
        "tags": st.lists(TAG, max_size=3, unique=True).map(tuple),
        "custom": st.dictionaries(NAME, LINE, max_size=3),
    },
)
PARTS = st.dictionaries(NAME, st.none() | LINE, max_size=2)
NEEDLES = st.text("aAbBéÉßsİ12 %_'\\\\\"@:&!ñ\n\x01", min_size=1, max_size=4) | st.sampled_from(
    ["2332012", "121", "33", "2", "ss", "\u0307"]
)


class Book(RuleBasedStateMachine):
    """A book has two accounts, each with a sandbox, and search buckets so small that there are
    many.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self.db = Database(url)
        self.model: dict[ContactOwner, dict[str, Contact]] = {}  # by id
        self.out: dict[ContactOwner, set[str]] = {}  # phones that have opted out

    def teardown(self) -> None:
        self.db.close()

    @initialize()
    def begin(self) -> None:
        accounts = open_account(self.db), open_account(self.db, "chidi")
        self.model = {
            ContactOwner(account_id, sandbox): {}
            for account_id in accounts
            for sandbox in (False, True)
        }
        self.out = {owner: set() for owner in self.model}

    @rule(
        who=st.integers(0, 3),
        phones=st.lists(PHONES, min_size=1, max_size=6),
        given=GIVEN,
        parts=PARTS,
    )
    def upsert(
        self, who: int, phones: list[Phone], given: dict[str, Any], parts: dict[str, str | None]
    ) -> None:
        owner, now_ms = list(self.model)[who], clock.now_ms()
        with self.db.write() as tx:
            stored = contacts.upsert(
                tx,
                owner,
                [ContactPatch(phone, given, parts) for phone in phones],
                by=contacts.OPERATOR,
                now_ms=now_ms,
            )
        for phone, (outcome, after, _, _) in zip(phones, stored, strict=True):
            before = next(
                (
                    contact
                    for contact in self.model[owner].values()
                    if contact.phone == phone.digits
                ),
                None,
            )
            assert after is not None
            assert outcome == ("updated" if before else "created")
            assert before is None or after.id == before.id
            is_out = phone.digits in self.out[owner]
            blank = Contact(
                id=after.id,
                phone=phone.digits,
                country_code="GH",
                name=None,
                email=None,
                tags=(),
                custom={},
                opted_out=is_out,
                created_at_ms=now_ms,
                updated_at_ms=now_ms,
            )
            self.model[owner][after.id] = apply_change(
                before or blank, ContactPatch(phone, given, parts), now_ms
            )
            assert after == self.model[owner][after.id]
            self.heed(owner, after)

    @rule(who=st.integers(0, 3), which=st.integers(0), phone=st.none() | PHONES, given=GIVEN)
    def update(self, who: int, which: int, phone: Phone | None, given: dict[str, Any]) -> None:
        owner = list(self.model)[who]
        contact, change, now_ms = (
            self.one_of(owner, which),
            ContactPatch(phone, given),
            clock.now_ms(),
        )
        taken = phone is not None and any(
            each.phone == phone.digits and each != contact for each in self.model[owner].values()
        )
        try:
            with self.db.write() as tx:
                after = contacts.update(
                    tx,
                    owner,
                    contacts.text_id(contact),
                    change,
                    by=contacts.OPERATOR,
                    now_ms=now_ms,
                )
        except NotFound:
            assert contact.id not in self.model[owner]
        except store.PhoneTaken:
            assert taken
        else:
            assert not taken
            expected = apply_change(contact, change, now_ms)
            if expected.phone in self.out[owner] and "opted_out" not in given:
                expected = expected._replace(opted_out=True)
            self.model[owner][contact.id] = expected
            assert after == expected
            self.heed(owner, after)
            if given.get("opted_out") and after != contact:
                self.out[owner].add(contact.phone)  # who has refused there, too

    @rule(who=st.integers(0, 3), which=st.integers(0))
    def delete(self, who: int, which: int) -> None:
        owner = list(self.model)[who]
        contact = self.one_of(owner, which)
        try:
            with self.db.write() as tx:
                contacts.delete(tx, owner, contacts.text_id(contact))
            del self.model[owner][contact.id]
        except NotFound:
            assert contact.id not in self.model[owner]

    @rule(needle=NEEDLES, limit=st.integers(1, 4))
    def search(self, needle: str, limit: int) -> None:
        for owner, there in self.model.items():
            expected = [
                contact
                for contact in sorted(there.values(), reverse=True)
                if any(
                    needle.casefold() in text.casefold()
                    for text in (
                        contact.name or "",
                        contact.phone,
                        contact.email or "",
                        *contact.tags,
                    )
                )
            ]
            found: list[Contact] = []
            with self.db.read() as tx:
                while page := contacts.search(
                    tx, owner, needle, limit=limit, before=found[-1].id if found else None
                ):
                    found += page
            assert found == expected, needle

    @invariant()
    def those_that_are_there_are_those_of_the_model(self) -> None:
        for owner, there in self.model.items():
            with self.db.read() as tx:
                assert contacts.page(tx, owner, limit=1_000) == sorted(there.values(), reverse=True)

    @invariant()
    def what_is_recorded_of_opt_outs_goes_with_the_contact(self) -> None:
        with self.db.read() as tx:
            recorded = tx.execute(sa.select(sa.func.count(opt_out_changes.c.id))).scalar_one()
            for there in self.model.values():
                for contact in there.values():
                    recorded -= len(contacts.opt_out_history(tx, contact))
        assert recorded == 0  # nothing is left of contacts that were deleted

    def heed(self, owner: ContactOwner, contact: Contact) -> None:
        """Notes whether this contact's phone has opted out now."""
        (self.out[owner].add if contact.opted_out else self.out[owner].discard)(contact.phone)

    @rule(who=st.integers(0, 3), phone=PHONES, is_out=st.booleans())
    def opt_out_or_in(self, who: int, phone: Phone, is_out: bool) -> None:
        """Opts a phone out or in, whether or not it is a contact."""
        owner = list(self.model)[who]
        with self.db.write() as tx:
            set_opted_out(tx, owner.account_id, {int(phone.digits): is_out}, sandbox=owner.sandbox)
        there = self.model[owner]
        for contact in list(there.values()):
            if contact.phone == phone.digits:
                there[contact.id] = contact._replace(opted_out=is_out)
        (self.out[owner].add if is_out else self.out[owner].discard)(phone.digits)

    @invariant()
    def those_who_have_opted_out_are_those_of_the_model(self) -> None:
        with self.db.read() as tx:
            found = tx.execute(
                sa.select(suppressions.c.account_id, suppressions.c.sandbox, suppressions.c.phone)
            )
            by_owner = [(ContactOwner(row[0], bool(row[1])), str(row[2])) for row in found]
        assert sorted(by_owner) == sorted(
            (owner, phone) for owner, out in self.out.items() for phone in out
        )

    def one_of(self, owner: ContactOwner, which: int) -> Contact:
        """Returns a contact of this owner, of another one, or one that is nowhere."""
        nobody = Contact(
            id=ids.raw_of_number(ids.new_number()),
            phone="1",
            country_code=None,
            name=None,
            email=None,
            tags=(),
            custom={},
            opted_out=False,
            created_at_ms=0,
            updated_at_ms=0,
        )
        there = [*self.model[owner].values()] or [
            contact for each in self.model.values() for contact in each.values()
        ]
        return [*there, nobody][which % (len(there) + 1)]


def test_contacts_are_those_of_a_model(
    database_url: str, emptied: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_buckets, "BUCKET_SIZE", 3)

    class BookHere(Book):
        def __init__(self) -> None:
            super().__init__(emptied())

    run_state_machine_as_test(
        BookHere,
        settings=settings(
            max_examples=lives(database_url, 20),
            stateful_step_count=25,
            suppress_health_check=list(HealthCheck),
        ),
    )


@given(given=GIVEN, opted_out=st.booleans(), phone=PHONES)
@settings(max_examples=500)
def test_what_a_file_is_written_from_it_is_read_back_to(
    given: dict[str, Any], opted_out: bool, phone: Phone
) -> None:
    contact = apply_change(
        Contact(
            id="",
            phone=phone.digits,
            country_code="GH",
            name=None,
            email=None,
            tags=(),
            custom={},
            opted_out=False,
            created_at_ms=0,
            updated_at_ms=0,
        ),
        ContactPatch(phone, {**given, "opted_out": opted_out}),
        0,
    )
    names = sorted(contact.custom)
    header, cells = header_of(names), cells_of(contact, names)
    assert not [
        cell
        for cell in (*header, *cells)
        if cell.lstrip(' \t\r\n"').startswith(("=", "+", "-", "@"))
    ]
    blank = Contact(
        id="",
        phone=phone.digits,
        country_code="GH",
        name=None,
        email=None,
        tags=(),
        custom={},
        opted_out=False,
        created_at_ms=0,
        updated_at_ms=0,
    )
    assert apply_change(blank, change_of(cells, layout_of(header), None), 0) == contact


@given(text=st.text("'\"=+-@\t\r ax", max_size=6))
def test_the_apostrophe_of_a_cell_comes_off_again(text: str) -> None:
    assert without_neutralizing(neutralize(text)) == text


def test_no_contact_gets_more_fields_than_it_may_have() -> None:
    full = Contact(
        id="",
        phone="1",
        country_code=None,
        name=None,
        email=None,
        tags=(),
        custom={str(k): "v" for k in range(CUSTOM_MAX)},
        opted_out=False,
        created_at_ms=0,
        updated_at_ms=0,
    )
    assert (
        len(apply_change(full, ContactPatch(None, {}, {"0": None, "new": "v"}), 0).custom)
        == CUSTOM_MAX
    )
    with pytest.raises(TooManyFields):
        apply_change(full, ContactPatch(None, {}, {"new": "v"}), 0)
