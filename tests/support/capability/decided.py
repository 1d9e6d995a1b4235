"""Makes a database and the SMSC's log after an operator has decided about messages in doubt, with
his commands beside a running server.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from heliograph.base import ids
from heliograph.database.database import Database
from heliograph.messages.tables import carrier_refs, inflight, messages
from tests.support import plain_http
from tests.support.capability.commands import Run, runner
from tests.support.capability.lived import TEXTS, Event, Lived
from tests.support.crash.processes import ServerProcess
from tests.support.factories import SENDER, issue_key, open_account, open_carrier
from tests.support.polling import wait_until
from tests.support.wire.smsc_process import SmscProcess, running

# taken, and neither answer nor receipt comes; a drop ends the connection
UNHEARD, DROPPED = "delay:10m, late:10m", "drop, late:10m"
BARE = "text-only"  # the receipt comes, and names no part
# What the SMSC does to each submit_sm, in their order; `live` sends in this order too.
SCRIPT = (
    DROPPED,
    "",  # once
    DROPPED,
    DROPPED,
    "",  # twice
    "",
    UNHEARD,
    "",
    DROPPED,
    "",  # long, delivered, long's second part
    # long sent, long delivered, sent, canceled, undeliverable
    "",
    UNHEARD,
    "",
    "",
    UNHEARD,
    "",
    UNHEARD,
    UNHEARD,
    DROPPED,
    # other, matched: the receipt may be either's, for it has come after both
    UNHEARD,
    f"drop, {BARE}",
)
WITHIN_S = 60.0


@dataclass
class Decided:
    """Holds what was decided. `ids` are those of the messages, by what was decided about them."""

    lived: Lived
    ids: dict[str, str]

    def places(self, name: str, event: str = "submit_sm", part: int | None = None) -> list[int]:
        """Returns the places of the log's lines about a message's submissions."""
        own = [
            line
            for line in self.lived.events
            if line["event"] == "submit_sm" and line["recipient"] == RECIPIENTS[name]
        ]
        its = {
            line["message_id"]
            for line in (own[-1:] if name == "matched" else own)
            if part in (None, line["part"])
        }
        return [
            place
            for place, line in enumerate(self.lived.events)
            if line["event"] == event and line.get("message_id") in its
        ]


NAMES = (
    "once",
    "twice",
    "long",
    "delivered",
    "long sent",
    "long delivered",
    "sent",
    "canceled",
    "undeliverable",
    "matched",
)
RECIPIENTS = {name: f"2332055501{place:02}" for place, name in enumerate(NAMES)} | {
    "other": "233205550109"
}


class _Desk:
    """Does what an operator and a client do, and sees what they would see."""

    def __init__(self, db: Database, data_dir: Path, smsc: SmscProcess, run: Run, key: str) -> None:
        self._db, self._data_dir, self._smsc, self._run, self._key = db, data_dir, smsc, run, key
        self.ids: dict[str, str] = {}
        self._submits = 0
        self._server = ServerProcess(db.url, data_dir)
        self._server.wait_until_ready()

    def end(self) -> None:
        assert self._server.end() == 0

    def begin_anew(self) -> None:
        """Begins another server, which does not wait longer and longer to bind, as one does whose
        connections are dropped time and again.
        """
        self.end()
        self._server = ServerProcess(self._db.url, self._data_dir)
        self._server.wait_until_ready()

    def send(self, name: str) -> None:
        """Sends, and waits until the SMSC has read all of it."""
        text = f"{name}: {TEXTS[1] if name.startswith('long') else TEXTS[0]}"
        answer = plain_http.post(
            f"{self._server.address}/api/v1/sms/send",
            headers={"Authorization": f"Bearer {self._key}"},
            timeout=30,
            json={"sender": SENDER, "message": text, "recipients": [RECIPIENTS[name]]},
        ).raise_for_status()
        assert answer.json()["data"]["credits_used"] == (3 if name.startswith("long") else 1)
        with self._db.read() as tx:
            self.ids[name] = ids.text_of_raw(
                "msg",
                tx.execute(
                    sa.select(messages.c.id).order_by(messages.c.id.desc()).limit(1)
                ).scalar_one(),
            )
        self._read(3 if name.startswith("long") else 1)

    def _read(self, count: int) -> None:
        self._submits += count
        self._smsc.until(self._submits, "submit_sm", within_s=WITHIN_S)

    def doubtful(self, count: int) -> None:
        """Waits until so many segments are in doubt, and nothing else is in flight."""
        wait_until(lambda: self._states() == ["in_doubt"] * count, "doubts", WITHIN_S)

    def _states(self) -> list[str]:
        with self._db.read() as tx:
            return list(tx.execute(sa.select(inflight.c.state)).scalars())

    def resend(self, name: str) -> None:
        assert (
            self._run(
                "message",
                "resend",
                self.ids[name],
                "--reason",
                "they never got it",
                "--by",
                "kofi",
                "--json",
            ).json[0]["refused"]
            is None
        )
        self._read(1)

    def settle(self, name: str, as_: str) -> None:
        said = self._run(
            "message",
            "settle",
            self.ids[name],
            "--as",
            as_,
            "--reason",
            "they say so",
            "--by",
            "kofi",
            "--json",
        )
        assert said.json[0]["refused"] is None

    def match(self, name: str) -> None:
        """Matches the receipt of the last submission, once it waits for a message."""
        ref = self._smsc.events("submit_sm")[-1]["message_id"]

        def is_unmatched() -> bool:
            with self._db.read() as tx:
                return (
                    ref
                    in tx.execute(
                        sa.select(carrier_refs.c.ref).where(carrier_refs.c.message_id.is_(None))
                    ).scalars()
                )

        wait_until(is_unmatched, "an unmatched receipt", WITHIN_S)
        assert (
            self._run(
                "receipt",
                "match",
                f"carrier/{ref}",
                "--message",
                self.ids[name],
                "--by",
                "kofi",
                "--json",
            ).json["id"]
            == self.ids[name]
        )

    def settled(self, **statuses: str) -> None:
        """Waits until messages have come to this."""
        for name, status in statuses.items():
            wait_until(
                lambda name=name, status=status: self._status(name.replace("_", " ")) == status,  # type: ignore[misc]
                f"{name} is {status}",
                WITHIN_S,
            )

    def _status(self, name: str) -> str:
        with self._db.read() as tx:
            return str(
                tx.execute(
                    sa.select(messages.c.status).where(
                        messages.c.id == ids.raw_of_text("msg", self.ids[name])
                    )
                ).scalar_one()
            )


def decide(db: Database, directory: Path) -> Decided:
    """Sends, loses answers, decides; the server and the SMSC have both ended when this returns."""
    key = issue_key(db, open_account(db, credits=1_000))
    (directory / "answers.txt").write_text(
        "".join(f"after {place} submits: {acts}\n" for place, acts in enumerate(SCRIPT) if acts)
    )
    with running(directory, "--script", "answers.txt", "--seed", "3") as smsc:
        open_carrier(db, port=smsc.port, window=10, in_doubt="never")
        desk = _Desk(db, directory / "data", smsc, runner(db.url, directory), key)
        try:
            _decisions(desk)
        finally:
            desk.end()
            smsc.stop()
        assert len(smsc.events("submit_sm")) == len(SCRIPT)
        return Decided(Lived(db, smsc.events(), list(desk.ids.values())), desk.ids)


def _decisions(desk: _Desk) -> None:
    desk.send("once")
    desk.doubtful(1)
    desk.resend("once")
    desk.settled(once="delivered")
    desk.send("twice")
    for _ in range(2):
        desk.doubtful(1)
        desk.begin_anew()
        desk.resend("twice")
    desk.settled(twice="delivered")
    for name in ("long", "delivered"):
        desk.send(name)
    desk.doubtful(2)
    desk.settle("delivered", "delivered")
    desk.begin_anew()
    desk.resend("long")
    desk.settled(long="delivered")
    for name in ("long sent", "long delivered", "sent", "canceled", "undeliverable"):
        desk.send(name)
    desk.doubtful(5)
    for name in ("long sent", "long delivered", "sent", "canceled", "undeliverable"):
        desk.settle(name, name.removeprefix("long "))
    for name in ("other", "matched"):
        desk.send(name)
    desk.doubtful(2)
    desk.match("matched")
    desk.settle("other", "sent")
    desk.settled(long_delivered="delivered", matched="delivered")


def without(events: list[Event], places: list[int]) -> list[Event]:
    return [event for place, event in enumerate(events) if place not in places]


def changed(events: list[Event], places: list[int], **values: Any) -> list[Event]:
    return [{**event, **values} if place in places else event for place, event in enumerate(events)]


def again(events: list[Event], place: int, **values: Any) -> list[Event]:
    """Returns the log with a submission that was taken and answered once more, under another id."""
    event = {**events[place], "status": 0, "message_id": "feed", "sequence": 1_000_000, **values}
    return [*events[: place + 1], event, {**event, "event": "answer"}, *events[place + 1 :]]
