"""Sender IDs are registered once and decided by the operator."""

import pytest

from heliograph import accounts, senders
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.database.database import Database
from heliograph.senders import Sender, states
from heliograph.senders.sender import text_id as sender_text_id
from heliograph.senders.states import SENDER
from tests.support.capability.cast import NOW_MS, account, at_once, epoch


def register(
    db: Database,
    account_id: str,
    sender: str = "AMINA",
    *,
    sandbox: bool = False,
    set_default: bool = False,
    now_ms: int = NOW_MS,
) -> Sender:
    return db.transact(
        lambda tx: senders.register(
            tx,
            account_id,
            sender,
            sandbox=sandbox,
            country_code="gh",
            purpose="orders",
            set_default=set_default,
            now_ms=now_ms,
        )
    )


def decide(db: Database, sender: Sender, to: str) -> Sender:
    with db.write() as tx:
        if to == "approved":
            return senders.approve(tx, sender.id, now_ms=NOW_MS + 1)
        return (senders.reject if to == "rejected" else senders.suspend)(
            tx, sender.id, "because", now_ms=NOW_MS + 1
        )


def test_a_sender_is_submitted_then_approved_and_then_usable(db: Database) -> None:
    owner = account(db)
    submitted = register(db, owner.id)
    before = epoch(db)
    approved = decide(db, submitted, "approved")
    assert epoch(db) > before
    assert approved == submitted._replace(status="approved", decided_at_ms=NOW_MS + 1)
    assert senders.as_record(approved) == {
        "id": sender_text_id(approved),
        "sender": "AMINA",
        "country_code": "GH",
        "purpose": "orders",
        "customer_id": None,
        "status": "approved",
        "rejection_reason": None,
        "default": False,
        "sandbox": False,
        "created_at": "2026-01-01T00:00:00.000Z",
        "decided_at": "2026-01-01T00:00:00.001Z",
    }
    with db.read() as tx:
        assert senders.find(tx, sender_text_id(approved)) == approved
        assert senders.approved_senders(tx, {owner.id}) == {
            (owner.id, mode): {"amina": "AMINA"} for mode in (False, True)
        }


def test_a_sandbox_sender_is_approved_at_once_and_for_sandbox_only(db: Database) -> None:
    owner, stranger = account(db, "amina"), account(db, "chidi")
    assert register(db, owner.id, sandbox=True).status == "approved"
    decide(db, register(db, stranger.id), "approved")
    with db.read() as tx:
        assert senders.approved_senders(tx, {owner.id}) == {(owner.id, True): {"amina": "AMINA"}}


def test_the_same_sender_in_any_case_is_the_existing_record_also_for_many_at_once(
    db: Database,
) -> None:
    owner = account(db)
    first = register(db, owner.id, "Amina")
    assert register(db, owner.id, "AMINA", now_ms=NOW_MS + 9) == first
    at_once(5, lambda _: epoch(db))  # so that all are connected, and really meet

    def race(name: str) -> list[object]:
        return at_once(5, lambda k: register(db, owner.id, name if k % 2 else name.upper()))

    for name in ("shop", "store", "market"):
        raced = race(name)
        assert [type(sender) for sender in raced] == [Sender] * 5, raced
        assert len({sender.id for sender in raced if isinstance(sender, Sender)}) == 1


def test_registering_while_the_account_is_changed_never_waits_in_a_circle(db: Database) -> None:
    owner = account(db)
    at_once(4, lambda _: epoch(db))  # so that all are connected, and really meet

    def change(k: int) -> None:
        for step in range(5):
            with db.write() as tx:  # without another try
                if k % 2:
                    senders.register(tx, owner.id, f"SHOP{k}{step}", sandbox=False, now_ms=NOW_MS)
                else:
                    accounts.change(tx, owner.id, daily_credits=step)

    assert at_once(4, change) == [None] * 4


def test_a_rejected_sender_can_be_submitted_anew_and_a_decided_one_not(db: Database) -> None:
    owner = account(db)
    rejected = decide(db, register(db, owner.id, "Amina"), "rejected")
    assert rejected.rejection_reason == "because"
    anew = register(db, owner.id, "AMINA")
    assert anew == rejected._replace(
        sender="AMINA", status="submitted", rejection_reason=None, decided_at_ms=None
    )
    approved = decide(db, anew, "approved")
    assert register(db, owner.id, "amina") == approved


@pytest.mark.parametrize("to", ["approved", "rejected", "suspended"])
@pytest.mark.parametrize("status", states.STATUSES)
def test_a_decision_is_taken_where_the_state_allows_it_and_repeating_it_changes_nothing(
    db: Database, status: str, to: str
) -> None:
    owner = account(db)
    sender = register(db, owner.id)
    if status == "suspended":
        sender = decide(db, sender, "approved")
    if status != "submitted":
        sender = decide(db, sender, status)
    if status in SENDER.sources(to):
        assert decide(db, sender, to).status == to
    elif status == to:
        assert decide(db, sender, to) == sender
    else:
        with pytest.raises(InvalidRequest, match=f"is {status}; only one that is .* can be {to}"):
            decide(db, sender, to)
    with pytest.raises(NotFound):
        decide(db, sender._replace(id="0" * 32), to)


def test_one_sender_of_a_mode_is_the_default_and_only_while_it_is_approved(db: Database) -> None:
    owner = account(db)
    first, second = (
        register(db, owner.id, "FIRST", set_default=True),
        register(db, owner.id, "SECOND"),
    )
    default: list[str | None] = []

    def look() -> None:
        with db.read() as tx:
            found = senders.default_senders(tx, [owner.id])
        default[:] = [found.get((owner.id, sandbox)) for sandbox in (False, True)]

    look()
    assert default == [None, None]
    decide(db, first, "approved")
    decide(db, second, "approved")
    look()
    assert default == ["FIRST", "FIRST"]
    register(db, owner.id, "second", set_default=True)
    register(db, owner.id, "TEST", sandbox=True, set_default=True)
    look()
    assert default == ["SECOND", "TEST"]
    with db.read() as tx:
        assert (
            sum(
                sender.is_default
                for sender in senders.page(tx, limit=10, account_id=owner.id, sandbox=False)
            )
            == 1
        )


def test_pages_are_newest_first_by_account_mode_and_status(db: Database) -> None:
    owner, stranger = account(db, "amina"), account(db, "chidi")
    made = [register(db, owner.id, f"SHOP{k}", now_ms=NOW_MS + k) for k in range(4)]
    test = register(db, owner.id, "TEST", sandbox=True, now_ms=NOW_MS + 4)
    other = register(db, stranger.id, "OTHER", now_ms=NOW_MS + 5)
    made[1] = decide(db, made[1], "approved")
    with db.read() as tx:
        assert senders.page(tx, limit=10) == [other, test, *made[::-1]]
        assert senders.page(tx, limit=2, account_id=owner.id, sandbox=False) == [made[3], made[2]]
        assert senders.page(
            tx, limit=2, account_id=owner.id, sandbox=False, before_id=made[2].id
        ) == [made[1], made[0]]
        assert senders.page(tx, limit=10, status="approved") == [test, made[1]]


def test_what_cannot_be_registered_is_refused(db: Database) -> None:
    owner = account(db)
    with db.write() as tx:
        for sender, country, purpose in (
            ("AB", None, None),
            ("AMINA", "GHA", None),
            ("AMINA", None, "x" * 256),
            ("AMINA", None, "a\nb"),
        ):
            with pytest.raises(InvalidRequest):
                senders.register(
                    tx,
                    owner.id,
                    sender,
                    sandbox=False,
                    country_code=country,
                    purpose=purpose,
                    now_ms=NOW_MS,
                )
        with pytest.raises(NotFound):
            senders.register(tx, "0" * 32, "AMINA", sandbox=False, now_ms=NOW_MS)
        assert senders.page(tx, limit=10) == []


def test_a_customer_that_lives_in_sandbox_has_no_live_senders(db: Database) -> None:
    owner = account(db)
    customer = db.transact(
        lambda tx: accounts.create(
            tx, "A customer", "GH", parent_id=owner.id, sandbox=True, now_ms=NOW_MS
        )
    )
    with pytest.raises(InvalidRequest) as refusal:
        register(db, customer.id)
    assert (
        str(refusal.value) == "mode must be sandbox for a customer that was provisioned in sandbox."
    )
    assert register(db, customer.id, sandbox=True).status == "approved"
