"""Makes what every case of ours starts from: accounts with a key, credits and an approved sender
each, and a carrier that takes everything.
"""

from pathlib import Path

from bench.databases import Installation
from bench.traffic import SENDER
from heliograph import accounts, keys, senders, wallet
from heliograph.base import clock
from heliograph.carriers import add_carrier, routing, set_carrier
from heliograph.database import migrate
from heliograph.database.database import Database
from heliograph.wallet import ledger

CARRIER = "bench"
TIER = "bench"
REQUESTS_PER_MINUTE = 10_000_000  # counted like any other tier, and never reached
CREDITS = 1_000_000_000
KEYS_FILE = "keys.txt"


def fill(
    installation: Installation, *, count: int, window: int, port: int, secret_key: str
) -> None:
    """Migrates an empty database and makes all that in one transaction. The keys go into the data
    directory, one a line.
    """
    migrate.upgrade(installation.url)
    database = Database(installation.url)
    try:
        with database.write() as tx:
            now_ms = clock.now_ms()
            keys.add_tier(tx, TIER, REQUESTS_PER_MINUTE)
            settings = {"host": "127.0.0.1", "port": port, "system_id": "bench", "window": window}
            add_carrier(tx, CARRIER, settings, "secret", secret_key=secret_key, now_ms=now_ms)
            routing.set_route(tx, "", [CARRIER])
            made = []
            for number in range(count):
                account = accounts.create(
                    tx, f"bench {number}", "GH", daily_credits=None, now_ms=now_ms
                )
                accounts.change(tx, account.id, otp_unverified=CREDITS)
                wallet.open_wallet(tx, account.id, "GHS")
                ledger.grant(tx, account.id, CREDITS, "bench", now_ms=now_ms)
                sender = senders.register(tx, account.id, SENDER, sandbox=False, now_ms=now_ms)
                senders.approve(tx, sender.id, now_ms=now_ms)
                issued = keys.issue(
                    tx,
                    account.id,
                    name="bench",
                    sandbox=False,
                    tier=TIER,
                    permissions=["all"],
                    now_ms=now_ms,
                )
                made.append(issued.key)
    finally:
        database.close()
    keys_file(installation).write_text("\n".join(made) + "\n")


def point_carrier(installation: Installation, port: int, secret_key: str) -> None:
    """Lets the carrier connect to another port of loopback."""
    database = Database(installation.url)
    try:
        with database.write() as tx:
            set_carrier(tx, CARRIER, {"port": port}, secret_key=secret_key)
    finally:
        database.close()


def keys_file(installation: Installation) -> Path:
    """Returns the file of the API keys, one a line."""
    return installation.data_dir / KEYS_FILE
