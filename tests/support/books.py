"""Proves the books by SQL alone: what `ledger verify` proves in its own way is added up once more
without any of its code. Only roll-ups are proven by it.
"""

import sqlalchemy as sa

from heliograph.audit.rollups import verify_rollups
from heliograph.database.database import Database

# Steps of a state machine between two proofs. Entries are never changed, so what is wrong stays
# wrong, and proving them takes longer than most steps do.
BOOKS_EVERY = 5

# An entry as each account sees it that it is of: a transfer between two customers is one entry, and
# both of theirs.
SIDES = """(
        SELECT id, account_id, credits, amount_minor, credits_after, balance_after_minor
            FROM ledger_entries
        UNION ALL
        SELECT id, counterpart_id, -credits, -amount_minor, counterpart_credits_after,
            counterpart_balance_after_minor FROM ledger_entries
        WHERE counterpart_credits_after IS NOT NULL)"""
WALLETS = f"""
    SELECT w.account_id, w.sms_credits, w.balance_minor, coalesce(sum(e.credits), 0),
        coalesce(sum(e.amount_minor), 0)
    FROM wallets w LEFT JOIN {SIDES} e ON e.account_id = w.account_id
        GROUP BY w.account_id, w.sms_credits, w.balance_minor"""
STEPS = f"""
    SELECT id FROM (
        SELECT id, credits_after, balance_after_minor, sum(credits) OVER standing AS credits,
            sum(amount_minor) OVER standing AS amount_minor
        FROM {SIDES} s WINDOW standing AS (PARTITION BY account_id ORDER BY id)) e
    WHERE credits <> credits_after OR amount_minor <> balance_after_minor OR credits_after < 0
        OR balance_after_minor < 0"""
CHARGES = """
    SELECT m.account_id, m.credits, m.refunded, s.credits_used, coalesce(e.charged, 0),
        coalesce(e.refunded, 0)
    FROM (SELECT account_id, sum(credits) AS credits, sum(refunded) AS refunded FROM messages
        GROUP BY account_id) m
    JOIN (SELECT account_id, sum(credits_used) AS credits_used FROM sends
        GROUP BY account_id) s ON s.account_id = m.account_id
    LEFT JOIN (SELECT account_id, sum(CASE WHEN type = 'sms_charge' THEN -credits
        ELSE 0 END) AS charged,
                      sum(CASE WHEN type = 'sms_refund' THEN credits ELSE 0 END) AS refunded
               FROM ledger_entries GROUP BY account_id) e ON e.account_id = m.account_id"""
CHARGED_TWICE = """
    SELECT reference, count(*) FROM ledger_entries WHERE type = 'sms_charge'
        AND reference NOT LIKE 'cmp%' GROUP BY reference HAVING count(*) > 1"""
CHARGES_AND_SENDS = """
    SELECT (SELECT count(*) FROM ledger_entries WHERE type = 'sms_charge'
        AND reference NOT LIKE 'cmp%'),
           (SELECT count(*) FROM sends WHERE credits_used > 0 AND group_id IS NULL)"""
PAID_BACK_WITHOUT_CAUSE = "SELECT id FROM messages WHERE refunded > 0 AND status <> 'failed'"


def assert_books_agree(db: Database) -> None:
    """Asserts that the ledger is the balance; that charged and refunded are the messages' own; that
    there is one charge a send; and that figures follow from one another in the order of ids, so all
    entries must have been written by processes whose clocks agree.
    """
    with db.read() as tx:
        for account_id, credits, balance_minor, credits_sum, amount_sum in tx.execute(
            sa.text(WALLETS)
        ):
            assert (credits, balance_minor) == (credits_sum, amount_sum), (
                f"the wallet of {account_id}"
            )
        assert not tx.execute(sa.text(STEPS)).all(), (
            "figures after an entry that are not those before it and the entry"
        )
        for account_id, credits, refunded, used, charged, paid_back in tx.execute(sa.text(CHARGES)):
            assert (credits, credits, refunded) == (used, charged, paid_back), (
                f"charges of {account_id}"
            )
        assert not tx.execute(sa.text(CHARGED_TWICE)).all(), "sends that were charged twice"
        charges, sends = tx.execute(sa.text(CHARGES_AND_SENDS)).one()
        assert charges == sends, "as many charges as sends that cost something"
        assert not tx.execute(sa.text(PAID_BACK_WITHOUT_CAUSE)).all(), (
            "refunds of messages that have not failed"
        )
        assert not verify_rollups(tx), "roll-ups that are not what their messages add up to"
