"""Several accounts share a short code: a text is of the account that texted the phone from it last,
else of its catch-all account, and no account sees another's. A phone that is written as it is
dialled at home may be one of any country of these accounts.
"""

from itertools import count
from typing import NamedTuple

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph import senders
from heliograph.base import clock, ids
from heliograph.base.clock import HOUR_MS
from heliograph.base.paging import PageWanted
from heliograph.database.hot import run_in
from heliograph.inbound import add_number, give_back_numbers, set_catch_all
from heliograph.inbound.read import inbound_page
from heliograph.inbound.receive.record import record
from heliograph.inbound.receive.route import ANSWERS_WITHIN_MS
from heliograph.messages.tables import inflight, messages
from tests.support.capability.commands import Run, typed
from tests.support.capability.inbox import Inbox, written
from tests.support.capability.sent_messages import store_sent
from tests.support.factories import open_account
from tests.support.wire.handset_texts import SHORT_CODE

SHARED, CAUGHT = "4568", "4569"
NUMBERS = (SHORT_CODE, SHARED, CAUGHT)
TENANTS = {"amina": "GH", "bilal": "KE", "chidi": "GH"}
EVERYTHING = PageWanted(1_000, None)
GHANAIAN, KENYAN, OTHER_GHANAIAN = range(3)  # the first two are the same as dialled at home
next_local = count(201_000_000)
next_digest = count(1)


class Seen(NamedTuple):
    tenant: str
    text: str
    sender: str
    in_reply_to: str | None


class Sends(NamedTuple):
    tenant: str
    number: str
    phone: int
    sandbox: bool
    waits_ms: int  # from when it is accepted until it leaves


class Writes(NamedTuple):
    number: str
    phone: int
    as_at_home: bool  # the carrier leaves the country code out

    @property
    def may_be(self) -> tuple[int, ...]:
        """Returns which phones may have written it, the Ghanaian one first."""
        has_double = self.as_at_home and self.phone != OTHER_GHANAIAN
        return (GHANAIAN, KENYAN) if has_double else (self.phone,)


PHONES = st.sampled_from([GHANAIAN, KENYAN, OTHER_GHANAIAN])
MOVES = st.tuples(
    st.integers(1, 30 * HOUR_MS),
    st.builds(
        Sends,
        st.sampled_from(list(TENANTS)),
        st.sampled_from([*NUMBERS, "NAME"]),
        PHONES,
        st.sampled_from([False, False, False, True]),
        st.just(0) | st.integers(0, 48 * HOUR_MS),
    )
    | st.builds(Writes, st.sampled_from(NUMBERS), PHONES, st.booleans()),
)


class Tenants:
    """Makes tenants who all may send from all numbers. Chidi gets what is no other's on one of
    them.
    """

    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self.account = {"amina": inbox.amina_id} | {
            name: open_account(inbox.db, name, country_code=TENANTS[name])
            for name in ("bilal", "chidi")
        }
        now_ms = clock.now_ms()
        with inbox.db.write() as tx:
            add_number(tx, SHARED, "carrier", None, now_ms=now_ms)
            chidi = self.account["chidi"]
            add_number(tx, CAUGHT, "carrier", None, catch_all_id=chidi, now_ms=now_ms)
            for account_id in self.account.values():
                for number in NUMBERS:
                    senders.register(tx, account_id, number, sandbox=False, now_ms=now_ms)

    def seen(self) -> set[Seen]:
        found = set()
        with self.inbox.db.read() as tx:
            for name, account_id in self.account.items():
                for each in inbound_page(tx, account_id, EVERYTHING, sandbox=False):
                    answered = shown(each.in_reply_to)
                    found.add(Seen(name, str(each.text), str(each.sender), answered))
        return found


class Told(NamedTuple):
    """Says whose a text is, which of the phones wrote it, and what it answers."""

    tenant: str | None
    phone: int
    answered: str | None = None


class Sent(NamedTuple):
    """Holds a message, with its id, and when it leaves."""

    sends: Sends
    leaves_at_ms: int
    message_id: str


def expected(sent: list[Sent], writes: Writes, at_ms: int) -> Told:
    """Returns what becomes of a text, by the rule in words."""
    may_be = [
        Told(each.sends.tenant, each.sends.phone, each.message_id)
        for each in sorted(sent, key=lambda each: (each.leaves_at_ms, each.message_id))
        if each.sends.number == writes.number
        and each.sends.phone in writes.may_be
        and not each.sends.sandbox
        and at_ms - ANSWERS_WITHIN_MS <= each.leaves_at_ms <= at_ms
    ]
    by_country = writes.may_be[0]  # that of amina and of chidi is Ghana
    if writes.number == SHORT_CODE:  # it is amina's alone
        hers = [each for each in may_be if (each.tenant, each.phone) == ("amina", by_country)]
        return hers[-1] if hers else Told("amina", by_country)
    if may_be:
        return may_be[-1]
    return Told("chidi" if writes.number == CAUGHT else None, by_country)


def leave(tx: sa.Connection, sent: list[Sent], at_ms: int) -> None:
    """Gives carriers the messages that leave until then."""
    for each in sent:
        if each.leaves_at_ms <= at_ms:
            raw = ids.raw_of_text("msg", each.message_id)
            tx.execute(
                messages.update()
                .where(messages.c.id == raw)
                .values(status="sent", sent_at_ms=each.leaves_at_ms)
            )


def play(tenants: Tenants, moves: list[tuple[int, Sends | Writes]]) -> None:
    local = next(next_local)
    phones = [f"233{local}", f"254{local}", f"233{next(next_local)}"]
    before = tenants.seen()
    at_ms = clock.now_ms()
    sent: list[Sent] = []
    wanted = set()
    with tenants.inbox.db.write() as tx:
        for later_ms, move in moves:
            at_ms += later_ms
            phone = phones[move.phone]
            if isinstance(move, Sends):
                account_id = tenants.account[move.tenant]
                message_id = store_sent(
                    tx,
                    account_id,
                    move.number,
                    phone,
                    at_ms=at_ms,
                    sandbox=move.sandbox,
                    status="queued",
                )
                sent.append(Sent(move, at_ms + move.waits_ms, message_id))
                continue
            leave(tx, sent, at_ms)
            number = next(next_digest)
            sender = f"0{phone[3:]}" if move.as_at_home else phone
            arrived = written(f"text {number}", number, to=move.number, sender=sender)
            carrier_id, now_ms = tenants.inbox.carrier_id, at_ms
            run_in(tx, lambda hot: record(hot, carrier_id, [arrived], now_ms))  # noqa: B023
            told = expected(sent, move, at_ms)
            if told.tenant is not None:
                read = phones[told.phone]
                wanted.add(Seen(told.tenant, f"text {number}", read, told.answered))
    assert tenants.seen() - before == wanted


def shown(raw: str | None) -> str | None:
    return None if raw is None else ids.text_of_raw("msg", raw)


def test_no_tenant_ever_sees_anothers_text(inbox: Inbox) -> None:
    tenants = Tenants(inbox)

    @settings(
        max_examples=40,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(st.lists(MOVES, min_size=2, max_size=12))
    def plays(moves: list[tuple[int, Sends | Writes]]) -> None:
        play(tenants, moves)

    plays()
    inbox.db.close()


NEVER_LEFT = {
    "it waits": ("queued", None),
    "its phone has opted out": ("failed", "blocked"),
    "it was canceled": ("failed", "canceled"),
    "its carrier refused it": ("failed", "carrier_rejected"),
    "its validity ended": ("failed", "expired"),
    "it has no route": ("failed", "no_route"),
}
MAY_HAVE_LEFT = {
    "it arrived": ("delivered", None),
    "the phone was off": ("failed", "undeliverable"),
    "nobody knows": ("failed", "unknown"),
}


@pytest.mark.parametrize(
    ("status", "error_code", "answered"),
    [(*each, "amina") for each in NEVER_LEFT.values()]
    + [(*each, "bilal") for each in MAY_HAVE_LEFT.values()]
    + [("queued", None, "bilal")],
    ids=[*NEVER_LEFT, *MAY_HAVE_LEFT, "a carrier is just being given it"],
)
def test_nobody_answers_a_text_that_has_never_left(
    inbox: Inbox, status: str, error_code: str | None, answered: str
) -> None:
    tenants, phone, now_ms = Tenants(inbox), f"233{next(next_local)}", clock.now_ms()
    sent = {}
    with inbox.db.write() as tx:
        for place, (name, number, of_status, code) in enumerate(
            [
                ("amina", SHARED, "sent", None),
                ("bilal", SHARED, status, error_code),
                ("amina", SHORT_CODE, "sent", None),
                ("amina", SHORT_CODE, status, error_code),
            ]
        ):
            sent[name, number, of_status] = store_sent(
                tx,
                tenants.account[name],
                number,
                phone,
                at_ms=now_ms - 10 + place,
                status=of_status,
                error_code=code,
            )
        if (status, answered) == ("queued", "bilal"):
            for name, number in (("bilal", SHARED), ("amina", SHORT_CODE)):
                row = in_flight(sent[name, number, status], now_ms)
                tx.execute(inflight.insert().values(row))
        arrived = [written("yes", place, to=to, sender=phone) for place, to in enumerate(NUMBERS)]
        run_in(tx, lambda hot: record(hot, inbox.carrier_id, arrived, now_ms))
    of_status = "sent" if answered == "amina" else status
    assert sorted(filter(None, (each.in_reply_to for each in tenants.seen()))) == sorted(
        [sent[answered, SHARED, of_status], sent["amina", SHORT_CODE, of_status]]
    )
    inbox.db.close()


@pytest.mark.parametrize("number", [SHORT_CODE, SHARED])
def test_a_text_is_for_who_reached_the_phone_last_and_not_who_was_accepted_last(
    inbox: Inbox, number: str
) -> None:
    tenants, phone, now_ms = Tenants(inbox), f"233{next(next_local)}", clock.now_ms()
    # hers waited for two days behind others of a large send, which is as long as one can
    hers, his = ("amina", "bilal") if number == SHARED else ("amina", "amina")
    with inbox.db.write() as tx:
        waited = store_sent(
            tx,
            tenants.account[hers],
            number,
            phone,
            at_ms=now_ms - 120 * HOUR_MS,
            sent_at_ms=now_ms - 72 * HOUR_MS,
        )
        store_sent(
            tx,
            tenants.account[his],
            number,
            phone,
            at_ms=now_ms - 73 * HOUR_MS,
            sent_at_ms=now_ms - 73 * HOUR_MS,
        )
        arrived = written("yes", next(next_digest), to=number, sender=phone)
        run_in(tx, lambda hot: record(hot, inbox.carrier_id, [arrived], now_ms))
    assert {(each.tenant, each.in_reply_to) for each in tenants.seen()} == {("amina", waited)}
    inbox.db.close()


def in_flight(message_id: str, now_ms: int) -> dict[str, object]:
    """Returns the row of a segment that is just being given to a carrier."""
    return {
        "message_id": ids.raw_of_text("msg", message_id),
        "part": 1,
        "parts": 1,
        "carrier_id": 1,
        "worker": 1,
        "state": "submitting",
        "since_ms": now_ms,
        "prefix": "",
        "attempt": 0,
        "expires_at_ms": now_ms + HOUR_MS,
    }


def test_who_gets_what_is_no_others_is_set_and_given_back(inbox: Inbox, run: Run) -> None:
    chidi = open_account(inbox.db, "chidi")
    added = run("number", "add", SHARED, "--carrier", "carrier", "--catch-all", "chidi", "--json")
    assert added.json["catch_all_id"].startswith("acc_")
    asked = typed(f"number add {CAUGHT} --carrier carrier --catch-all chidi --account chidi")
    both = run(*asked)
    assert "several accounts share" in both.err
    of_amina = run("number", "set", SHORT_CODE, "--catch-all", "chidi")
    assert "several accounts share" in of_amina.err
    assert "--no-catch-all" in run("number", "set", SHARED).err
    none = run("number", "set", SHARED, "--no-catch-all", "--json")
    assert none.json["catch_all_id"] is None
    with inbox.db.write() as tx:
        set_catch_all(tx, SHARED, None, chidi, now_ms=clock.now_ms())
        give_back_numbers(tx, chidi, now_ms=clock.now_ms())
        give_back_numbers(tx, inbox.amina_id, now_ms=clock.now_ms())
    left = {each["number"]: each["catch_all_id"] for each in run("number", "list", "--json").json}
    assert left == {SHARED: None}
    inbox.db.close()
