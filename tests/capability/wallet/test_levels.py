"""The ledger tells what an account had in the past."""

import random
from bisect import bisect_left

from heliograph import wallet
from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.wallet import ledger
from heliograph.wallet.levels import LevelAt, levels
from tests.support.factories import open_account

STEPS = 40
HOUR_MS = 3_600_000


def step(db: Database, chance: random.Random, one: str, other: str) -> None:
    """Changes what one or both have, or nothing."""
    with db.write() as tx:
        match chance.randrange(5):
            case 0:
                ledger.grant(tx, one, chance.randint(1, 500), "bought", now_ms=clock.now_ms())
            case 1:
                ledger.topup(tx, one, chance.randint(1, 90), "paid", now_ms=clock.now_ms())
            case 2:
                wallet.transfer(tx, one, other, credits=chance.randint(1, 50), description="lent")
            case 3:
                wallet.transfer(tx, other, one, credits=chance.randint(1, 50), description="back")


def test_levels_are_what_the_wallet_held_at_each_moment(db: Database) -> None:
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    one, other = (open_account(db, name, credits=1_000) for name in ("amina", "chidi"))
    began_ms = clock.now_ms()
    times_ms, held = [0], [(0, 0)]
    for _ in range(STEPS):
        clock.move(chance.choice((1, 20, HOUR_MS, 30 * HOUR_MS)))
        step(db, chance, one, other)
        clock.move(2)  # an entry's own time may be a moment later
        times_ms.append(clock.now_ms())
        with db.read() as tx:
            figures = wallet.wallet_of(tx, one).figures
        held.append((figures.sms_credits, figures.balance_minor))
    moments_ms = [*times_ms[1:], began_ms + 400 * 24 * HOUR_MS, began_ms - HOUR_MS]
    expected = [
        LevelAt(at_ms, *held[bisect_left(times_ms, at_ms + 1) - 1]) for at_ms in sorted(moments_ms)
    ]
    with db.read() as tx:
        assert levels(tx, one, moments_ms) == expected, f"seed {seed}"
