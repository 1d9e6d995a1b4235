"""Measures campaigns to all contacts of an account: the command launches them, they are turned into
messages, and a server sends these.
"""

import asyncio
import os
import subprocess
import time
from dataclasses import asdict

import sqlalchemy as sa

from bench import setup
from bench.control import ask
from bench.databases import Databases, Installation
from bench.ours import until_delivered
from bench.processes import NotMeasured, helper, resident_mib
from bench.reading import Conditions, Reading, together
from bench.server import HELIOGRAPH, SECRET_KEY, environment, one_row, scalar, serving, set_up
from bench.traffic import SENDER
from heliograph.campaigns.advance import Advancer
from heliograph.database.cache import ConfigCache
from heliograph.database.database import Database
from heliograph.messages.accept import Chunker
from heliograph.messages.queue import FairQueue
from heliograph.processes.exclusive import tune_collector

ACCOUNT = "bench 0"
PEOPLE_PER_SECOND = 200_000  # of conditions.seconds: a million, or 400,000 in a quick run
SENT_SHARE = 0.2  # of them, to be sent by a server: at a carrier's speed
PEOPLE_AT_ONCE = 50_000
TEXTS = {"plain": "Mangoes are back.", "own": "{name}, mangoes are back."}
ALREADY_SENT_S = 60.0
_STARTED = "SELECT max(started_at_ms) FROM campaigns"
_MESSAGES = "SELECT count(*) FROM messages"
_STORED = """
    SELECT count(*) AS messages, count(DISTINCT recipient) AS recipients FROM messages"""
_TO_EXPAND = "SELECT count(*) FROM campaigns WHERE NOT expanded"


def expand(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures how long `campaign launch` takes to write down and price a campaign, and how fast it
    is then made into messages. Nothing sends them, and no queue is too long.
    """
    people, readings = int(conditions.seconds * PEOPLE_PER_SECOND), []
    for kind, text in TEXTS.items():
        with set_up(conditions, databases) as installation:
            _add_contacts(installation, people)
            launched_s = _launch(installation, text)
            per_s, grown_mib = asyncio.run(_expand(installation, people))
            stored = one_row(installation, _STORED)
            errors = {
                what: times
                for what, times in (
                    ("missing", people - stored["recipients"]),
                    ("twice", stored["messages"] - stored["recipients"]),
                )
                if times
            }
            name = databases.kind
            readings += [
                Reading(f"ours.campaign_frozen_{kind}.{name}", launched_s),
                Reading(f"ours.campaign_{kind}.{name}", per_s, errors),
                Reading(f"ours.campaign_memory.{name}", grown_mib),
            ]
    return readings


def send(conditions: Conditions, databases: Databases) -> list[Reading]:
    """Measures a campaign that `serve` sends: how long the first submit_sm takes, from the
    beginning of the command and from when all are frozen, and how many are delivered a second.
    """
    with (
        set_up(conditions, databases) as installation,
        helper("bench.smsc", "--receipts", "--track", log=conditions.folder / "smsc.log") as smsc,
    ):
        people = int(conditions.seconds * PEOPLE_PER_SECOND * SENT_SHARE)
        _add_contacts(installation, people)
        setup.point_carrier(installation, smsc["port"], SECRET_KEY)
        with serving(installation):
            campaign_id = _create(installation, TEXTS["plain"])
            launched_at_s = time.time()
            _run(installation, "launch", campaign_id)
            until_s = time.monotonic() + ALREADY_SENT_S
            while scalar(installation, _MESSAGES) < people:
                if time.monotonic() > until_s:
                    raise NotMeasured(
                        f"not all of {people} became messages within {ALREADY_SENT_S:g} s"
                    )
                time.sleep(0.2)
            done = until_delivered(installation, smsc["control_port"])
            first_s = ask(smsc["control_port"])["first_submit_at"]
            return [
                Reading(
                    f"ours.campaign_first_of_command.{databases.kind}", first_s - launched_at_s
                ),
                Reading(
                    f"ours.campaign_first.{databases.kind}",
                    first_s - scalar(installation, _STARTED) / 1_000,
                ),
                Reading(
                    f"ours.campaign_sent.{databases.kind}",
                    done.per_s,
                    together(done.errors_of(people)),
                    asdict(done),
                ),
            ]


def _add_contacts(installation: Installation, people: int) -> None:
    """Adds contacts to the first account, in an order that is not that of their numbers."""
    numbers = (
        "generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) i"
        if installation.kind == "postgresql"
        else "s"
    )
    series = (
        ""
        if installation.kind == "postgresql"
        else "WITH RECURSIVE s(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM s WHERE i < :last) "
    )
    new_id = (
        "gen_random_uuid()" if installation.kind == "postgresql" else "lower(hex(randomblob(16)))"
    )
    statement = sa.text(
        "INSERT INTO contacts (id, account_id, sandbox, phone, country_code, name, tags, custom,"
        f" opted_out, searched, created_at_ms, updated_at_ms) {series}SELECT {new_id}, (SELECT id"
        " FROM accounts WHERE name = :name), false, 233200000000 + (i * 7919) % 7900000, 'GH',"
        f" 'Ama ' || i, '[]', '{{}}', false, '', 0, 0 FROM {numbers} WHERE true"
    )
    database = Database(installation.url)
    try:
        for first in range(0, people, PEOPLE_AT_ONCE):
            with database.write() as tx:
                tx.execute(
                    statement,
                    {
                        "first": first,
                        "last": min(first + PEOPLE_AT_ONCE, people) - 1,
                        "name": ACCOUNT,
                    },
                )
    finally:
        database.close()


def _launch(installation: Installation, text: str) -> float:
    """Returns how many seconds the command took, from its start to its end."""
    campaign_id = _create(installation, text)
    began = time.monotonic()
    _run(installation, "launch", campaign_id)
    return time.monotonic() - began


def _create(installation: Installation, text: str) -> str:
    """Creates a campaign. Returns its id."""
    options = ("--account", ACCOUNT, "--sender", SENDER, "--message", text, "--all", "--json")
    written = _run(installation, "create", "bench", *options)
    return written[written.index("cmp_") :].split('"')[0]


def _run(installation: Installation, *command: str) -> str:
    done = subprocess.run(
        [HELIOGRAPH, "campaign", *command],
        env=environment(installation),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotMeasured(f"campaign {command[0]}: {done.stderr.strip()[-300:]}")
    return done.stdout


async def _expand(installation: Installation, people: int) -> tuple[float, float]:
    """Returns how many messages a second were made, and by how many MiB this process grew."""
    database = Database(installation.url)
    try:
        cache = ConfigCache(database)
        await cache.refresh()
        polling = asyncio.create_task(cache.poll())
        advancer = Advancer(
            database, Chunker(cache, FairQueue()), lambda carrier_ids: None, ahead=2 * people
        )
        tune_collector()
        before_mib, began = resident_mib(os.getpid()), time.monotonic()
        while scalar(installation, _TO_EXPAND):  # a look expands for a second at most
            await advancer.once()
        per_s = people / (time.monotonic() - began)
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
        return per_s, resident_mib(os.getpid()) - before_mib
    finally:
        await database.close_hot()
        database.close()
