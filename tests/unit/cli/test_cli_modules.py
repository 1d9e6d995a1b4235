"""A command loads what it works with, so that it is there quickly. So does a process that sends."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pytest

from heliograph.cli import main

# What commands that list something on SQLite do without, each with a part of a second.
NOT_LOADED = {
    "aiohttp",  # posts webhooks
    "alembic",  # changes the schema
    "asyncpg",  # PostgreSQL
    "babel",  # currencies, when money is shown
    "difflib",  # finds what was meant
    "heliograph.carriers.smpp.link",  # sends
    "heliograph.messages.accept",  # takes sends
    "httptools",
    "jinja2",  # /docs
    "phonenumbers",  # reads numbers
    "prometheus_client",  # counts
    "psycopg",  # PostgreSQL
    "redis",  # limits of several processes
    "rich",  # structlog loads it where it is installed
    "sqlalchemy.dialects.postgresql",
    "structlog",  # a line of the log
    "tomllib",  # reads a file of settings, if there is one
    "uvicorn",
    "uvloop",
}
# Each noun that has a command `list`; `ledger` has `verify`.
MODULES_MAX = {
    "account": 480,
    "user": 480,
    "key": 465,
    "message": 505,
    "receipt": 505,
    "number": 490,
    "keyword": 515,
    "inbound": 490,
    "campaign": 590,
    "contact": 500,
    "opt-out": 490,
    "sender": 465,
    "carrier": 545,
    "route": 445,
    "rate": 455,
    "cost": 545,
    "price": 480,
    "tier": 470,
    "webhook": 465,
    "site": 480,
    "ledger": 580,
    "alert": 500,
}
# What a process that sends does without before it has anything to send or to post. What one loads
# that delivers is counted by tests/capability/processes/test_modules_of_a_worker.py.
NOT_LOADED_TO_SEND = {
    "aiohttp",  # posts webhooks
    "alembic",
    "babel",
    "fido2",  # passkeys
    "heliograph.api.api",
    "heliograph.api.openapi",
    "heliograph.campaigns",
    "heliograph.console",
    "heliograph.jobs",
    "heliograph.portal",
    "httptools",
    "jinja2",
    "phonenumbers",
    "redis",
    "starlette",
    "uvicorn",
}
MODULES_TO_SEND_MAX = 980
ARGUMENTS = {
    "contact": ["list", "--account", "amina"],
    "key": ["list", "--account", "amina"],
    "keyword": ["list", "--account", "amina"],
    "ledger": ["verify"],
    "opt-out": ["list", "--account", "amina"],
    "receipt": ["list", "--unmatched"],
}


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with TemporaryDirectory() as made:
        told = loaded_by(
            Path(made), "account", "create", "amina", "--country", "GH", "--currency", "GHS"
        )
        assert told
        yield Path(made)


def loaded_by(directory: Path, *args: str) -> set[str]:
    """Returns the names of the modules that this command has loaded when it ends."""
    code = f"""
import json, sys
from heliograph.cli import main
main({list(args)}, standalone_mode=False)
print(json.dumps(sorted(sys.modules)))
"""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HELIOGRAPH_", "DATABASE_URL", "REDIS_URL", "COV"))
    }
    ended = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
        cwd=directory,
        env={**environment, "HELIOGRAPH_DATA_DIR": str(directory)},
    )
    return set(json.loads(ended.stdout.splitlines()[-1]))


def nouns_with_list() -> set[str]:
    context = click.Context(main)
    commands = {noun: main.get_command(context, noun) for noun in main.list_commands(context)}
    return {
        noun
        for noun, command in commands.items()
        if isinstance(command, click.Group) and "list" in command.list_commands(context)
    }


def test_what_each_list_loads_is_counted() -> None:
    assert nouns_with_list() == MODULES_MAX.keys() - {"ledger"}


@pytest.mark.parametrize("noun", MODULES_MAX)
def test_a_list_loads_only_what_it_needs(noun: str, directory: Path) -> None:
    loaded = loaded_by(directory, noun, *ARGUMENTS.get(noun, ["list"]))
    assert not loaded & NOT_LOADED
    assert len(loaded) <= MODULES_MAX[noun]


def test_a_process_that_sends_loads_nothing_that_serves() -> None:
    code = "import json, sys, heliograph.processes.worker; print(json.dumps(sorted(sys.modules)))"
    ended = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True
    )
    loaded = set(json.loads(ended.stdout))
    assert not loaded & NOT_LOADED_TO_SEND
    assert len(loaded) <= MODULES_TO_SEND_MAX
