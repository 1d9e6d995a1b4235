"""`kill -9` hits a server between texts and their answers, again and again: no text is lost, and
none is there twice.
"""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa

from heliograph.base import clock
from heliograph.database.database import Database
from heliograph.inbound import add_number
from heliograph.inbound.tables import inbound
from tests.support.crash.handsets import (
    PAUSE_S,
    ROUNDS,
    SHORT_CODE,
    deliver_sm,
    kill_while_writing,
)
from tests.support.crash.remembering_smsc import RememberingSmsc, remembering_smsc
from tests.support.factories import open_account, open_carrier

PARTS = 3


class Handsets:
    """Writes texts until it is told to stop; every third one is long. All phones use one
    reference.
    """

    def __init__(self, smsc: RememberingSmsc) -> None:
        self._smsc = smsc
        self._numbers = count()
        self._stop = threading.Event()
        self.written: list[tuple[str, str]] = []

    def write(self) -> None:
        while not self._stop.wait(PAUSE_S):
            number = next(self._numbers)
            sender, text = f"23320{number:07}", f"text {number}"
            if number % 3 == 0:
                text = "".join(f"part {part} of text {number};" for part in range(1, PARTS + 1))
            self.written.append((sender, text))
            for octets, esm_class in self._pdus(number, text):
                self._smsc.bring(deliver_sm(sender, octets, esm_class))

    def _pdus(self, number: int, text: str) -> Iterator[tuple[bytes, int]]:
        if number % 3:
            yield text.encode(), 0
            return
        pieces = [f"{piece};" for piece in text.split(";")[:PARTS]]
        places = list(enumerate(pieces, 1))
        random.Random(number).shuffle(places)
        for place, piece in places:
            yield bytes((5, 0, 3, 7, PARTS, place)) + piece.encode(), 0x40

    def stop(self) -> None:
        self._stop.set()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_server_killed_between_a_text_and_its_answer_loses_none_and_stores_none_twice(
    kind: str, new_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = new_database(kind)
    db = Database(url)
    with remembering_smsc() as smsc:
        amina_id = open_account(db)
        open_carrier(db, port=smsc.port)
        with db.write() as tx:
            add_number(tx, SHORT_CODE.decode(), "carrier", amina_id, now_ms=clock.now_ms())
        handsets = Handsets(smsc)
        unanswered = kill_while_writing(
            url,
            tmp_path,
            smsc,
            write=handsets.write,
            end=handsets.stop,
            stored=lambda: _stored(db).total(),
        )
        stored = _stored(db)
        with db.read() as tx:
            repeats = tx.execute(sa.select(sa.func.sum(inbound.c.repeats))).scalar_one()
            owners = set(tx.execute(sa.select(inbound.c.account_id)).scalars())
    db.close()
    assert stored == Counter(handsets.written)
    assert owners == {amina_id}
    print(
        f"\n{kind}: {ROUNDS} kills, {len(handsets.written)} texts; {unanswered} PDUs were not"
        f" answered at the kills, {repeats} had been stored by then"
    )


def _stored(db: Database) -> Counter[tuple[str, str]]:
    with db.read() as tx:
        rows = tx.execute(sa.select(inbound.c.sender, inbound.c.text))
        return Counter((str(row[0]), str(row[1])) for row in rows)
