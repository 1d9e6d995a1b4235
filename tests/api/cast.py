"""The cast of the API's tests: amina, an owner; bilal, her Connect customer; chidi, a stranger who must see nothing."""

from dataclasses import dataclass, field

from heliograph import accounts, carriers, keys, senders, wallet
from heliograph.base import clock
from heliograph.base.db import Database

TIER = ("tests", 10_000_000)  # a minute: no test meets its limit by accident
PHONE = "233201234567"


@dataclass
class Actor:
    """An account, with keys made as they are needed."""

    db: Database
    name: str
    account_id: str  # raw
    text_id: str
    _keys: dict[tuple[bool, tuple[str, ...], str], str] = field(default_factory=dict)

    def key(self, *permissions: str, sandbox: bool = False, tier: str = TIER[0]) -> str:
        """A key of hers with these permissions; without any named, with all."""
        wanted = (sandbox, permissions, tier)
        if wanted not in self._keys:
            with self.db.write() as tx:
                issued = keys.issue(tx, self.account_id, name="test", sandbox=sandbox, tier=tier, permissions=permissions or ("all",),
                                    now_ms=clock.now_ms())
            self._keys[wanted] = issued.key
        return self._keys[wanted]

    def sender(self, name: str, *, sandbox: bool = False) -> None:
        """An approved sender of hers."""
        with self.db.write() as tx:
            record = senders.register(tx, self.account_id, name, sandbox=sandbox, now_ms=clock.now_ms())
            senders.approve(tx, record.id, now_ms=clock.now_ms())

    def suspend(self) -> None:
        """By the operator, beside the API."""
        with self.db.write() as tx:
            accounts.suspend(tx, self.account_id)


@dataclass
class Cast:
    amina: Actor
    bilal: Actor
    chidi: Actor


def make_cast(db: Database) -> Cast:
    """A route everywhere; amina with 1,000 credits, 50 GHS and the approved sender AMINA; bilal, her customer, with 100 credits; chidi with 100 of his own."""
    with db.write() as tx:
        keys.set_tier(tx, *TIER)
        carriers.set_route(tx, "", ["simulator"])
    amina = make_actor(db, "amina", credits=1_000, money="50.00")
    amina.sender("AMINA")
    bilal = make_actor(db, "bilal", credits=100, money="5.00", parent_id=amina.account_id)
    chidi = make_actor(db, "chidi", credits=100, money="7.50")
    return Cast(amina, bilal, chidi)


def make_actor(db: Database, name: str, *, credits: int = 0, money: str = "0", parent_id: str | None = None) -> Actor:
    now_ms = clock.now_ms()
    with db.write() as tx:
        account = accounts.create(tx, name, "GH", parent_id=parent_id, now_ms=now_ms)
        wallet.open_wallet(tx, account.id, "GHS")
        if credits:
            wallet.grant(tx, account.id, credits, "to begin with", now_ms=now_ms)
        if money != "0":
            wallet.topup(tx, account.id, money, "to begin with", now_ms=now_ms)
    return Actor(db, name, account.id, accounts.text_id(account))
