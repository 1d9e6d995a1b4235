"""Makes the cast of the API's tests: amina, an owner; bilal, her Connect customer; chidi, a
stranger who must see nothing.
"""

from dataclasses import dataclass, field, replace

from sqlalchemy.engine import Connection

from heliograph import accounts, connect, keys, senders, wallet
from heliograph.base import clock
from heliograph.carriers import routing
from heliograph.database.database import Database
from heliograph.wallet import ledger

TIER = ("tests", 10_000_000)  # a minute: no test meets its limit by accident
PHONE = "233201234567"


@dataclass
class Actor:
    """Stands for an account, with keys made as they are needed."""

    db: Database
    name: str
    account_id: str  # raw
    text_id: str
    _keys: dict[tuple[bool, tuple[str, ...], str], str] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, object]:
        """Leaves the database out of what another process is given: it gets a copy of its own."""
        return {**vars(self), "db": None}

    def key(self, *permissions: str, sandbox: bool = False, tier: str = TIER[0]) -> str:
        """Returns a key of hers with these permissions; without any named, it has all."""
        wanted = (sandbox, permissions, tier)
        if wanted not in self._keys:
            with self.db.write() as tx:
                issued = keys.issue(
                    tx,
                    self.account_id,
                    name="test",
                    sandbox=sandbox,
                    tier=tier,
                    permissions=permissions or ("all",),
                    now_ms=clock.now_ms(),
                )
            self._keys[wanted] = issued.key
        return self._keys[wanted]

    def sender(self, name: str) -> None:
        """Gives the account an approved sender."""
        with self.db.write() as tx:
            approve_sender(tx, self.account_id, name)

    def suspend(self) -> None:
        """Suspends the account as the operator does, beside the API."""
        with self.db.write() as tx:
            accounts.suspend(tx, self.account_id)


@dataclass
class Cast:
    amina: Actor
    bilal: Actor
    chidi: Actor


def in_copy(db: Database, cast: Cast) -> Cast:
    """Returns the same cast, with the keys that it has, in a copy of the database that it was made
    in.
    """
    return Cast(
        *(
            replace(actor, db=db, _keys=dict(actor._keys))
            for actor in (cast.amina, cast.bilal, cast.chidi)
        )
    )


def make_cast(db: Database) -> Cast:
    """Makes a route everywhere; amina with 1,000 credits, 50 GHS and the approved sender AMINA;
    bilal, her customer, and chidi with 100 credits each.
    """
    with db.write() as tx:  # one transaction, for every test waits for its fsync
        keys.add_tier(tx, *TIER)
        routing.set_route(tx, "", ["simulator"])
        amina = _account(tx, "amina", credits=1_000, money="50.00")
        approve_sender(tx, amina.id, "AMINA")
        bilal = _customer(tx, "bilal", amina, credits=100, money="5.00")
        chidi = _account(tx, "chidi", credits=100, money="7.50")
    return Cast(
        *(
            Actor(db, account.name, account.id, accounts.text_id(account))
            for account in (amina, bilal, chidi)
        )
    )


def _account(tx: Connection, name: str, *, credits: int, money: str) -> accounts.Account:
    account = accounts.create(tx, name, "GH", now_ms=clock.now_ms())
    wallet.open_wallet(tx, account.id, "GHS")
    _pay_in(tx, account.id, credits, money)
    return account


def _customer(
    tx: Connection, name: str, partner: accounts.Account, *, credits: int, money: str
) -> accounts.Account:
    made = connect.provision(
        tx,
        partner.id,
        connect.CustomerRequest(name, PHONE, "GH"),
        sandbox=False,
        now_ms=clock.now_ms(),
    )
    _pay_in(tx, made.customer.account_id, credits, money)
    return accounts.by_id(tx, made.customer.account_id)


def _pay_in(tx: Connection, account_id: str, credits: int, money: str) -> None:
    ledger.grant(tx, account_id, credits, "to begin with", now_ms=clock.now_ms())
    ledger.topup(tx, account_id, money, "to begin with", now_ms=clock.now_ms())


def approve_sender(tx: Connection, account_id: str, name: str) -> None:
    record = senders.register(tx, account_id, name, sandbox=False, now_ms=clock.now_ms())
    senders.approve(tx, record.id, now_ms=clock.now_ms())
