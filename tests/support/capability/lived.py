"""Makes a database and the SMSC's log after an eventful hour: messages in every state, lost
answers, segments sent twice. It is for tests of the audit.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from heliograph.audit.audit import Audit, audit
from heliograph.audit.smsc_log import read_logs
from heliograph.base import clock, ids
from heliograph.database.database import Database
from heliograph.database.postgresql.snapshot import read_one_snapshot
from heliograph.messages.states import RESEND_AFTER_MS
from heliograph.messages.tables import carrier_refs, inflight, messages, queue
from tests.support import plain_http
from tests.support.crash.processes import ServerProcess
from tests.support.factories import SENDER, issue_key, open_account, open_carrier
from tests.support.polling import wait_until
from tests.support.wire.smsc_process import running

TEXTS = ("hello", "A long text, which takes three segments. " * 10, "Ünïcødé ☀ ")
NOWHERE = "0" * 31 + "1"  # an id that nothing has
# their receipts come after 30 s: what is in doubt of them stays so
LATE = [f"2332{place:05}003" for place in range(90, 106)]
ENDINGS = ("000", "001", "002", "003", "123", "456")
RECIPIENTS = [f"2332{place:05}{ending}" for place in range(6) for ending in ENDINGS]
CHAOS = "duplicate:2=0.2,contradict=0.2,early=0.2,ids-padded=0.2"
SCRIPT = """
after 12 submits: drop
after 60 submits: refuse:0x08
"""
Event = dict[str, Any]
QUIET_WITHIN_S = 40.0


@dataclass
class Lived:
    """Holds what is left of the hour. `events` is the SMSC's log, a line each. `accepted` holds the
    messages that were answered 200, of which some went to no SMSC.
    """

    db: Database
    events: list[Event]
    accepted: list[str]


def live(db: Database, directory: Path) -> Lived:
    """Sends through a server and an SMSC, which both have ended when this returns."""
    account_id = open_account(db, credits=100_000)
    live_key, sandbox_key = issue_key(db, account_id), issue_key(db, account_id, sandbox=True)
    accepted: list[str] = []
    (directory / "drops.txt").write_text(SCRIPT)
    with running(
        directory,
        "--chaos",
        CHAOS,
        "--script",
        "drops.txt",
        "--seed",
        "3",
        "--answer-delay-ms",
        "30",
    ) as smsc:
        open_carrier(db, port=smsc.port, window=10)
        server = ServerProcess(db.url, directory / "data")
        try:
            server.wait_until_ready()
            sent = [
                (live_key, TEXTS[0], LATE),
                *((live_key, text, RECIPIENTS) for text in TEXTS),
                (sandbox_key, TEXTS[0], RECIPIENTS),
            ]
            for key, text, recipients in sent:
                answer = plain_http.post(
                    f"{server.address}/api/v1/sms/send",
                    headers={"Authorization": f"Bearer {key}"},
                    timeout=30,
                    json={"sender": SENDER, "message": text, "recipients": recipients},
                )
                accepted += [
                    message["id"]
                    for message in _messages_of(
                        server, key, answer.raise_for_status().json()["data"]["send_id"]
                    )
                ]
            wait_until(lambda: _is_quiet(db), "nothing waits", QUIET_WITHIN_S)
            with db.write() as tx:  # so that half of what is in doubt is sent once more
                doubts = (
                    tx.execute(sa.select(inflight.c.message_id).order_by(inflight.c.message_id))
                    .scalars()
                    .all()
                )
                tx.execute(
                    sa.update(inflight)
                    .where(inflight.c.message_id.in_(doubts[::2]))
                    .values(since_ms=inflight.c.since_ms - RESEND_AFTER_MS)
                )
            wait_until(lambda: _resent(db) and _is_quiet(db), "it is sent again", QUIET_WITHIN_S)
        finally:
            assert server.end() == 0
            smsc.stop()
        return Lived(db, smsc.events(), accepted)


def _messages_of(server: ServerProcess, key: str, send_id: str) -> list[dict[str, Any]]:
    answer = plain_http.get(
        f"{server.address}/api/v1/reports?limit=1000&send_id={send_id}",
        headers={"Authorization": f"Bearer {key}"},
        timeout=30,
    )
    found: list[dict[str, Any]] = answer.raise_for_status().json()["data"]
    return found


def _is_quiet(db: Database) -> bool:
    """Returns whether nothing waits, and what is in flight is in doubt. While it is not so yet,
    whatever stands there has its reason.
    """
    with db.read() as tx:
        read_one_snapshot(tx)
        assert audit(tx).findings == []
        waits = tx.execute(sa.select(sa.func.count()).select_from(queue)).scalar_one()
        return (
            not waits
            and not tx.execute(
                sa.select(sa.func.count()).where(inflight.c.state != "in_doubt")
            ).scalar_one()
        )


def _resent(db: Database) -> bool:
    with db.read() as tx:
        return bool(
            tx.execute(sa.select(sa.func.count()).where(messages.c.parts_resent != 0)).scalar_one()
        )


def written(events: list[Event], path: Path) -> Path:
    """Writes events as a log again."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


class _Undone(Exception):
    """Takes a change of the database back."""


def audited(
    lived: Lived,
    path: Path,
    *,
    events: list[Event] | None = None,
    change: sa.Executable | Sequence[sa.Executable] = (),
    accepted: list[str] | None = None,
    shown_max: int = 10_000,
) -> Audit:
    """Audits with another log, or after a change of the database, which is undone."""
    log = read_logs(
        [written(lived.events if events is None else events, path / "smsc.jsonl")], clock.now_ms()
    )
    promised = [
        ids.raw_of_text("msg", message_id) or ""
        for message_id in (lived.accepted if accepted is None else accepted)
    ]
    try:
        with lived.db.write() as tx:
            for statement in [change] if isinstance(change, sa.Executable) else change:
                tx.execute(statement)
            found = audit(tx, log, promised, shown_max)
            raise _Undone
    except _Undone:
        return found


def rows(lived: Lived, *where: sa.ColumnElement[bool]) -> list[Any]:
    with lived.db.read() as tx:
        return list(
            tx.execute(
                sa.select(messages).where(~messages.c.sandbox, *where).order_by(messages.c.id)
            )
        )


def text_id(raw: str) -> str:
    return ids.text_of_raw("msg", raw)


def submits_of(lived: Lived) -> list[int]:
    return [place for place, event in enumerate(lived.events) if event["event"] == "submit_sm"]


def known(lived: Lived) -> list[int]:
    """Finds places of submissions that left a trace in the database: an id, or the status with
    which their message failed.
    """
    with lived.db.read() as tx:
        refs = set(
            tx.execute(
                sa.select(carrier_refs.c.ref).where(carrier_refs.c.message_id.is_not(None))
            ).scalars()
        )
    return [
        place
        for place in submits_of(lived)
        if lived.events[place]["message_id"] in refs or lived.events[place]["status"] == 0x0B
    ]
