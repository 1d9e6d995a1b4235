"""Measures contacts: the command imports a file of them, and a search looks for some among all that
then are there.
"""

import random
import statistics
import time
from pathlib import Path

import sqlalchemy as sa

from bench.databases import Databases
from bench.reading import Conditions, Reading
from bench.server import set_up
from heliograph import contacts
from heliograph.accounts.tables import accounts
from heliograph.contacts import ContactOwner
from heliograph.contacts.csv_file import Sheet, open_sheet
from heliograph.contacts.import_file import Import
from heliograph.database.database import Database

CONTACTS = 100_000
NEEDLES = (
    "a",
    "z",
    "#",
    "an",
    "qz",
    "kofi",
    "zzz",
    "gmail.com",
    "233",
    "4567",
    "456789",
    "2332024567",
    "kofi.mensah12@",
    "vip",
    "nobody at all",
)
NAMES = (
    "Kofi",
    "Ama",
    "Kwame",
    "Akosua",
    "Yaw",
    "Abena",
    "Kojo",
    "Efua",
    "Amina",
    "Bilal",
    "Chidi",
    "Ngozi",
    "Emeka",
    "Fatima",
    "Mensah",
    "Owusu",
    "Boateng",
    "Asante",
    "Okafor",
    "Bello",
)
TAGS = ("vip", "newsletter", "accra", "kumasi", "wholesale")


def keep(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures how many contacts a second are imported, and the slowest needle's median, in ms, for
    a first page and for one in the middle.
    """
    with set_up(conditions, databases) as installation:
        file = _written(installation.data_dir / "contacts.csv")
        db = Database(installation.url)
        try:
            with db.read() as tx:
                world = ContactOwner(
                    tx.execute(
                        sa.select(accounts.c.id).where(accounts.c.name.like("bench %")).limit(1)
                    ).scalar_one(),
                    sandbox=False,
                )
            done = Import(db, world, contacts.OPERATOR)
            began_s = time.monotonic()
            with open_sheet(str(file)) as text:
                for _ in done.run(Sheet(text, None, "GH").rows()):
                    pass
            per_s = CONTACTS / (time.monotonic() - began_s)
            slowest_ms, detail = _searched(db, world)
        finally:
            db.close()
        lost = {"lost": CONTACTS - done.created} if done.created != CONTACTS else {}
        return [
            Reading(f"ours.contacts_import.{databases.kind}", per_s, lost, {}),
            Reading(f"ours.contacts_search.{databases.kind}", slowest_ms, {}, detail),
        ]


def _searched(db: Database, world: ContactOwner) -> tuple[float, dict[str, float]]:
    """Returns the slowest median, and each needle's."""
    with db.read() as tx:
        middle = contacts.page(tx, world, limit=1_000)[-1].id
    medians: dict[str, float] = {}
    for needle in NEEDLES:
        for before in (None, middle):
            took_ms = []
            for _ in range(5):
                began_s = time.perf_counter()
                with db.read() as tx:
                    contacts.search(tx, world, needle, limit=51, before=before)
                took_ms.append((time.perf_counter() - began_s) * 1_000)
            medians[f"{needle} {'later' if before else 'first'}"] = statistics.median(took_ms)
    return max(medians.values()), medians


def _written(path: Path) -> Path:
    """Writes a file of contacts, the same ones each time."""
    drawn = random.Random(7)
    with path.open("w", encoding="utf-8") as file:
        file.write("phone,name,email,tags\n")
        for phone in drawn.sample(range(233_200_000_000, 233_210_000_000), CONTACTS):
            first, last = drawn.choice(NAMES), drawn.choice(NAMES)
            tags = "|".join(drawn.sample(TAGS, drawn.randrange(3)))
            file.write(
                f"{phone},{first} {last},{first}.{last}{drawn.randrange(1_000)}@gmail.com,{tags}\n"
            )
    return path
