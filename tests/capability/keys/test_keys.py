"""The database holds keys and tiers."""

import pytest
import sqlalchemy as sa

from heliograph import keys
from heliograph.base.errors import InvalidRequest, NotFound
from heliograph.database.database import Database
from heliograph.keys.issue import Issued, digest
from heliograph.keys.issue import by_id as key_by_id
from heliograph.keys.tables import api_keys
from heliograph.keys.tiers import Tier
from tests.support.capability.cast import NOW_MS, account, epoch


def issue(
    db: Database,
    account_id: str,
    *,
    tier: str = "free",
    expires_at_ms: int | None = None,
    now_ms: int = NOW_MS,
) -> Issued:
    with db.write() as tx:
        return keys.issue(
            tx,
            account_id,
            name="shop",
            sandbox=False,
            tier=tier,
            permissions=("wallet.read", "sms.send"),
            expires_at_ms=expires_at_ms,
            now_ms=now_ms,
        )


def test_a_key_is_stored_as_a_hash_and_twelve_characters_only(db: Database) -> None:
    owner = account(db)
    record, key = issue(db, owner.id)
    assert record.permissions == ("sms.send", "wallet.read")
    with db.read() as tx:
        assert keys.find(tx, keys.text_id(record)) == key_by_id(tx, record.id) == record
        row = tx.execute(sa.select(api_keys)).one()
    assert bytes(row.sha256) == digest(key)
    assert row.prefix == key[:12]
    assert all(key not in str(value) and key[12:] not in str(value) for value in row)


def test_a_revoked_key_stays_listed_with_the_time_it_was_first_revoked(db: Database) -> None:
    owner, stranger = account(db, "amina"), account(db, "chidi")
    first, second = issue(db, owner.id).record, issue(db, owner.id, now_ms=NOW_MS + 1).record
    issue(db, stranger.id)
    before = epoch(db)
    with db.write() as tx:
        revoked = keys.revoke(tx, first.id, now_ms=NOW_MS + 5)
        assert (
            revoked
            == first._replace(revoked_at_ms=NOW_MS + 5)
            == keys.revoke(tx, first.id, now_ms=NOW_MS + 9)
        )
        assert keys.page(tx, limit=10, account_id=owner.id) == [second, revoked]
        assert keys.page(tx, limit=10, account_id=owner.id, before_id=second.id) == [revoked]
        assert len(keys.page(tx, limit=10)) == 3
    assert epoch(db) > before
    with db.write() as tx, pytest.raises(NotFound):
        keys.revoke(tx, "0" * 32, now_ms=NOW_MS)


def test_what_a_key_cannot_have_is_refused(db: Database) -> None:
    owner = account(db)
    with pytest.raises(
        InvalidRequest, match="tier must be one of free, standard, enterprise; not 'gold'"
    ):
        issue(db, owner.id, tier="gold")
    with pytest.raises(InvalidRequest, match="expires_at must lie in the future"):
        issue(db, owner.id, expires_at_ms=NOW_MS)
    with pytest.raises(NotFound):
        issue(db, "0" * 32)
    with db.read() as tx:
        assert keys.page(tx, limit=10) == []
        for text in (
            "key_x",
            keys.text_id(
                keys.ApiKey(
                    id="0" * 32,
                    account_id="",
                    name="",
                    sandbox=False,
                    prefix="",
                    permissions=(),
                    tier="",
                    expires_at_ms=None,
                    revoked_at_ms=None,
                    last_used_at_ms=None,
                    created_at_ms=0,
                )
            ),
        ):
            with pytest.raises(NotFound):
                keys.find(tx, text)


def test_a_tier_is_added_and_changed(db: Database) -> None:
    before = epoch(db)
    with db.write() as tx:
        assert keys.add_tier(tx, "bulk", 5_000) == (Tier("bulk", 5_000), None)
        assert keys.add_tier(tx, "bulk", 5_000) == (Tier("bulk", 5_000), 5_000)
        assert keys.change_tier(tx, "free", 20) == (Tier("free", 20), 10)
        assert keys.all_tiers(tx) == [
            ("free", 20),
            ("standard", 100),
            ("enterprise", 1_000),
            ("bulk", 5_000),
        ]
        assert keys.tier_named(tx, "bulk") == Tier("bulk", 5_000)
    assert epoch(db) > before
    for name, per_minute in (("Bulk", 1), ("", 1), ("a,b", 1), ("bulk", 0), ("bulk", 10**8)):
        for use_case in (keys.add_tier, keys.change_tier):
            with db.write() as tx, pytest.raises(InvalidRequest):
                use_case(tx, name, per_minute)


def test_a_tier_is_added_once_and_a_misspelled_one_is_not_changed(db: Database) -> None:
    known = "tier must be one of free, standard, enterprise; not"
    for name, per_minute, use_case, said in (
        ("free", 20, keys.add_tier, "tier is there already, with 10 requests a minute: change"),
        ("standrad", 200, keys.change_tier, f"{known} 'standrad'. Did you mean standard? A new"),
        ("bulk", 200, keys.change_tier, f"{known} 'bulk'. A new tier has to be added first"),
    ):
        with db.write() as tx, pytest.raises(InvalidRequest) as refused:
            use_case(tx, name, per_minute)
        assert said in str(refused.value)
    with db.read() as tx:
        assert keys.all_tiers(tx) == [("free", 10), ("standard", 100), ("enterprise", 1_000)]
