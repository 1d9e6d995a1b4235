"""Exports the ledger for beancount, and reads the file as beancount does."""

import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from beancount import loader
from beancount.core import data
from beancount.parser import printer

from heliograph.database.database import Database
from tests.support.capability.commands import runner


def exported(db: Database, tmp_path: Path, *options: str) -> str:
    said = runner(db.url, tmp_path)("ledger", "export", *options)
    assert said.status == 0, said
    return said.out


def checked(text: str, tmp_path: Path) -> data.Entries:
    """Returns what beancount reads, which finds nothing wrong, neither as library nor program."""
    file = tmp_path / "ledger.beancount"
    file.write_text(text)
    entries, errors, _ = loader.load_file(str(file))
    assert not errors, told(errors)
    bean_check = Path(sys.executable).with_name("bean-check")
    subprocess.run([bean_check, str(file)], check=True)
    return entries


def told(errors: list[data.BeancountError]) -> str:
    return "\n".join(map(printer.format_error, errors))


def held(entries: data.Entries) -> dict[str, dict[str, int]]:
    """Returns what each customer holds at the end, by name."""
    balances: dict[str, Counter[str]] = defaultdict(Counter)
    for each in entries:
        if isinstance(each, data.Transaction):
            for posting in each.postings:
                assert posting.units is not None
                assert posting.units.number is not None
                number = posting.units.number * (1 if posting.units.currency != "GHS" else 100)
                balances[posting.account][posting.units.currency] -= int(number)
    opened = {
        each.account: str(each.meta["name"])
        for each in entries
        if isinstance(each, data.Open) and "name" in each.meta
    }
    return {name: dict(balances[account]) for account, name in opened.items()}
