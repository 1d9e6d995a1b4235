"""The proof of charges holds when what the ledger took and gave back for a send is what its
messages say.
"""

from typing import Any

import pytest
import sqlalchemy as sa

from heliograph import wallet
from heliograph.audit.charges import verify_charges
from heliograph.base import ids
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.messages.tables import messages, sends
from heliograph.wallet.tables import ledger_entries
from tests.support.capability.cast import NOW_MS, account
from tests.support.capability.charges import send


def wrong(db: Database) -> list[str]:
    with db.read() as tx:
        read_one_snapshot(tx)
        return [what for _, what in verify_charges(tx)]


@pytest.fixture
def sent(db: Database) -> list[str]:
    """Returns the raw ids of sends of two accounts: charged, free, paid back whole and in part, and
    one in sandbox.
    """
    owner, stranger = account(db, "amina", credits=1_000), account(db, "chidi", credits=1_000)
    return [
        send(db, owner.id, [(2, 0), (2, 2), (2, 1)], at_ms=NOW_MS),
        send(db, stranger.id, [(1, 1)], at_ms=NOW_MS + 1),
        send(db, owner.id, [(0, 0)], at_ms=NOW_MS + 1),
        send(db, owner.id, [(0, 0), (0, 0)], at_ms=NOW_MS + 2, sandbox=True),
        send(db, stranger.id, [(5, 0)], at_ms=NOW_MS + 3),
    ]


def test_charges_and_refunds_that_agree_are_proven_whatever_their_order(
    db: Database, sent: list[str]
) -> None:
    assert wrong(db) == []
    with db.read() as tx:
        assert wallet.verify(tx) == []


FIRST_CHARGE, LAST_CHARGE, REFUND_OF_TWO = -6, -5, 2
TAMPERED: dict[str, tuple[Any, str]] = {
    "a charge": (
        sa.update(ledger_entries)
        .where(ledger_entries.c.credits == FIRST_CHARGE)
        .values(credits=-5),
        "charged 1 credits less",
    ),
    "a refund": (
        sa.update(ledger_entries)
        .where(ledger_entries.c.credits == REFUND_OF_TWO)
        .values(credits=3),
        "refunded 1 credits more",
    ),
    "a charge made twice": (
        sa.insert(ledger_entries).from_select(
            [column.name for column in ledger_entries.c],
            sa.select(
                *[
                    sa.literal("f" * 32, ledger_entries.c.id.type)
                    if column.name == "id"
                    else column
                    for column in ledger_entries.c
                ]
            ).where(ledger_entries.c.credits == LAST_CHARGE),
        ),
        "charged 5 credits more",
    ),
    "a charge of nothing": (
        sa.update(ledger_entries)
        .where(ledger_entries.c.credits == FIRST_CHARGE)
        .values(reference=None),
        "names neither a send nor a campaign",
    ),
    "a charge of something else": (
        sa.update(ledger_entries)
        .where(ledger_entries.c.credits == FIRST_CHARGE)
        .values(reference="inv-17"),
        "for inv-17 the ledger charged 6 credits more",
    ),
    "a message's price": (
        sa.update(messages).where(messages.c.credits == 5).values(credits=4),
        "says 5 credits, but its messages say 4",
    ),
    "a message's refund": (
        sa.update(messages).where(messages.c.refunded == REFUND_OF_TWO).values(refunded=1),
        "refunded 1 credits more",
    ),
    "a lost message": (
        sa.delete(messages).where(messages.c.refunded == REFUND_OF_TWO),
        "has 2 of its 3 messages",
    ),
    "a lost send": (sa.delete(sends).where(sends.c.credits_used == 5), "which is not stored"),
    "whose message it is": (
        sa.update(messages).where(messages.c.credits == 5).values(account_id=ids.raw_of_number(7)),
        "belong to another account, or to the other mode",
    ),
    "whose message one of three is": (
        sa.update(messages)
        .where(messages.c.refunded == REFUND_OF_TWO)
        .values(account_id=ids.raw_of_number(7)),
        "belong to another account, or to the other mode",
    ),
    "a message's mode": (
        sa.update(messages).where(messages.c.credits == 5).values(sandbox=True),
        "or to the other mode",
    ),
    "a send that says it was free": (
        sa.update(sends).where(sends.c.credits_used == 5).values(credits_used=0),
        "says 0 credits, but its messages say 5",
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_whatever_is_tampered_with_is_found(db: Database, sent: list[str], what: str) -> None:
    statement, told = TAMPERED[what]
    with db.write() as tx:
        tx.execute(statement)
    assert any(told in fault for fault in wrong(db)), wrong(db)


def test_a_charge_to_another_account_is_found_on_both(db: Database, sent: list[str]) -> None:
    with db.write() as tx:
        owner, chidi = (
            tx.execute(sa.select(sends.c.account_id).where(sends.c.id == sent[k])).scalar_one()
            for k in (0, 1)
        )
        tx.execute(
            sa.update(ledger_entries)
            .where(ledger_entries.c.credits == FIRST_CHARGE)
            .values(account_id=chidi)
        )
    with db.read() as tx:
        assert {account_id for account_id, _ in verify_charges(tx)} == {owner, chidi}
